//! Tokens of floats without a reference: exponents relative to λ (spec §10.4; `NeuralZip` codes exponents absolutely).

use crate::core::element::{Class, ElementType};
use crate::core::word::Word;

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

    /// The pattern of a token and its raw bits, and whether its exponent exists (ULP-PLN-01). Without branches.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_sign_loss)]
    pub fn pattern<W: Word>(self, token: u8, raw: W, lambda: i32) -> (W, bool) {
        let (sign_bits, top_bits) = (u32::from(self.form.sign), u32::from(self.form.top));
        let offset = W::narrow(i64::from((lambda >> 2) + self.bias - i32::from(self.form.centre)) as u64);
        let t = W::of(u32::from(token)).minus(W::of(2));
        let sign = if self.form.sign { t & W::of(1) } else { raw >> self.low };
        let e = (t >> (sign_bits + top_bits)).plus(offset);
        // The lowest bit of the shifted token is the top mantissa bit where the form has it, else the exponent's: the sum sets both.
        let mantissa = (raw & !(!W::default() << self.low)) | (t >> sign_bits << self.low);
        let made = mantissa.plus(offset << self.mantissa) | (sign << (self.bits - 1));
        let coded = token > ESC;
        (if coded { made } else { raw }, !coded | (e >> self.exponent == W::default()))
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
                    assert_eq!(tokens.pattern(token, raw, lambda), (u, true));
                    assert_eq!(tokens.pattern(token, raw as u16, lambda), (u as u16, true));
                }
            }
        }
    }

    #[test]
    fn an_exponent_that_does_not_exist_is_refused() {
        let form = PlainForm { sign: false, top: true, centre: 0, window: 10 };
        let tokens = PlainTokens::new(ElementType::F16, 0, form).unwrap();
        assert!(!tokens.pattern(2, 0u64, -1000).1 && !tokens.pattern(2, 0u16, -1000).1);
        assert!(!tokens.pattern(2, 0u64, 1000).1 && !tokens.pattern(2, 0u16, 1000).1);
    }
}
