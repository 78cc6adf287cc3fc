//! MASK substreams: rows of 32 groups, then rows of 32 changed elements (spec §10.5).

use crate::core::element::Class;
use crate::core::lanes::Lanes;
use crate::core::residual::Ring;
use crate::core::token::LengthTokens;
use crate::core::word::Word;
use crate::error::{Error, Result};
use crate::kernel::decode::coder::{Coder, Tail, load_32_numbers, store_32_numbers};
use crate::kernel::decode::constants::Constants;
use crate::kernel::decode::elements::{lengths, residual, wide_bits};
use crate::kernel::decode::run::{OUTSIDE_RING, WORDS_ENDED};
use crate::kernel::decode::vector::{Task, Vector};
use crate::kernel::decode::{ROW, Rows, ZERO_BLOCK};
use crate::with_word;

/// Elements of a group.
const GROUP: usize = 8;
/// Elements of a row of groups.
pub(super) const ROW_OF_GROUPS: usize = GROUP * ROW;

/// Decodes the whole rows of groups outside ZERO blocks and appends the places of the elements that differ.
pub(super) struct Groups<'t, 'r, 'l> {
    pub(super) rows: &'t Rows<'r>,
    pub(super) lanes: &'t mut Lanes<'l>,
    pub(super) changed: &'t mut Vec<u32>,
}

impl Task for Groups<'_, '_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Vector>(self, s: S) -> Result<()> {
        let Self { rows, lanes, changed } = self;
        let width = rows.element.width();
        let whole = rows.reference.len() / width / ROW_OF_GROUPS * ROW_OF_GROUPS;
        let length = if rows.block == 0 { whole } else { 1 << rows.block };
        let group = &rows.bank.masks;
        let (states, words) = lanes.parts();
        let tail = Tail::new(words);
        let mut coder = Coder::new(s, states, words, &tail);
        let mut ended = false;
        'blocks: for (block, &scale) in rows.scales.iter().enumerate() {
            let start = block * length;
            if scale == ZERO_BLOCK {
                continue;
            }
            for at in (start..whole.min(start + length)).step_by(ROW_OF_GROUPS) {
                let Some(window) = coder.window() else {
                    ended = true;
                    break 'blocks;
                };
                let index = group_index(s, rows, at, scale - group.base());
                let mut used = 0;
                let sets = coder.tokens(group, index, window, &mut used);
                if !coder.advance(used) {
                    ended = true;
                    break 'blocks;
                }
                if s.any(s.or(sets[0], sets[1])) {
                    let mut bits = [0u8; ROW];
                    s.store_8(sets, &mut bits);
                    push_set_bits(&bits, at, changed);
                }
            }
        }
        coder.give_back(lanes);
        if ended { Err(Error::Entropy(WORDS_ENDED)) } else { Ok(()) }
    }
}

/// λ − base of each group of a row: the largest of its elements; `index` is that without profile and exponent.
#[inline(always)]
fn group_index<S: Vector>(s: S, rows: &Rows<'_>, at: usize, index: i32) -> [S::V; 2] {
    let width = rows.element.width();
    let bytes = rows.reference.get(at * width..(at + ROW_OF_GROUPS) * width).unwrap_or(&[]);
    let Class::Float { bias, mantissa, exponent } = rows.element.class() else {
        return load_32_numbers(s, &group_profiles(rows, at, index, &[0; ROW_OF_GROUPS]));
    };
    let index = index + 4 * (bias + mantissa.cast_signed() - i32::from(rows.shift));
    let mask = (1u64 << exponent) - 1;
    if !rows.profiles.is_empty() {
        let mut terms = [0i32; ROW_OF_GROUPS];
        with_word!(width, W => {
            for (i, term) in terms.iter_mut().enumerate() {
                #[allow(clippy::cast_possible_truncation)]
                {
                    *term = -4 * ((W::load(bytes, i).wide() >> mantissa) & mask).max(1) as i32;
                }
            }
        });
        return load_32_numbers(s, &group_profiles(rows, at, index, &terms));
    }
    macro_rules! least {
        ($word:ty, $bytes:literal) => {{
            let mut result = [0u32; ROW];
            #[allow(clippy::cast_possible_truncation)]
            let mask = mask as $word;
            for (group, result) in bytes.as_chunks::<{ GROUP * $bytes }>().0.iter().zip(&mut result) {
                let mut least = <$word>::MAX;
                for element in group.as_chunks::<$bytes>().0 {
                    least = least.min((<$word>::from_le_bytes(*element) >> mantissa) & mask);
                }
                #[allow(clippy::cast_possible_truncation)]
                let term = 4 * (least as i32).max(1);
                *result = (index - term).cast_unsigned();
            }
            load_32_numbers(s, &result)
        }};
    }
    match width {
        1 => least!(u8, 1),
        2 => {
            // Exponents compare as they are in place.
            #[allow(clippy::cast_possible_truncation)]
            let mask = (mask as u16) << mantissa;
            let words = bytes.first_chunk().unwrap_or(&[0; 2 * ROW_OF_GROUPS]);
            // Not by `map`, whose closure would not be compiled for the instruction set.
            let mut indices = s.least_of_eight(words, mask);
            for v in &mut indices {
                let exponent = s.max(s.shr(*v, s.splat(mantissa)), s.splat(1));
                *v = s.sub(s.splat(index.cast_unsigned()), s.shl_by::<2>(exponent));
            }
            indices
        }
        4 => least!(u32, 4),
        _ => least!(u64, 8),
    }
}

