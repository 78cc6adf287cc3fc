//! Which exponents have plain tokens of their own.

use std::ops::Range;

use crate::core::plain::PlainForm;

/// Narrows the window of relative exponents to those that are worth a token: every token of a complete table costs all others a little, and ESC is there
/// for what is rare. `totals`: how often each token occurs. Gives the relative exponents that keep their tokens, and the form without the others.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn narrow(form: PlainForm, totals: &[u64; 256]) -> (Range<usize>, PlainForm) {
    /// Bits that ESC takes more than a token, about.
    const ESCAPE: u64 = 16;
    let each = 1usize << (u8::from(form.sign) + u8::from(form.top));
    let counts: Vec<u64> = (0..usize::from(form.window))
        .map(|r| totals.get(2 + r * each..2 + (r + 1) * each).map_or(0, |tokens| tokens.iter().sum()))
        .collect();
    // A frequency of 1 in 4096 for each token of an exponent costs each element so much.
    let all: u64 = counts.iter().sum();
    let worth = |count: u64| count * ESCAPE > all * each as u64 * 3 / 2 / 4096;
    // The token of λ itself stays: its place is no negative number.
    let low = counts.iter().position(|&c| worth(c)).unwrap_or(0).min(form.centre.into());
    let high = counts.iter().rposition(|&c| worth(c)).unwrap_or(low).max(low);
    let narrowed = PlainForm { centre: form.centre.saturating_sub(low as u8), window: (high - low + 1) as u8, ..form };
    (low..high + 1, narrowed)
}
