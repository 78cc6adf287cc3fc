//! Residuals between ordered integers (spec §10.3; `ULPack` paper, residual; outward sign is ours).

use crate::core::element::{Class, ElementType};
use crate::core::word::Word;

/// The ring in which residuals of an element type are taken, after `shift` low bits have been dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Bits w' of a pattern.
    pub bits: u32,
    /// 2^w' − 1.
    pub mask: u64,
    /// 2^(w'−1), the sign bit of a float.
    pub top: u64,
    /// Whether patterns are floats: ordered, outward.
    pub float: bool,
}

impl Ring {
    /// The ring of `element` with `shift` bits dropped. `shift` is below the element's width in bits.
    #[must_use]
    pub fn new(element: ElementType, shift: u8) -> Self {
        #[allow(clippy::cast_possible_truncation)]
        let bits = (element.width() as u32 * 8).saturating_sub(u32::from(shift)).max(1);
        Self {
            bits,
            mask: u64::MAX >> (64 - bits),
            top: 1 << (bits - 1),
            float: matches!(element.class(), Class::Float { .. }),
        }
    }

    /// `zigzag(o)` of an element against its reference, patterns of w' bits.
    #[inline(always)]
    #[must_use]
    pub fn zigzag(self, next: u64, reference: u64) -> u64 {
        let o = if self.float {
            let d = self.ord(next).wrapping_sub(self.ord(reference));
            if reference & self.top == 0 { d } else { d.wrapping_neg() }
        } else {
            next.wrapping_sub(reference)
        } & self.mask;
        zigzag(o, self.bits)
    }

    /// The element whose residual against `reference` has this zigzag.
    ///
    /// Outward from the reference, of sign S: v = (reference or top) + o. Where v ≥ top zero is not crossed, and the element has magnitude v − top and
    /// sign S; else it is v with all bits but S turned.
    #[inline(always)]
    #[must_use]
    pub fn unzigzag<W: Word>(self, z: W, reference: W) -> W {
        let (top, across) = if self.float { (self.top, self.top - 1) } else { (0, 0) };
        let (top, across) = (W::narrow(top), W::narrow(across));
        let v = (reference | top).plus(unzigzag(z)) & W::narrow(self.mask);
        v ^ (top & !reference) ^ if v & top == W::default() { across } else { W::default() }
    }

    /// The pattern's place in value order.
    #[inline(always)]
    fn ord(self, u: u64) -> u64 {
        if u & self.top == 0 { u ^ self.top } else { !u & self.mask }
    }
}

/// Zigzag of a `bits`-bit two's complement number, given and returned in the low bits.
#[inline(always)]
#[must_use]
pub fn zigzag(o: u64, bits: u32) -> u64 {
    let signed = ((o << (64 - bits)) as i64) >> (64 - bits);
    (((signed << 1) ^ (signed >> 63)) as u64) & (u64::MAX >> (64 - bits))
}

/// The number of a zigzag, as a two's complement pattern.
#[inline(always)]
#[must_use]
pub fn unzigzag<W: Word>(z: W) -> W {
    (z >> 1) ^ W::default().minus(z & W::of(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_8_bit_patterns_comes_back() {
        for element in [ElementType::U8, ElementType::F8E4M3] {
            let ring = Ring::new(element, 0);
            for next in 0..256 {
                for reference in 0..256 {
                    let z = ring.zigzag(next, reference);
                    assert!(z < 256);
                    assert_eq!(ring.unzigzag(z, reference), next);
                }
            }
        }
    }

    #[test]
    fn outward_is_positive_for_both_signs() {
        let ring = Ring::new(ElementType::Bf16, 0);
        // 1.0 to the next larger, −1.0 to the next more negative: both one ulp outward, zigzag 2.
        assert_eq!(ring.zigzag(0x3F81, 0x3F80), 2);
        assert_eq!(ring.zigzag(0xBF81, 0xBF80), 2);
        assert_eq!(ring.zigzag(0x3F7F, 0x3F80), 1);
        // +0 and −0 are neighbours.
        assert_eq!(ring.zigzag(0x8000, 0x0000), 1);
    }

    #[test]
    fn wide_rings_wrap() {
        for shift in [0, 3, 52] {
            let ring = Ring::new(ElementType::F64, shift);
            for next in [0, 1, ring.top, ring.mask, ring.top - 1] {
                for reference in [0, 1, ring.top, ring.mask, ring.top - 1] {
                    assert_eq!(ring.unzigzag(ring.zigzag(next, reference), reference), next);
                }
            }
        }
    }
}
