//! Tokens of two floats at a time without a reference: both exponents relative to λ (spec §10.4; `NeuralZip` packs exponents absolutely).

use crate::core::element::{Class, ElementType};

/// Token of a pair whose bits all follow raw.
pub const ESC: u8 = 0;
/// Most exponents of a window: 1 + W · W tokens must fit a byte.
pub const MAX_WINDOW: u8 = 15;

/// Form of the pair tokens of a bank (class 4, spec §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairForm {
    /// Offset of λ's own exponent in the window.
    pub centre: u8,
    /// Number W of relative exponents, 1…15.
    pub window: u8,
}

impl PairForm {
    /// Number of tokens: 1 + W · W.
    #[must_use]
    pub fn alphabet(self) -> usize {
        1 + usize::from(self.window) * usize::from(self.window)
    }
}

/// Pair tokens of one float type with `shift` low bits dropped.
#[derive(Clone, Copy, Debug)]
pub struct PairTokens {
    form: PairForm,
    bias: i32,
    mantissa: u32,
    exponent: u32,
    bits: u32,
}

impl PairTokens {
    /// The tokens of `element`, or `None` where it has none: not a float of 16 or 32 bits, or `shift` leaves no exponent alone.
    #[must_use]
    pub fn new(element: ElementType, shift: u8, form: PairForm) -> Option<Self> {
        let Class::Float { bias, mantissa, exponent } = element.class() else {
            return None;
        };
        let mantissa = mantissa.checked_sub(u32::from(shift))?;
        matches!(element.width(), 2 | 4).then_some(Self {
            form,
            bias,
            mantissa,
            exponent,
            bits: 1 + exponent + mantissa,
        })
    }

    /// Token and raw bits of two patterns of w' bits under λ.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)]
    pub fn token(self, pair: [u64; 2], lambda: i32) -> (u8, u64) {
        let window = u32::from(self.form.window);
        let relative = pair.map(|u| {
            let e = ((u >> self.mantissa) & ((1 << self.exponent) - 1)) as i32;
            (e - self.bias - (lambda >> 2) + i32::from(self.form.centre)) as u32
        });
        if relative.iter().any(|&r| r >= window) {
            return (ESC, pair[0] | (pair[1] << self.bits));
        }
        // Mantissa, and above it the sign.
        let [a, b] = pair.map(|u| (u & ((1 << self.mantissa) - 1)) | ((u >> (self.bits - 1)) << self.mantissa));
        ((1 + relative[0] * window + relative[1]) as u8, a | (b << (self.mantissa + 1)))
    }

    /// Number of raw bits after this token: at most 64.
    #[inline(always)]
    #[must_use]
    pub fn raw_bits(self, token: u8) -> u32 {
        2 * if token == ESC { self.bits } else { self.mantissa + 1 }
    }

    /// The two relative exponents of each token.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn relative(self) -> [[u8; 2]; 256] {
        let window = usize::from(self.form.window.max(1));
        let mut relative = [[0; 2]; 256];
        for (t, pair) in relative.iter_mut().skip(1).enumerate() {
            *pair = [(t / window) as u8, (t % window) as u8];
        }
        relative
    }

    /// The patterns of a token, whose `relative` exponents these are, and its raw bits, or `None` where an exponent does not exist (ULP-PLN-01).
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_sign_loss)]
    pub fn patterns(self, token: u8, relative: [u8; 2], raw: u64, lambda: i32) -> Option<[u64; 2]> {
        if token == ESC {
            return Some([raw & ((1 << self.bits) - 1), raw >> self.bits]);
        }
        let offset = self.bias + (lambda >> 2) - i32::from(self.form.centre);
        let e = relative.map(|r| i32::from(r) + offset);
        let pattern = |e: i32, rest: u64| {
            let sign = (rest >> self.mantissa) & 1;
            (sign << (self.bits - 1)) | ((e as u64) << self.mantissa) | (rest & ((1 << self.mantissa) - 1))
        };
        let exists = e.iter().all(|&e| e >= 0 && e < (1 << self.exponent));
        exists.then(|| [pattern(e[0], raw), pattern(e[1], raw >> (self.mantissa + 1))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bf16_pattern_comes_back_at_both_places() {
        for lambda in [-500, -41, 0, 3, 500] {
            for form in [PairForm { centre: 9, window: 15 }, PairForm { centre: 200, window: 1 }] {
                let tokens = PairTokens::new(ElementType::Bf16, 0, form).unwrap();
                let relative = tokens.relative();
                for u in 0..=0xFFFF {
                    for pair in [[u, 0x3F80], [0xBF81, u], [u, u]] {
                        let (token, raw) = tokens.token(pair, lambda);
                        assert!(raw < 1 << tokens.raw_bits(token));
                        assert!(usize::from(token) < form.alphabet());
                        assert_eq!(tokens.patterns(token, relative[usize::from(token)], raw, lambda), Some(pair));
                    }
                }
            }
        }
    }

    #[test]
    fn exponents_that_do_not_exist_are_refused() {
        let tokens = PairTokens::new(ElementType::F16, 0, PairForm { centre: 0, window: 10 }).unwrap();
        let relative = tokens.relative();
        let exists = |token: u8, lambda| tokens.patterns(token, relative[usize::from(token)], 0, lambda).is_some();
        assert!(!exists(1, -1000));
        // λ >> 2 = 15 is the largest exponent; the one after it does not exist.
        assert!(exists(1, 64) && !exists(2, 64) && !exists(11, 64));
    }
}
