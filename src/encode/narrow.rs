//! Windows of relative exponents, narrowed to those that are worth tokens: every token of a complete table costs all others a little, and ESC is there for
//! what is rare.

use crate::core::bank::TokenClass;
use crate::core::pairs::{self, PairForm};
use crate::core::plain::{self, PlainForm};

/// Bits that ESC takes more than a token, about.
const ESCAPE: u64 = 16;

/// The class with the window that suits these counts of tokens, and the token of it that stands for each of the class before.
#[must_use]
pub fn narrow(class: TokenClass, counts: &[u64; 256]) -> (TokenClass, [u8; 256]) {
    match class {
        TokenClass::Plain(form) => {
            let (form, map) = narrow_plain(form, counts);
            (TokenClass::Plain(form), map)
        }
        TokenClass::Pairs(form) => {
            let (form, map) = narrow_pairs(form, counts);
            (TokenClass::Pairs(form), map)
        }
        TokenClass::Byte | TokenClass::Length2 | TokenClass::Length1 => (class, identity()),
    }
}

#[allow(clippy::cast_possible_truncation)]
fn identity() -> [u8; 256] {
    std::array::from_fn(|token| token as u8)
}

/// The first and the last exponent that is worth its `tokens`. A frequency of 1 in 4096 for each of them costs each of `all` so much.
fn worth(counts: &[u64], all: u64, tokens: u64, centre: u8) -> (usize, usize) {
    let worth = |count: u64| count * ESCAPE > all * tokens * 3 / 2 / 4096;
    // The place of λ itself stays: it is no negative number.
    let low = counts.iter().position(|&c| worth(c)).unwrap_or(0).min(centre.into());
    (low, counts.iter().rposition(|&c| worth(c)).unwrap_or(low).max(low))
}

#[allow(clippy::cast_possible_truncation)]
fn narrow_plain(form: PlainForm, counts: &[u64; 256]) -> (PlainForm, [u8; 256]) {
    let each = 1usize << (u8::from(form.sign) + u8::from(form.top));
    let of = |r: usize| counts.get(2 + r * each..2 + (r + 1) * each).map_or(0, |c| c.iter().sum());
    let exponents: Vec<u64> = (0..form.window.into()).map(of).collect();
    let (low, high) = worth(&exponents, exponents.iter().sum(), each as u64, form.centre);
    let mut map = identity();
    for (token, to) in map.iter_mut().enumerate().skip(2) {
        *to = if (low..=high).contains(&((token - 2) / each)) { (token - low * each) as u8 } else { plain::ESC };
    }
    (PlainForm { centre: form.centre - low as u8, window: (high - low + 1) as u8, ..form }, map)
}

#[allow(clippy::cast_possible_truncation)]
fn narrow_pairs(form: PairForm, counts: &[u64; 256]) -> (PairForm, [u8; 256]) {
    let window = usize::from(form.window);
    let pair = |token: usize| [(token - 1) / window, (token - 1) % window];
    let mut exponents = vec![0u64; window];
    let mut all = 0;
    for (token, count) in counts.iter().enumerate().take(form.alphabet()).skip(1) {
        let [first, second] = pair(token);
        exponents[first] += count;
        if second != first {
            exponents[second] += count;
        }
        all += count;
    }
    let (low, high) = worth(&exponents, all, 2 * window as u64 - 1, form.centre);
    let narrowed = high - low + 1;
    let mut map = [pairs::ESC; 256];
    for (token, to) in map.iter_mut().enumerate().take(form.alphabet()).skip(1) {
        let inside = |r: &usize| (low..=high).contains(r);
        let [first, second] = pair(token);
        if inside(&first) && inside(&second) {
            *to = (1 + (first - low) * narrowed + second - low) as u8;
        }
    }
    (PairForm { centre: form.centre - low as u8, window: narrowed as u8 }, map)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a narrowed token stands for is what it stood for before.
    #[test]
    fn tokens_keep_their_exponents() {
        let mut counts = [0u64; 256];
        for (token, count) in counts.iter_mut().enumerate().skip(1).take(225) {
            let [first, second] = [(token - 1) / 15, (token - 1) % 15];
            *count = if (3..9).contains(&first) && (3..9).contains(&second) { 100 } else { 0 };
        }
        let wide = PairForm { centre: 11, window: 15 };
        let (TokenClass::Pairs(form), map) = narrow(TokenClass::Pairs(wide), &counts) else { panic!() };
        assert_eq!(form, PairForm { centre: 8, window: 6 });
        for token in 1..226u8 {
            let relative = |form: PairForm, token: u8| {
                let (t, window) = (i32::from(token) - 1, i32::from(form.window));
                [t / window, t % window].map(|r| r - i32::from(form.centre))
            };
            match map[usize::from(token)] {
                pairs::ESC => assert_eq!(counts[usize::from(token)], 0),
                narrowed => assert_eq!(relative(form, narrowed), relative(wide, token)),
            }
        }
        let wide = PlainForm { sign: false, top: true, centre: 110, window: 127 };
        let mut counts = [0u64; 256];
        counts[200..230].fill(100);
        let (TokenClass::Plain(form), map) = narrow(TokenClass::Plain(wide), &counts) else { panic!() };
        assert_eq!(form, PlainForm { centre: 110 - 99, window: 15, ..wide });
        assert_eq!((map[0], map[1], map[199], map[200], map[229], map[230]), (0, 1, 1, 2, 31, 1));
    }
}
