//! Colours that stay apart for most eyes, and in grey.

use plotters::style::RGBColor;

/// This format.
pub(super) const ULP: RGBColor = RGBColor(0x9E, 0xC5, 0xE8);
/// `ULPack`, and ordered integers.
pub(super) const ORDERED: RGBColor = RGBColor(0x1B, 0x5E, 0x9B);
/// FM-Delta.
pub(super) const FM_DELTA: RGBColor = RGBColor(0x2A, 0x9D, 0x6A);
/// XOR.
pub(super) const XOR: RGBColor = RGBColor(0xE0, 0x7B, 0x1F);
/// Lines over a heat map.
pub(super) const OVER: RGBColor = RGBColor(0xD1, 0x34, 0x1B);
/// Text and lines that stay in the background.
pub(super) const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

/// A heat map's colour for a share of 0 … 1: white, blue, nearly black.
pub(super) fn heat(share: f64) -> RGBColor {
    const STOPS: [(f64, [f64; 3]); 4] = [
        (0.0, [255.0, 255.0, 255.0]),
        (0.25, [158.0, 202.0, 225.0]),
        (0.6, [33.0, 113.0, 181.0]),
        (1.0, [8.0, 24.0, 60.0]),
    ];
    let share = share.clamp(0.0, 1.0);
    for pair in STOPS.windows(2) {
        let [(low, from), (high, to)] = [pair[0], pair[1]];
        if share <= high {
            let t = (share - low) / (high - low);
            let mix = |i: usize| (from[i] + (to[i] - from[i]) * t) as u8;
            return RGBColor(mix(0), mix(1), mix(2));
        }
    }
    RGBColor(8, 24, 60)
}
