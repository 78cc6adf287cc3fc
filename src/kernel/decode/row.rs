//! The rest of a row, after its token step: raw bits and elements, by width (spec §10.3, §10.4).

use crate::core::bank::TokenClass;
use crate::core::element::Class;
use crate::core::lambda::clamp16;
use crate::core::plain::PlainTokens;
use crate::core::residual::{Ring, unzigzag};
use crate::core::token::LengthTokens;
use crate::kernel::decode::ROW;
use crate::kernel::decode::coder::{WINDOW, store_32_numbers};
use crate::kernel::decode::elements::{
    ESC_PAIR, escape_bits, integer, lengths, plain, plain_bits, residual, wide_bits,
};
use crate::kernel::decode::run::{FLOATS, RESIDUAL, Run};
use crate::kernel::decode::vector::Vector;

impl<S: Vector, const KIND: u8, const W: usize> Run<'_, '_, S, KIND, W> {
    /// A row of 32-bit elements; gives bits that must not be there.
    #[inline(always)]
    pub(super) fn row(
        &mut self,
        reference: [S::V; 2],
        entries: [S::V; 2],
        window: &[u8; WINDOW],
        used: &mut usize,
    ) -> S::V {
        let s = self.coder.s;
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let elements;
        let bad;
        if KIND == FLOATS {
            let c = &self.constants;
            let bits = [plain_bits(s, c, tokens[0]), plain_bits(s, c, tokens[1])];
            let raw = self.coder.raw_bits(bits, window, used);
            let offsets = self.plain_offsets();
            let c = &self.constants;
            let (a, bad_a) = plain(s, c, tokens[0], raw[0], offsets[0]);
            let (b, bad_b) = plain(s, c, tokens[1], raw[1], offsets[1]);
            elements = [a, b];
            bad = s.or(bad_a, bad_b);
        } else {
            let magnitudes = lengths(&mut self.coder, &self.constants, tokens, window, used);
            let c = &self.constants;
            elements = if KIND == RESIDUAL {
                [
                    residual(s, c, tokens[0], magnitudes[0], reference[0]),
                    residual(s, c, tokens[1], magnitudes[1], reference[1]),
                ]
            } else {
                [integer(s, c, tokens[0], magnitudes[0]), integer(s, c, tokens[1], magnitudes[1])]
            };
            bad = s.and(s.or(magnitudes[0], magnitudes[1]), c.excess);
        }
        let shifted = [s.shl(elements[0], self.constants.shift), s.shl(elements[1], self.constants.shift)];
        let bytes = self.out.get_mut(4 * self.at..).unwrap_or(&mut []);
        if let Some([a, b]) = bytes.first_chunk_mut::<128>().map(|row| row.as_chunks_mut::<64>().0) {
            s.store_32(shifted[0], a);
            s.store_32(shifted[1], b);
        }
        bad
    }

    /// A row of pairs of 16- or 32-bit elements; gives bits that must not be there.
    #[inline(always)]
    pub(super) fn pair_row(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let escapes = self.constants.pairs.escapes(s, tokens);
        let (low, high) = if escapes {
            let bits = tokens.map(|token| self.constants.pairs.bits(s, token));
            self.coder.raw_bits_64(bits, window, used)
        } else {
            let count = self.constants.pairs.count;
            self.coder.raw_bits_of_all(count, window, used)
        };
        let c = &self.constants;
        let bytes = self.out.get_mut(W * self.at..).unwrap_or(&mut []);
        let mut places = bytes.as_chunks_mut::<64>().0.iter_mut();
        let mut bad = s.splat(0);
        for half in 0..2 {
            let raw = [low[half], high[half]];
            let (mut pairs, mut bad_pairs) = c.pairs.patterns::<W>(s, tokens[half], raw, self.plain);
            if escapes {
                (pairs, bad_pairs) = c.pairs.escaped(s, tokens[half], raw, (pairs, bad_pairs));
            }
            bad = s.or(bad, bad_pairs);
            let [first, second] = [s.shl(pairs[0], c.shift), s.shl(pairs[1], c.shift)];
            if W == 2 {
                if let Some(place) = places.next() {
                    s.store_32(s.or(first, s.shl_by::<16>(second)), place);
                }
            } else {
                for v in s.zip(first, second) {
                    if let Some(place) = places.next() {
                        s.store_32(v, place);
                    }
                }
            }
        }
        bad
    }

