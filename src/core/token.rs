//! Tokens of residuals and integers: sign, length and refinement bits modelled, the rest raw (spec §10.3).

use crate::core::word::Word;

/// The first of the two ESC tokens of class 1, for even z; the other one is for odd z. All bits of z above the lowest follow raw, so that tables need no
/// frequency for what hardly ever occurs.
pub const ESC: u8 = 240;

/// Tokens of classes 0, 1 and 2 (spec §9) of elements of some width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthTokens {
    /// Refinement bits r below the leading one; `None` for byte tokens.
    pub refinement: Option<u32>,
    /// Bits w' of z.
    bits: u32,
}

impl LengthTokens {
    /// The tokens for elements of `width` bytes whose `shift` low bits are dropped.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(width: usize, shift: u8) -> Self {
        Self {
            refinement: match width {
                1 => None,
                8 => Some(1),
                _ => Some(2),
            },
            bits: (8 * width as u32).saturating_sub(shift.into()).max(1),
        }
    }

    /// Whether these tokens have ESC, and this is one.
    #[inline(always)]
    const fn escapes(self, token: u8) -> bool {
        matches!(self.refinement, Some(2)) && token | 1 == ESC | 1
    }

    /// Token of z.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn token(self, z: u64) -> u8 {
        match self.refinement {
            Some(r) if z >= 16 => {
                let n = 63 - z.leading_zeros();
                let refine = (z >> (n - r)) & ((1 << r) - 1);
                (16 + 2 * ((u64::from(n - 4) << r) + refine) + (z & 1)) as u8
            }
            _ => z as u8,
        }
    }

    /// Raw bits of z: bits 1 … n − r − 1.
    #[inline(always)]
    #[must_use]
    pub fn raw(self, token: u8, z: u64) -> u64 {
        (z >> 1) & low_mask(self.raw_bits(token))
    }

    /// Number of raw bits after this token.
    #[inline(always)]
    #[must_use]
    pub const fn raw_bits(self, token: u8) -> u32 {
        match self.refinement {
            Some(_) if self.escapes(token) => self.bits - 1,
            Some(r) if token >= 16 => ((token as u32 - 16) >> (1 + r)) + 4 - r - 1,
            _ => 0,
        }
    }

    /// The z of a token whose raw bits are zero.
    #[inline(always)]
    #[must_use]
    pub const fn base(self, token: u8) -> u64 {
        match self.refinement {
            Some(_) if self.escapes(token) => token as u64 & 1,
            Some(r) if token >= 16 => {
                let k = (token as u64 - 16) >> 1;
                let n = (k >> r) + 4;
                if n > 63 {
                    return u64::MAX;
                }
                (1 << n) | ((k & ((1 << r) - 1)) << (n - r as u64)) | (token as u64 & 1)
            }
            _ => token as u64,
        }
    }

    /// Raw bits and base of each token, ready for use.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn table<W: Word>(self) -> LengthTable<W> {
        let mut table = LengthTable { raw_bits: [0; 256], base: [W::default(); 256], largest: 0, escape: 0 };
        let most = u64::MAX >> (64 - self.bits);
        for ((token, bits), base) in (0..=255).zip(&mut table.raw_bits).zip(&mut table.base) {
            *bits = self.raw_bits(token) as u8;
            *base = W::narrow(self.base(token));
        }
        let inside = |&token: &u8| !self.escapes(token) && self.base(token) <= most;
        table.largest = (0..=255).rev().find(inside).unwrap_or(0);
        table.escape = if self.escapes(ESC) { ESC } else { 0 };
        table
    }

    /// Number of tokens of the class's alphabet.
    #[must_use]
    pub fn alphabet(self) -> usize {
        if self.refinement == Some(2) { usize::from(ESC) + 2 } else { 256 }
    }
}

/// What [`LengthTokens::raw_bits`] and [`LengthTokens::base`] give for each token.
#[derive(Clone, Debug)]
pub struct LengthTable<W> {
    /// Number of raw bits.
    pub raw_bits: [u8; 256],
    /// The z of the token whose raw bits are zero.
    pub base: [W; 256],
    /// The largest token, ESC aside, whose z are inside w' bits.
    largest: u8,
    /// The first ESC token; 0, which is inside, where there is none.
    escape: u8,
}

impl<W> LengthTable<W> {
    /// Whether any z of the tokens lies outside w' bits.
    #[inline(always)]
    #[must_use]
    pub fn outside<const N: usize>(&self, tokens: &[u8; N]) -> bool {
        let over = |&token: &u8| (token > self.largest) & (token | 1 != self.escape | 1);
        tokens.iter().fold(false, |any, token| any | over(token))
    }
}

/// The mask of the low `bits` bits, 0…64.
#[inline(always)]
#[must_use]
pub fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_raw_bits_make_z_again() {
        for width in [1, 2, 4, 8] {
            let tokens = LengthTokens::new(width, 0);
            let top = 8 * width as u32 - 1;
            let samples = (0..=top).flat_map(|n| {
                let one = 1u64 << n;
                [one - 1, one, one + 1, one | (one >> 1), one | (one >> 2), (one << 1).wrapping_sub(1)]
            });
            for z in samples.filter(|z| z.leading_zeros() >= 63 - top) {
                let token = tokens.token(z);
                assert!(usize::from(token) < tokens.alphabet());
                let again = tokens.base(token) + (tokens.raw(token, z) << 1);
                assert_eq!(again, z, "width {width}");
                if tokens.refinement == Some(2) {
                    let escaped = ESC | (z & 1) as u8;
                    assert!(tokens.raw(escaped, z) == z >> 1 && tokens.raw_bits(escaped) == top);
                    assert_eq!(tokens.base(escaped) + (tokens.raw(escaped, z) << 1), z);
                }
            }
        }
    }

    #[test]
    fn known_tokens() {
        let t = LengthTokens::new(2, 0);
        assert_eq!(t.token(15), 15);
        assert_eq!(t.token(16), 16);
        assert_eq!(t.raw_bits(16), 1);
        assert_eq!(t.token(0xFFFF), 16 + 2 * (4 * 11 + 3) + 1);
        assert_eq!(t.raw_bits(t.token(0xFFFF)), 12);
    }
}
