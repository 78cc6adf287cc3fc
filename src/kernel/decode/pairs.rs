//! Pairs of floats from a token and its raw bits (spec §10.4, class 4).

use crate::core::bank::TokenClass;
use crate::core::element::Class;
use crate::kernel::decode::Rows;
use crate::kernel::decode::vector::Vector;

/// Numbers that stay the same in all rows of pairs, sixteen times each.
pub(super) struct Pairs<S: Vector> {
    window: S::V,
    /// 2^16 / W, rounded so that quotients of tokens come out exact.
    reciprocal: S::V,
    mantissa: S::V,
    mantissa_mask: S::V,
    /// Raw bits of an element, and how far those of the second one reach into the upper word.
    rest: S::V,
    above_rest: S::V,
    sign: S::V,
    sign_place: S::V,
    above_exponent: S::V,
    /// Bits of a pattern, and how far those of the second one reach into the upper word.
    whole: S::V,
    above_whole: S::V,
    whole_mask: S::V,
    escaped: S::V,
    usual: S::V,
    /// Raw bits of a token that is not ESC.
    pub(super) count: u32,
}

impl<S: Vector> Pairs<S> {
    #[inline(always)]
    pub(super) fn new(s: S, rows: &Rows<'_>) -> Self {
        let (mut mantissa, mut exponent) = (0, 0);
        if let Class::Float { mantissa: m, exponent: e, .. } = rows.element.class() {
            (mantissa, exponent) = (m.saturating_sub(rows.shift.into()), e);
        }
        let window = if let TokenClass::Pairs(form) = rows.bank.class { u32::from(form.window.max(1)) } else { 1 };
        let whole = 1 + exponent + mantissa;
        Self {
            window: s.splat(window),
            // Too large by less than W / 2^16 · W: quotients of numbers below 2^16 / W are exact.
            reciprocal: s.splat((1u32 << 16).div_ceil(window)),
            mantissa: s.splat(mantissa),
            mantissa_mask: s.splat((1 << mantissa.min(31)) - 1),
            rest: s.splat(mantissa + 1),
            above_rest: s.splat(31u32.wrapping_sub(mantissa)),
            sign: s.splat(1 << mantissa.min(31)),
            sign_place: s.splat(exponent),
            above_exponent: s.splat(!((1 << exponent.min(31)) - 1)),
            whole: s.splat(whole),
            above_whole: s.splat(32u32.wrapping_sub(whole)),
            whole_mask: s.splat(u32::MAX >> 32u32.saturating_sub(whole).min(31)),
            escaped: s.splat(2 * whole),
            usual: s.splat(2 * (mantissa + 1)),
            count: 2 * (mantissa + 1),
        }
    }

    /// Raw bits of a token.
    #[inline(always)]
    pub(super) fn bits(&self, s: S, token: S::V) -> S::V {
        s.select(s.equal(token, s.splat(0)), self.escaped, self.usual)
    }

    /// Whether any token is ESC.
    #[inline(always)]
    pub(super) fn escapes(&self, s: S, tokens: [S::V; 2]) -> bool {
        let least = s.min(tokens[0], tokens[1]);
        s.any(s.select(s.equal(least, s.splat(0)), s.splat(1), s.splat(0)))
    }

    /// The two patterns of each token that is not ESC and, where there are none, some bits; `raw` in two words, `offset` is (λ >> 2) + bias − centre.
    #[inline(always)]
    pub(super) fn patterns<const W: usize>(
        &self,
        s: S,
        token: S::V,
        raw: [S::V; 2],
        offset: S::V,
    ) -> ([S::V; 2], S::V) {
        let t = s.sub(token, s.splat(1));
        let quotient = s.shr_by::<16>(s.mul(t, self.reciprocal));
        let e = [s.add(quotient, offset), s.add(s.sub(t, s.mul(quotient, self.window)), offset)];
        let mut second = s.shr(raw[0], self.rest);
        if W > 2 {
            second = s.or(second, s.shl(raw[1], self.above_rest));
        }
        let pattern = |e: S::V, rest: S::V| {
            // The sign stands right above the mantissa.
            let sign = s.shl(s.and(rest, self.sign), self.sign_place);
            s.or(s.or(s.and(rest, self.mantissa_mask), s.shl(e, self.mantissa)), sign)
        };
        ([pattern(e[0], raw[0]), pattern(e[1], second)], s.and(s.or(e[0], e[1]), self.above_exponent))
    }

    /// The same where the token is ESC, else `others`.
    #[inline(always)]
    pub(super) fn escaped(&self, s: S, token: S::V, raw: [S::V; 2], others: ([S::V; 2], S::V)) -> ([S::V; 2], S::V) {
        let escaped = s.equal(token, s.splat(0));
        let second = s.or(s.shr(raw[0], self.whole), s.shl(raw[1], self.above_whole));
        let ([first, other], bad) = others;
        let first = s.select(escaped, s.and(raw[0], self.whole_mask), first);
        ([first, s.select(escaped, second, other)], s.select(escaped, s.splat(0), bad))
    }
}