    /// A row of 8- or 16-bit elements, as 16-bit numbers where that does; gives bits that must not be there.
    #[inline(always)]
    pub(super) fn narrow_row(
        &mut self,
        reference: S::V,
        entries: [S::V; 2],
        window: &[u8; WINDOW],
        used: &mut usize,
    ) -> S::V {
        let s = self.coder.s;
        let tokens = s.low_bytes(entries);
        let byte = s.splat(0xFF);
        let mut bad = s.splat(0);
        let element = if KIND == FLOATS {
            let c = &self.constants;
            let bits = [plain_bits(s, c, s.and(entries[0], byte)), plain_bits(s, c, s.and(entries[1], byte))];
            let mut raw = s.splat(0);
            if s.any(s.or(bits[0], bits[1])) {
                raw = self.coder.raw_bits_16(bits, window, used);
            }
            let offset =
                if self.rows.profiles.is_empty() { self.plain_16 } else { s.pack_signed(self.plain_offsets()) };
            let n = &self.constants.narrow;
            let t = s.sub_16(tokens, s.splat_16(2));
            let sign = s.or(s.and(t, n.sign), s.shr_16_by(raw, n.low));
            let mantissa = s.or(s.and(raw, n.low_mask), s.shl_16_by(s.shr_16_by(t, n.token_place), n.low));
            // The lowest bit of the shifted token is the top mantissa bit where the form has it, else the exponent's: the sum sets both.
            let made = s.add_16(mantissa, s.shl_16_by(offset, n.mantissa));
            let made = s.or(made, s.shl_16_by(sign, n.sign_place));
            let e = s.add_16(s.shr_16_by(t, n.token_exponent), offset);
            let is_pattern = s.greater_16(tokens, s.splat_16(1));
            bad = s.select_16(is_pattern, s.and(e, n.above_exponent), bad);
            s.select_16(is_pattern, made, raw)
        } else {
            let half = s.shr_16_by(tokens, s.bits_16(1));
            let mut magnitude = half;
            if W > 1 {
                let c = &self.constants;
                let (eight, three) = (s.splat(8), s.bits_16(3));
                let mut bits = [
                    s.shr_by::<3>(s.less_by(s.and(entries[0], byte), eight)),
                    s.shr_by::<3>(s.less_by(s.and(entries[1], byte), eight)),
                ];
                let high = s.any_16(s.greater_16(tokens, c.narrow.largest));
                let escaped = s.equal_16(s.or(tokens, s.splat_16(1)), s.splat_16(ESC_PAIR));
                if high {
                    let others = s.select_16(escaped, s.splat(0), tokens);
                    if s.any_16(s.greater_16(others, c.narrow.largest)) {
                        // Not in the ring. All that is left to do is to use up the words.
                        self.coder.raw_bits(bits, window, used);
                        return s.splat(1);
                    }
                    for (bits, entries) in bits.iter_mut().zip(entries) {
                        *bits = escape_bits(s, c, s.and(entries, byte), *bits);
                    }
                }
                let mut raw = s.splat(0);
                if s.any_16(s.greater_16(tokens, s.splat_16(15))) {
                    raw = self.coder.raw_bits_16(bits, window, used);
                }
                let bits = s.shr_16_by(s.less_by(tokens, s.splat_16(8)), three);
                let lead = s.or(s.and(half, s.splat_16(3)), s.splat_16(4));
                let lead = s.select_16(s.greater_16(tokens, s.splat_16(7)), lead, half);
                magnitude = s.or(s.shl_16(lead, bits), raw);
                if high {
                    magnitude = s.select_16(escaped, raw, magnitude);
                }
            }
            let n = &self.constants.narrow;
            let sign = s.and(tokens, s.splat_16(1));
            let outward = s.xor(magnitude, s.sub_16(s.splat(0), sign));
            if KIND == RESIDUAL {
                let v = s.and(s.add_16(s.or(reference, n.top), outward), n.ring);
                let same_side = s.xor(v, s.without(n.top, reference));
                let crossed = s.equal_16(s.and(v, n.top), s.splat(0));
                s.select_16(crossed, s.xor(same_side, n.across), same_side)
            } else if self.constants.signed {
                s.and(outward, n.ring)
            } else {
                s.or(s.shl_16_by(magnitude, s.bits_16(1)), sign)
            }
        };
        let element = s.shl_16_by(element, self.constants.narrow.shift);
        let bytes = self.out.get_mut(W * self.at..).unwrap_or(&mut []);
        if W == 1 {
            if let Some(row) = bytes.first_chunk_mut() {
                s.store_16_as_8(element, row);
            }
        } else if let Some(row) = bytes.first_chunk_mut() {
            s.store_32_words(element, row);
        }
        bad
    }

