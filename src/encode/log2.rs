//! Logarithms in integers: the same on every machine.

/// Fraction bits of costs.
pub const COST_BITS: u32 = 10;

/// log2 of 1 + i/256, in 2^−16: filled by repeated squaring.
static FRACTION: [u32; 257] = fraction();

const fn fraction() -> [u32; 257] {
    let mut table = [0; 257];
    let mut i = 0;
    while i < 256 {
        // x in [1, 2) as a fixed-point number with 31 fraction bits; each squaring yields one more bit of log2 x.
        let mut x = (1u64 << 31) + ((i as u64) << 23);
        let mut bits = 0;
        let mut k = 0;
        while k < 17 {
            x = (x * x) >> 31;
            bits <<= 1;
            if x >= 1 << 32 {
                bits |= 1;
                x >>= 1;
            }
            k += 1;
        }
        table[i] = (bits + 1) >> 1;
        i += 1;
    }
    table[256] = 1 << 16;
    table
}

/// log2 of `x` ≥ 1 in units of 2^−16 bits, within 2^−17 of the truth or so; 0 for 0.
#[inline]
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn log2(x: u64) -> u64 {
    if x == 0 {
        return 0;
    }
    let n = 63 - x.leading_zeros();
    let mantissa = (x << (63 - n)) << 1;
    let i = (mantissa >> 56) as usize;
    let rest = (mantissa >> 40) & 0xFFFF;
    let (low, high) = (u64::from(FRACTION[i]), u64::from(FRACTION[i + 1]));
    (u64::from(n) << 16) + low + (((high - low) * rest) >> 16)
}

/// Σ c · log2(total / c) over the counts, in units of 2^−16 bits: what an ideal code for them takes.
#[must_use]
pub fn entropy(counts: &[u32]) -> u64 {
    let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let inner: u64 = counts.iter().filter(|&&c| c > 1).map(|&c| u64::from(c) * log2(c.into())).sum();
    (total * log2(total)).saturating_sub(inner)
}

/// Jensen–Shannon divergence of two distributions given as counts, in units of 2^−20 bits, 0…2^20, less what samples of one distribution would show;
/// 2^20 where one has no counts.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn divergence(a: &[u32], b: &[u32]) -> u64 {
    const WHOLE: u64 = 1 << 24;
    let total = |counts: &[u32]| counts.iter().map(|&c| u64::from(c)).sum::<u64>();
    let (a_total, b_total) = (total(a), total(b));
    if a_total == 0 || b_total == 0 {
        return 1 << 20;
    }
    let share = |counts: &[u32], total: u64| -> Vec<u32> {
        counts.iter().map(|&c| (u64::from(c) * WHOLE / total) as u32).collect()
    };
    let (own, other) = (share(a, a_total), share(b, b_total));
    let both: Vec<u32> = own.iter().zip(&other).map(|(a, b)| a + b).collect();
    let found = (entropy(&both).saturating_sub(entropy(&own) + entropy(&other)) << 4) / (2 * WHOLE);
    // (K − 1) / (8 ln 2) · (1/n + 1/m) for K symbols and n and m samples.
    let symbols = a.iter().zip(b).filter(|(a, b)| **a > 0 || **b > 0).count().saturating_sub(1) as u64;
    let chance = |samples: u64| symbols * ((1 << 20) * 2 / 11) / samples;
    found.min(1 << 20).saturating_sub(chance(a_total) + chance(b_total))
}

/// 2^((2k+1)/8) for k = 0…3, with 63 fraction bits: the bounds between quarter octaves, rounded to nearest.
const QUARTERS: [u64; 4] = [0x8B95_C1E3_EA8B_D6E6, 0xA5FE_D6A9_B151_38EA, 0xC567_2A11_5506_DADD, 0xEAC0_C6E7_DD24_392E];

/// 4 · log2(x) rounded to the nearest integer, by comparison; 0 for 0.
#[inline]
#[must_use]
#[allow(clippy::cast_possible_wrap)]
pub fn quarter_log2(x: u64) -> i32 {
    if x == 0 {
        return 0;
    }
    let n = 63 - x.leading_zeros();
    let mantissa = x << (63 - n);
    let quarters = QUARTERS.iter().filter(|&&q| mantissa >= q).count();
    4 * n as i32 + quarters as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_close() {
        for x in [1u64, 2, 3, 5, 7, 100, 4095, 4096, 65_537, 1 << 40, u64::MAX] {
            let exact = (x as f64).log2();
            assert!((log2(x) as f64 / 65536.0 - exact).abs() < 1e-4, "{x}");
            assert_eq!(quarter_log2(x), (4.0 * exact).round() as i32, "{x}");
        }
        assert_eq!(entropy(&[1, 1, 2]), 6 << 16);
        assert_eq!(entropy(&[7, 0]), 0);
        let many = 1 << 20;
        assert!(divergence(&[3 * many, 0], &[0, 5 * many]).abs_diff(1 << 20) < 4);
        assert!(divergence(&[300 * many, 200 * many, 500 * many], &[3, 2, 5]) < 4);
        // H(3/4, 1/4) − 1/2.
        assert!(divergence(&[many, 0], &[many, many]).abs_diff(326_391) < 64);
    }
}
