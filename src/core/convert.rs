//! Conversion of references of another float type, in integers (spec §2.1).

use std::borrow::Cow;

use crate::core::element::{Class, ElementType};
use crate::core::word::Word;
use crate::with_word;

/// Parameters of a float type.
#[derive(Clone, Copy)]
struct Format {
    bias: i32,
    mantissa: u32,
    exponent: u32,
    infinity: bool,
}

impl Format {
    fn of(element: ElementType) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        Some(Self { bias, mantissa, exponent, infinity: element != ElementType::F8E4M3 })
    }

    /// The exponent field of all ones.
    fn top(self) -> u64 {
        (1 << self.exponent) - 1
    }

    /// Whether exponent and mantissa make a NaN.
    fn is_nan(self, e: u64, m: u64) -> bool {
        e == self.top() && if self.infinity { m != 0 } else { m == (1 << self.mantissa) - 1 }
    }

    /// The pattern of infinity, or of what stands for it, without sign.
    fn infinite(self) -> u64 {
        if self.infinity { self.top() << self.mantissa } else { (1 << (self.exponent + self.mantissa)) - 1 }
    }
}

/// A conversion between two float types.
#[derive(Clone, Copy)]
pub struct Conversion {
    from: Format,
    to: Format,
}

impl Conversion {
    /// The conversion from one float type to another; `None` unless both are floats.
    #[must_use]
    pub fn new(from: ElementType, to: ElementType) -> Option<Self> {
        Some(Self { from: Format::of(from)?, to: Format::of(to)? })
    }

    /// Converts one pattern.
    #[must_use]
    #[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]
    pub fn apply(self, u: u64) -> u64 {
        let Self { from, to } = self;
        let sign = (u >> (from.exponent + from.mantissa)) << (to.exponent + to.mantissa);
        let e = (u >> from.mantissa) & from.top();
        let m = u & ((1 << from.mantissa) - 1);
        if from.is_nan(e, m) {
            if !to.infinity {
                return sign | to.infinite();
            }
            let mut payload = if from.mantissa > to.mantissa {
                m >> (from.mantissa - to.mantissa)
            } else {
                m << (to.mantissa - from.mantissa)
            };
            if payload == 0 {
                payload = 1 << (to.mantissa - 1);
            }
            return sign | (to.top() << to.mantissa) | payload;
        }
        if from.infinity && e == from.top() {
            return sign | to.infinite();
        }
        if e == 0 && m == 0 {
            return sign;
        }
        // The value is significand · 2^exponent, with a significand of from.mantissa + 1 bits and its leading one at the top.
        let (mut significand, mut exponent) = if e == 0 {
            (m, 1 - from.bias - from.mantissa as i32)
        } else {
            (m | (1 << from.mantissa), e as i32 - from.bias - from.mantissa as i32)
        };
        let lead = significand.leading_zeros() as i32;
        significand <<= lead;
        exponent -= lead;
        // significand now has its leading one at bit 63: the value's binary exponent is exponent + 63.
        let unbiased = exponent + 63;
        let field = unbiased + to.bias;
        let (kept, field) = if field >= 1 {
            (to.mantissa + 1, field as u64)
        } else {
            let lost = (1 - field) as u32;
            ((to.mantissa + 1).saturating_sub(lost), 0)
        };
        if field == 0 && 1 - (unbiased + to.bias) > to.mantissa as i32 + 1 {
            // Below half of the smallest subnormal.
            return sign;
        }
        let drop = 64 - kept;
        let (mut rounded, rest) =
            if drop == 64 { (0, significand) } else { (significand >> drop, significand << kept) };
        let half = 1u64 << 63;
        if rest > half || (rest == half && rounded & 1 == 1) {
            rounded += 1;
        }
        // Adding the fraction to the field carries into the exponent where rounding does.
        let magnitude = if field == 0 { rounded } else { ((field - 1) << to.mantissa) + rounded };
        sign | magnitude.min(to.infinite())
    }
}

/// Reference elements in the element type (spec §2.1).
#[must_use]
pub fn convert(bytes: &[u8], from: ElementType, to: ElementType) -> Cow<'_, [u8]> {
    let (true, Some(conversion)) = (from != to, Conversion::new(from, to)) else {
        return Cow::Borrowed(bytes);
    };
    let count = bytes.len() / from.width();
    let mut out = vec![0; count * to.width()];
    with_word!(from.width(), F => with_word!(to.width(), T => {
        for i in 0..count {
            let converted = conversion.apply(F::load(bytes, i).wide());
            T::narrow(converted).store(&mut out, i);
        }
    }));
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    fn patterns() -> impl Iterator<Item = u32> {
        (0..=u32::MAX)
            .step_by(65_537)
            .chain((0..=0xFFFFu32).map(|h| h << 16))
            .chain((0..=0xFFFFu32).map(|h| (h << 16) | 0x8000))
    }

    #[test]
    fn f32_to_the_half_types_agrees_with_the_half_crate() {
        let to_bf16 = Conversion::new(ElementType::F32, ElementType::Bf16).unwrap();
        let to_f16 = Conversion::new(ElementType::F32, ElementType::F16).unwrap();
        for u in patterns() {
            let value = f32::from_bits(u);
            if value.is_nan() {
                continue;
            }
            assert_eq!(to_bf16.apply(u.into()), u64::from(bf16::from_f32(value).to_bits()), "{u:08x}");
            assert_eq!(to_f16.apply(u.into()), u64::from(f16::from_f32(value).to_bits()), "{u:08x}");
        }
    }

    #[test]
    fn widening_is_exact_and_comes_back() {
        for narrow in [ElementType::F8E4M3, ElementType::F8E5M2, ElementType::Bf16, ElementType::F16] {
            for wide in [ElementType::F32, ElementType::F64] {
                let up = Conversion::new(narrow, wide).unwrap();
                let down = Conversion::new(wide, narrow).unwrap();
                for u in 0..(1u64 << (8 * narrow.width())) {
                    assert_eq!(down.apply(up.apply(u)), u, "{narrow:?} {wide:?} {u:x}");
                }
            }
        }
    }

    #[test]
    fn f64_rounds_to_nearest_even_as_the_hardware_does() {
        let down = Conversion::new(ElementType::F64, ElementType::F32).unwrap();
        let mut x = 0x9E37_79B9_7F4A_7C15u64;
        for _ in 0..200_000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            // Exponents around and beyond the range of f32, its subnormals included.
            let e = 1023 - 160 + (x >> 7) % 320;
            let u = (x & 0x800F_FFFF_FFFF_FFFF) | (e << 52);
            #[allow(clippy::cast_possible_truncation)]
            let expected = (f64::from_bits(u) as f32).to_bits();
            assert_eq!(down.apply(u), u64::from(expected), "{u:016x}");
        }
    }

    #[test]
    fn e4m3_overflows_to_nan() {
        let down = Conversion::new(ElementType::F32, ElementType::F8E4M3).unwrap();
        assert_eq!(down.apply(u64::from(448f32.to_bits())), 0x7E);
        assert_eq!(down.apply(u64::from(464f32.to_bits())), 0x7E);
        assert_eq!(down.apply(u64::from(465f32.to_bits())), 0x7F);
        assert_eq!(down.apply(u64::from((-1e9f32).to_bits())), 0xFF);
    }
}
