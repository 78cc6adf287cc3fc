//! What the rows of a substream have in common, ready for vectors.

use crate::core::bank::TokenClass;
use crate::core::element::Class;
use crate::core::residual::Ring;
use crate::kernel::decode::Rows;
use crate::kernel::decode::pairs::Pairs;
use crate::kernel::decode::vector::Vector;

/// Numbers that stay the same in all rows, sixteen times each.
pub(super) struct Constants<S: Vector> {
    pub(super) shift: S::V,
    pub(super) mantissa: S::V,
    pub(super) exponent: S::V,
    pub(super) least: S::V,
    pub(super) ring: S::V,
    /// Sign bit of a float, 0 for integers.
    pub(super) top: S::V,
    /// What a residual across zero turns, 0 for integers.
    pub(super) across: S::V,
    /// Bits that no magnitude has.
    pub(super) excess: S::V,
    pub(super) signed: bool,
    pub(super) low: S::V,
    pub(super) low_mask: S::V,
    pub(super) sign: S::V,
    pub(super) sign_place: S::V,
    pub(super) above_exponent: S::V,
    pub(super) token_exponent: S::V,
    pub(super) token_place: S::V,
    pub(super) escaped: S::V,
    /// Raw bits of ESC among length tokens.
    pub(super) escaped_length: S::V,
    pub(super) usual: S::V,
    pub(super) narrow: Narrow<S>,
    pub(super) pairs: Pairs<S>,
}

/// The same as thirty-two 16-bit numbers, for elements of at most 16 bits.
pub(super) struct Narrow<S: Vector> {
    pub(super) shift: S::Bits,
    /// Place of four times the exponent field.
    pub(super) exponent_place: S::Bits,
    pub(super) exponent_mask: S::V,
    pub(super) exponent_least: S::V,
    pub(super) ring: S::V,
    pub(super) top: S::V,
    pub(super) across: S::V,
    /// The largest token in the ring.
    pub(super) largest: S::V,
    pub(super) low: S::Bits,
    pub(super) low_mask: S::V,
    pub(super) sign: S::V,
    pub(super) sign_place: S::Bits,
    pub(super) mantissa: S::Bits,
    pub(super) above_exponent: S::V,
    pub(super) token_exponent: S::Bits,
    pub(super) token_place: S::Bits,
}

impl<S: Vector> Constants<S> {
    #[inline(always)]
    pub(super) fn new(s: S, rows: &Rows<'_>) -> Self {
        let ring = Ring::new(rows.element, rows.shift);
        let shift = u32::from(rows.shift);
        let (mut mantissa, mut exponent) = (0, 0);
        if let Class::Float { mantissa: m, exponent: e, .. } = rows.element.class() {
            mantissa = m.saturating_sub(shift);
            exponent = (1 << e) - 1;
        }
        let float = ring.float;
        #[allow(clippy::cast_possible_truncation)]
        let narrow = |v: u64| v as u32;
        #[allow(clippy::cast_possible_truncation)]
        let narrow_16 = |v: u32| v as u16;
        let (mut sign, mut top) = (0, 0);
        if let TokenClass::Plain(form) = rows.bank.class {
            (sign, top) = (u32::from(form.sign), u32::from(form.top));
        }
        let low = mantissa.saturating_sub(top);
        Self {
            shift: s.splat(shift),
            mantissa: s.splat(mantissa),
            exponent: s.splat(exponent),
            least: s.splat(u32::from(float)),
            ring: s.splat(narrow(ring.mask)),
            top: s.splat(if float { narrow(ring.top) } else { 0 }),
            across: s.splat(if float { narrow(ring.top - 1) } else { 0 }),
            excess: s.splat(!narrow(ring.mask >> 1)),
            signed: rows.element.class() == Class::Signed && rows.element.width() > 1,
            low: s.splat(low),
            low_mask: s.splat(((1u64 << low.min(32)) - 1) as u32),
            sign: s.splat(sign),
            sign_place: s.splat(ring.bits - 1),
            above_exponent: s.splat(!exponent),
            token_exponent: s.splat(sign + top),
            token_place: s.splat(sign),
            escaped: s.splat(ring.bits),
            escaped_length: s.splat(ring.bits - 1),
            usual: s.splat(low + 1 - sign),
            narrow: Narrow {
                shift: s.bits_16(shift),
                exponent_place: s.bits_16((mantissa + shift).saturating_sub(2)),
                exponent_mask: s.splat_16(narrow_16(exponent << 2)),
                exponent_least: s.splat_16(if float { 4 } else { 0 }),
                ring: s.splat_16(narrow_16(narrow(ring.mask))),
                top: s.splat_16(if float { narrow_16(narrow(ring.top)) } else { 0 }),
                across: s.splat_16(if float { narrow_16(narrow(ring.top - 1)) } else { 0 }),
                largest: s.splat_16(match (rows.element.width(), ring.bits) {
                    (1, _) => 255,
                    (_, bits @ 0..5) => (1 << bits) - 1,
                    (_, bits) => narrow_16(8 * bits - 17),
                }),
                low: s.bits_16(low.min(15)),
                low_mask: s.splat_16(narrow_16((1 << low.min(15)) - 1)),
                sign: s.splat_16(narrow_16(sign)),
                sign_place: s.bits_16((ring.bits - 1).min(15)),
                mantissa: s.bits_16(mantissa.min(15)),
                above_exponent: s.splat_16(!narrow_16(exponent)),
                token_exponent: s.bits_16(sign + top),
                token_place: s.bits_16(sign),
            },
            pairs: Pairs::new(s, rows),
        }
    }

    /// Whether a magnitude lies outside the ring.
    #[inline(always)]
    pub(super) fn exceeded(&self, s: S, magnitudes: [S::V; 2]) -> bool {
        s.any(s.and(s.or(magnitudes[0], magnitudes[1]), self.excess))
    }
}