/// The same from terms of each element, with profiles.
fn group_profiles(rows: &Rows<'_>, at: usize, index: i32, terms: &[i32; ROW_OF_GROUPS]) -> [u32; ROW] {
    let mut result = [0; ROW];
    for (group, result) in result.iter_mut().enumerate() {
        let elements = group * GROUP..(group + 1) * GROUP;
        let with_profile =
            |i: usize| terms.get(i).copied().unwrap_or(0) + rows.profiles.get(at + i).map_or(0, |&p| i32::from(p));
        *result = (index + elements.map(with_profile).max().unwrap_or(0)).cast_unsigned();
    }
    result
}

/// Appends `at` + i for each bit i that is set.
#[inline(always)]
fn push_set_bits(bits: &[u8; ROW], at: usize, to: &mut Vec<u32>) {
    for (word, bytes) in bits.as_chunks().0.iter().enumerate() {
        let mut set = u64::from_le_bytes(*bytes);
        while set != 0 {
            #[allow(clippy::cast_possible_truncation)]
            to.push((at + 64 * word) as u32 + set.trailing_zeros());
            set &= set - 1;
        }
    }
}

/// Decodes the elements at the places in `changed`, whole rows of them.
pub(super) struct Changed<'t, 'r, 'l, const W: usize> {
    pub(super) rows: &'t Rows<'r>,
    pub(super) lanes: &'t mut Lanes<'l>,
    pub(super) changed: &'t [u32],
    pub(super) out: &'t mut [u8],
}

impl<const W: usize> Task for Changed<'_, '_, '_, W> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Vector>(self, s: S) -> Result<()> {
        let Self { rows, lanes, changed, out } = self;
        let group = &rows.bank.elements;
        let ring = Ring::new(rows.element, rows.shift);
        let tokens_of = LengthTokens::new(W, rows.shift);
        let constants = Constants::new(s, rows);
        let (states, words) = lanes.parts();
        let tail = Tail::new(words);
        let mut coder = Coder::new(s, states, words, &tail);
        let mut result = Ok(());
        for places in changed.as_chunks::<ROW>().0 {
            let Some(window) = coder.window() else {
                result = Err(Error::Entropy(WORDS_ENDED));
                break;
            };
            let mut used = 0;
            let (references, index) = references(rows, places, group.base());
            let tokens = coder.tokens(group, load_32_numbers(s, &index), window, &mut used);
            let mut elements = [0u64; ROW];
            let bad;
            if W == 8 {
                let bits = [wide_bits(s, tokens[0]), wide_bits(s, tokens[1])];
                let (low, high) = coder.raw_bits_64(bits, window, &mut used);
                let mut arrays = [[0u32; ROW]; 3];
                for (array, v) in arrays.iter_mut().zip([tokens, low, high]) {
                    store_32_numbers(s, v, array);
                }
                let [tokens, low, high] = &arrays;
                let mut outside = false;
                for (i, element) in elements.iter_mut().enumerate() {
                    let raw = u64::from(low[i]) | u64::from(high[i]) << 32;
                    #[allow(clippy::cast_possible_truncation)]
                    let z = tokens_of.base(tokens[i] as u8).wrapping_add(raw << 1);
                    outside |= z > ring.mask;
                    *element = ring.unzigzag(z, references[i]);
                }
                bad = outside;
            } else {
                let magnitudes = if W == 1 {
                    [s.shr_by::<1>(tokens[0]), s.shr_by::<1>(tokens[1])]
                } else {
                    lengths(&mut coder, &constants, tokens, window, &mut used)
                };
                #[allow(clippy::cast_possible_truncation)]
                let reference = load_32_numbers(s, &references.map(|r| r as u32));
                let made = [
                    residual(s, &constants, tokens[0], magnitudes[0], reference[0]),
                    residual(s, &constants, tokens[1], magnitudes[1], reference[1]),
                ];
                let mut numbers = [0u32; ROW];
                store_32_numbers(s, made, &mut numbers);
                elements = numbers.map(u64::from);
                bad = constants.exceeded(s, magnitudes);
            }
            if !coder.advance(used) {
                result = Err(Error::Entropy(WORDS_ENDED));
                break;
            }
            if bad {
                result = Err(Error::Entropy(OUTSIDE_RING));
                break;
            }
            with_word!(W, T => {
                for (&place, element) in places.iter().zip(elements) {
                    T::narrow(element << rows.shift).store(out, place as usize);
                }
            });
        }
        coder.give_back(lanes);
        result
    }
}

/// The reference patterns at some places, and their λ − base.
#[inline(always)]
fn references(rows: &Rows<'_>, places: &[u32; ROW], base: i32) -> ([u64; ROW], [u32; ROW]) {
    let mut patterns = [0u64; ROW];
    let mut index = [0u32; ROW];
    let (mut offset, mut at, mut mask, mut least) = (-base, 0, 0, 0);
    if let Class::Float { bias, mantissa, exponent } = rows.element.class() {
        at = mantissa.saturating_sub(u32::from(rows.shift));
        offset += 4 * (bias + at.cast_signed());
        mask = (1u64 << exponent) - 1;
        least = 1;
    }
    with_word!(rows.element.width(), W => {
        for ((pattern, index), &place) in patterns.iter_mut().zip(&mut index).zip(places) {
            let place = place as usize;
            *pattern = W::load(rows.reference, place).wide() >> rows.shift;
            let block = if rows.block == 0 { 0 } else { place >> rows.block };
            let scale = rows.scales.get(block).copied().unwrap_or(0);
            let profile = rows.profiles.get(place).map_or(0, |&p| i32::from(p));
            #[allow(clippy::cast_possible_truncation)]
            let e = ((*pattern >> at) & mask).max(least) as i32;
            *index = (scale + profile + offset - 4 * e).cast_unsigned();
        }
    });
    (patterns, index)
}
