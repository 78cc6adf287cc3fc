//! From tokens and raw bits to elements, as vectors (spec §10.3, §10.4).

use crate::core::token::ESC;
use crate::kernel::decode::coder::{Coder, WINDOW};
use crate::kernel::decode::constants::Constants;
use crate::kernel::decode::vector::Vector;

/// What the two ESC tokens are with the lowest bit set.
pub(super) const ESC_PAIR: u16 = ESC as u16 | 1;

/// 32-bit elements of a row.
#[inline(always)]
pub(super) fn load_row<S: Vector>(s: S, bytes: &[u8], at: usize) -> [S::V; 2] {
    let bytes = bytes.get(4 * at..).unwrap_or(&[]);
    match bytes.first_chunk::<128>().map(|row| row.as_chunks::<64>().0) {
        Some([a, b]) => [s.load_32(a), s.load_32(b)],
        _ => [s.splat(0); 2],
    }
}

/// 8- or 16-bit elements of a row, as 16-bit numbers.
#[inline(always)]
pub(super) fn load_narrow_row<S: Vector, const W: usize>(s: S, bytes: &[u8], at: usize) -> S::V {
    let bytes = bytes.get(W * at..).unwrap_or(&[]);
    if W == 1 {
        bytes.first_chunk().map_or(s.splat(0), |row| s.load_8_as_16(row))
    } else {
        bytes.first_chunk().map_or(s.splat(0), |row| s.load_32_words(row))
    }
}

/// Raw bits of length tokens and z >> 1 of each lane: elements of 16 or 32 bits.
#[inline(always)]
pub(super) fn lengths<S: Vector>(
    coder: &mut Coder<'_, S>,
    c: &Constants<S>,
    tokens: [S::V; 2],
    window: &[u8; WINDOW],
    used: &mut usize,
) -> [S::V; 2] {
    let s = coder.s;
    let mut bits = [length_bits(s, tokens[0]), length_bits(s, tokens[1])];
    let escaped = s.any(s.less_by(s.max(tokens[0], tokens[1]), s.splat(u32::from(ESC) - 1)));
    if escaped {
        for (bits, &token) in bits.iter_mut().zip(&tokens) {
            *bits = escape_bits(s, c, token, *bits);
        }
    }
    let raw = coder.raw_bits(bits, window, used);
    let mut magnitudes = [magnitude(s, tokens[0], bits[0], raw[0]), magnitude(s, tokens[1], bits[1], raw[1])];
    if escaped {
        for ((magnitude, &token), &raw) in magnitudes.iter_mut().zip(&tokens).zip(&raw) {
            *magnitude = s.select(is_escape(s, token), raw, *magnitude);
        }
    }
    magnitudes
}

/// Where a length token is one of the two ESC.
#[inline(always)]
pub(super) fn is_escape<S: Vector>(s: S, token: S::V) -> S::M {
    s.equal(s.or(token, s.splat(1)), s.splat(ESC_PAIR.into()))
}

/// Raw bits of length tokens, of which `bits` are those of all but ESC.
#[inline(always)]
pub(super) fn escape_bits<S: Vector>(s: S, c: &Constants<S>, token: S::V, bits: S::V) -> S::V {
    s.select(is_escape(s, token), c.escaped_length, bits)
}

/// Raw bits of a length token with two refinement bits: (token − 8) / 8 from 16 on.
#[inline(always)]
pub(super) fn length_bits<S: Vector>(s: S, token: S::V) -> S::V {
    s.shr_by::<3>(s.less_by(token, s.splat(8)))
}

/// Raw bits of a length token with one refinement bit: (token − 8) / 4 from 16 on.
#[inline(always)]
pub(super) fn wide_bits<S: Vector>(s: S, token: S::V) -> S::V {
    s.select(s.greater(token, s.splat(15)), s.shr_by::<2>(s.sub(token, s.splat(8))), s.splat(0))
}

/// Raw bits of a plain token.
#[inline(always)]
pub(super) fn plain_bits<S: Vector>(s: S, c: &Constants<S>, token: S::V) -> S::V {
    let bits = s.select(s.equal(token, s.splat(1)), c.escaped, c.usual);
    s.select(s.equal(token, s.splat(0)), s.splat(0), bits)
}

/// z >> 1: tokens up to 7 are z; the others have 4 + two bits in front of the raw bits, if any, and the sign.
#[inline(always)]
pub(super) fn magnitude<S: Vector>(s: S, token: S::V, bits: S::V, raw: S::V) -> S::V {
    let half = s.shr_by::<1>(token);
    let lead = s.or(s.and(half, s.splat(3)), s.splat(4));
    let lead = s.select(s.greater(token, s.splat(7)), lead, half);
    s.or(s.shl(lead, bits), raw)
}

/// The integer of a token and z >> 1.
#[inline(always)]
pub(super) fn integer<S: Vector>(s: S, c: &Constants<S>, token: S::V, magnitude: S::V) -> S::V {
    if c.signed {
        s.and(outward(s, token, magnitude), c.ring)
    } else {
        s.or(s.shl_by::<1>(magnitude), s.and(token, s.splat(1)))
    }
}

/// The outward residual of z >> 1 and the token, whose lowest bit is that of z.
#[inline(always)]
pub(super) fn outward<S: Vector>(s: S, token: S::V, magnitude: S::V) -> S::V {
    let negative = s.sub(s.splat(0), s.and(token, s.splat(1)));
    s.xor(magnitude, negative)
}

/// The element, by token and z >> 1.
///
/// Outward from the reference u, of sign S: v = (u or top) + o. Where v ≥ top zero is not crossed, and the element has magnitude v − top and sign S;
/// else it is v with all bits but S turned.
#[inline(always)]
pub(super) fn residual<S: Vector>(s: S, c: &Constants<S>, token: S::V, magnitude: S::V, reference: S::V) -> S::V {
    let v = s.and(s.add(s.or(reference, c.top), outward(s, token, magnitude)), c.ring);
    let same_side = s.xor(v, s.without(c.top, reference));
    let crossed = s.equal(s.and(v, c.top), s.splat(0));
    s.select(crossed, s.xor(same_side, c.across), same_side)
}

/// The pattern of a plain float and, where it is none, some bits; `offset` is (λ >> 2) + bias − centre.
#[inline(always)]
pub(super) fn plain<S: Vector>(s: S, c: &Constants<S>, token: S::V, raw: S::V, offset: S::V) -> (S::V, S::V) {
    let t = s.sub(token, s.splat(2));
    let sign = s.or(s.and(t, c.sign), s.shr(raw, c.low));
    let e = s.add(s.shr(t, c.token_exponent), offset);
    let mantissa = s.or(s.and(raw, c.low_mask), s.shl(s.shr(t, c.token_place), c.low));
    // The lowest bit of the shifted token is the top mantissa bit where the form has it, else the exponent's: the sum sets both.
    let made = s.add(mantissa, s.shl(offset, c.mantissa));
    let made = s.or(made, s.shl(sign, c.sign_place));
    let is_pattern = s.greater(token, s.splat(1));
    (s.select(is_pattern, made, raw), s.select(is_pattern, s.and(e, c.above_exponent), s.splat(0)))
}
