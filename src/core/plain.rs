//! Tokens of floats without a reference: exponents relative to λ (spec §10.4; `NeuralZip` codes exponents absolutely).

use crate::core::element::{Class, ElementType};

/// Token of an element that is zero in all bits.
pub const ZERO: u8 = 0;
/// Token of an element whose bits all follow raw.
pub const ESC: u8 = 1;

/// Form of the relative-exponent tokens of a bank (class 3, spec §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainForm {
    /// The sign is part of the token.
    pub sign: bool,
    /// The top mantissa bit is part of the token.
    pub top: bool,
    /// Token offset of λ's own exponent.
    pub centre: u8,
    /// Number W of relative exponents.
    pub window: u8,
}

impl PlainForm {
    /// Number of tokens: 2 + W · 2^(SIGN + TOP).
    #[must_use]
    pub fn alphabet(self) -> usize {
        2 + (usize::from(self.window) << (u8::from(self.sign) + u8::from(self.top)))
    }
}

/// Plain tokens of one float type with `shift` low bits dropped.
#[derive(Clone, Copy, Debug)]
pub struct PlainTokens {
    form: PlainForm,
    bias: i32,
    mantissa: u32,
    exponent: u32,
    bits: u32,
    low: u32,
}

impl PlainTokens {
    /// The tokens of `element`, or `None` where it has none: not a float of 16 bits and more, or `shift` leaves too few mantissa bits.
    #[must_use]
    pub fn new(element: ElementType, shift: u8, form: PlainForm) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        let mantissa = mantissa.checked_sub(u32::from(shift))?;
        let low = mantissa.checked_sub(u32::from(form.top))?;
        (element.width() > 1).then_some(Self { form, bias, mantissa, exponent, bits: 1 + exponent + mantissa, low })
    }

    /// Token and raw bits of a pattern of w' bits under λ.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)]
    pub fn token(self, u: u64, lambda: i32) -> (u8, u64) {
        if u == 0 {
            return (ZERO, 0);
        }
        let e = ((u >> self.mantissa) & ((1 << self.exponent) - 1)) as i32;
        let r = e - self.bias - (lambda >> 2) + i32::from(self.form.centre);
        if r < 0 || r >= i32::from(self.form.window) {
            return (ESC, u);
        }
        let sign = u >> (self.bits - 1);
        let mut token = r as u64;
        if self.form.top {
            token = (token << 1) | ((u >> self.low) & 1);
        }
        let mut raw = u & ((1 << self.low) - 1);
        if self.form.sign {
            token = (token << 1) | sign;
        } else {
            raw |= sign << self.low;
        }
        ((token + 2) as u8, raw)
    }

    /// Number of raw bits after this token.
    #[inline(always)]
    #[must_use]
    pub fn raw_bits(self, token: u8) -> u32 {
        match token {
            ZERO => 0,
            ESC => self.bits,
            _ => self.low + u32::from(!self.form.sign),
        }
    }

    /// The pattern of a token and its raw bits, or `None` where its exponent does not exist (ULP-PLN-01).
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_wrap)]
    pub fn pattern(self, token: u8, raw: u64, lambda: i32) -> Option<u64> {
        if token <= ESC {
            return Some(if token == ZERO { 0 } else { raw });
        }
        let mut t = u64::from(token) - 2;
        let sign = if self.form.sign {
            let sign = t & 1;
            t >>= 1;
            sign
        } else {
            raw >> self.low
        };
        let mut mantissa = raw & ((1 << self.low) - 1);
        if self.form.top {
            mantissa |= (t & 1) << self.low;
            t >>= 1;
        }
        let e = t as i32 - i32::from(self.form.centre) + (lambda >> 2) + self.bias;
        (e >= 0 && e < (1 << self.exponent))
            .then_some((sign << (self.bits - 1)) | ((e as u64) << self.mantissa) | mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bf16_pattern_comes_back_in_every_form() {
        for (sign, top) in [(false, false), (false, true), (true, false), (true, true)] {
            for lambda in [-500, -41, 0, 3, 500] {
                let form = PlainForm { sign, top, centre: 20, window: 30 };
                let tokens = PlainTokens::new(ElementType::Bf16, 0, form).unwrap();
                for u in 0..=0xFFFF {
                    let (token, raw) = tokens.token(u, lambda);
                    assert!(raw < 1 << tokens.raw_bits(token));
                    assert!(usize::from(token) < form.alphabet());
                    assert_eq!(tokens.pattern(token, raw, lambda), Some(u));
                }
            }
        }
    }

    #[test]
    fn an_exponent_that_does_not_exist_is_refused() {
        let form = PlainForm { sign: false, top: true, centre: 0, window: 10 };
        let tokens = PlainTokens::new(ElementType::F16, 0, form).unwrap();
        assert_eq!(tokens.pattern(2, 0, -1000), None);
        assert_eq!(tokens.pattern(2, 0, 1000), None);
    }
}