    /// Four times the exponent fields of the row's 64-bit references.
    #[inline(always)]
    pub(super) fn wide_exponents(&self) -> [u32; ROW] {
        let Class::Float { mantissa, exponent, .. } = self.rows.element.class() else { return [0; ROW] };
        let mask = (1 << exponent) - 1;
        let mut exponents = [4; ROW];
        let bytes = self.rows.reference.get(8 * self.at..).unwrap_or(&[]);
        for (e, bytes) in exponents.iter_mut().zip(bytes.as_chunks().0) {
            #[allow(clippy::cast_possible_truncation)]
            {
                *e = 4 * ((u64::from_le_bytes(*bytes) >> mantissa) & mask).max(1) as u32;
            }
        }
        exponents
    }

    /// A row of 64-bit elements: steps as vectors, the rest number by number; gives bits that must not be there.
    #[inline(always)]
    pub(super) fn wide_row(&mut self, entries: [S::V; 2], window: &[u8; WINDOW], used: &mut usize) -> S::V {
        let s = self.coder.s;
        let ring = Ring::new(self.rows.element, self.rows.shift);
        let shift = self.rows.shift;
        let mut references = [0u64; ROW];
        if KIND == RESIDUAL {
            let bytes = self.rows.reference.get(8 * self.at..).unwrap_or(&[]);
            for (reference, bytes) in references.iter_mut().zip(bytes.as_chunks().0) {
                *reference = u64::from_le_bytes(*bytes) >> shift;
            }
        }
        let tokens = [s.and(entries[0], s.splat(0xFF)), s.and(entries[1], s.splat(0xFF))];
        let bits = if KIND == FLOATS {
            let c = &self.constants;
            [plain_bits(s, c, tokens[0]), plain_bits(s, c, tokens[1])]
        } else {
            [wide_bits(s, tokens[0]), wide_bits(s, tokens[1])]
        };
        let (low, high) = self.coder.raw_bits_64(bits, window, used);
        let mut arrays = [[0u32; ROW]; 4];
        for (array, v) in arrays.iter_mut().zip([tokens, low, high, self.index()]) {
            store_32_numbers(s, v, array);
        }
        let [tokens, low, high, index] = &arrays;
        let lengths = LengthTokens::new(8, shift);
        let plain = match self.rows.bank.class {
            TokenClass::Plain(form) if KIND == FLOATS => PlainTokens::new(self.rows.element, shift, form),
            _ => None,
        };
        let signed = self.rows.element.class() == Class::Signed;
        let base = self.rows.bank.elements.base();
        let mut bad = false;
        let bytes = self.out.get_mut(8 * self.at..).unwrap_or(&mut []);
        for (i, bytes) in bytes.as_chunks_mut().0.iter_mut().take(ROW).enumerate() {
            let raw = u64::from(low[i]) | u64::from(high[i]) << 32;
            #[allow(clippy::cast_possible_truncation)]
            let token = tokens[i] as u8;
            let element = if let Some(plain) = plain {
                let (pattern, exists) = plain.pattern(token, raw, clamp16(index[i].cast_signed() + base));
                bad |= !exists;
                pattern
            } else {
                let z = lengths.base(token).wrapping_add(raw << 1);
                bad |= z > ring.mask;
                match KIND {
                    RESIDUAL => ring.unzigzag(z, references[i]),
                    _ if signed => unzigzag(z) & ring.mask,
                    _ => z,
                }
            };
            *bytes = (element << shift).to_le_bytes();
        }
        s.splat(u32::from(bad))
    }
}
