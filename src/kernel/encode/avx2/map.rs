//! What maps of λ make of bins.

use core::arch::x86_64::*;

use super::Row;
use crate::kernel::encode::Bins;

/// Bins that go by one entry of a byte shuffle.
const SEGMENT: usize = 16;

/// A map of bins: the table of the first bin of each 16, and the bins among the others where a new table begins.
///
/// Tables are numbered upwards and each has a bin of its own (spec §9), so a bin's table is that of the first bin of its 16 and one more for each beginning
/// up to it.
#[derive(Clone, Copy)]
pub(super) struct Map<'a> {
    high: __m256i,
    kind: Kind<'a>,
    first: __m256i,
    /// In entry h the k-th bin of the h-th 16 after which a new table begins, or one that none is above.
    before: [__m256i; SEGMENT - 1],
    count: usize,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    Identity,
    Segments,
    /// Tables that no bin has.
    Gaps(&'a [u8; 256]),
}

impl<'a> Map<'a> {
    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    pub(super) fn new(bins: &Bins<'a>) -> Self {
        let mut map = Self {
            high: _mm256_set1_epi8(bins.high as i8),
            kind: Kind::Identity,
            first: _mm256_setzero_si256(),
            before: [_mm256_setzero_si256(); SEGMENT - 1],
            count: 0,
        };
        if bins.identity {
            return map;
        }
        map.kind = Kind::Segments;
        let (segments, _) = bins.map.as_chunks::<SEGMENT>();
        let mut first = [0; SEGMENT];
        let mut before = [[0x7F; SEGMENT]; SEGMENT - 1];
        let mut gaps = false;
        for (h, (segment, first)) in segments.iter().zip(&mut first).enumerate() {
            *first = segment[0];
            let tables = load(segment);
            // The next bin's beside each, beside the last one its own.
            let next = _mm_alignr_epi8::<1>(_mm_srli_si128::<15>(tables), tables);
            let more = _mm_sub_epi8(next, tables);
            let (zero, one) = (_mm_setzero_si128(), _mm_set1_epi8(1));
            gaps |= _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(more, one), more)) != 0xFFFF;
            let mut starts = !_mm_movemask_epi8(_mm_cmpeq_epi8(more, zero)) & 0xFFFF;
            for (k, before) in before.iter_mut().enumerate() {
                if starts == 0 {
                    break;
                }
                before[h] = starts.trailing_zeros() as u8;
                starts &= starts - 1;
                map.count = map.count.max(k + 1);
            }
        }
        if gaps {
            map.kind = Kind::Gaps(bins.map);
        }
        map.first = _mm256_broadcastsi128_si256(load(&first));
        for (to, from) in map.before.iter_mut().zip(&before) {
            *to = _mm256_broadcastsi128_si256(load(from));
        }
        map
    }

    /// The tables of 32 bins, given in 16-bit lanes and clamped here, in the high bytes of lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn high(&self, bins: Row) -> Row {
        let bins = _mm256_min_epu8(_mm256_packus_epi16(bins[0], bins[1]), self.high);
        let tables = match self.kind {
            Kind::Identity => bins,
            Kind::Segments => {
                let low = _mm256_set1_epi8(15);
                let segment = _mm256_and_si256(_mm256_srli_epi16(bins, 4), low);
                let bin = _mm256_and_si256(bins, low);
                let mut tables = _mm256_shuffle_epi8(self.first, segment);
                for before in self.before.iter().take(self.count) {
                    tables = _mm256_sub_epi8(tables, _mm256_cmpgt_epi8(bin, _mm256_shuffle_epi8(*before, segment)));
                }
                tables
            }
            Kind::Gaps(map) => {
                let mut bytes = [0u8; 32];
                // SAFETY: the reference is to 32 bytes; neither the store nor the load asks for alignment.
                unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), bins) };
                let bytes = bytes.map(|bin| map[usize::from(bin)]);
                // SAFETY: as above.
                unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
            }
        };
        // Packing went half by half, and so does unpacking.
        let zero = _mm256_setzero_si256();
        [_mm256_unpacklo_epi8(zero, tables), _mm256_unpackhi_epi8(zero, tables)]
    }

    /// Steps with tables in place of their bins.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn mapped(&self, steps: Row) -> Row {
        if let Kind::Identity = self.kind {
            return steps;
        }
        let high = self.high(steps.map(|step| _mm256_srli_epi16(step, 8)));
        let low = _mm256_set1_epi16(0xFF);
        [
            _mm256_or_si256(high[0], _mm256_and_si256(steps[0], low)),
            _mm256_or_si256(high[1], _mm256_and_si256(steps[1], low)),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; SEGMENT]) -> __m128i {
    // SAFETY: the reference is to 16 bytes; the load asks for no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
