//! How the elements of a kind are coded: what an encoder chooses.

use crate::core::bank::TokenClass;
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::core::pairs::PairTokens;
use crate::core::plain::PlainTokens;
use crate::core::token::{ESC, LengthTokens};
use crate::encode::normalise::Escape;
use crate::kernel::encode::Clip;

/// How the elements of a kind are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    /// RESIDUAL, MASK or PLAIN.
    pub model: Model,
    /// Element type.
    pub element: ElementType,
    /// Low bits dropped: zero in every element.
    pub shift: u8,
    /// log2 of the block length, 0 for the whole substream.
    pub block: u8,
    /// Meaning of the element symbols; fits model and element type.
    pub class: TokenClass,
    /// Changes of scale, in quarter octaves, that are not worth a symbol.
    pub hold: i32,
    /// How distances count from which the scales come.
    pub clip: Option<Clip>,
}

impl Coding {
    /// Raw bits after each token.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn raw_bits(&self) -> [u8; 256] {
        let mut bits = [0; 256];
        let lengths = LengthTokens::new(self.element.width(), self.shift);
        let plain = match self.class {
            TokenClass::Plain(form) => PlainTokens::new(self.element, self.shift, form),
            _ => None,
        };
        let pairs = match self.class {
            TokenClass::Pairs(form) => PairTokens::new(self.element, self.shift, form),
            _ => None,
        };
        let most = 8 * self.class.elements() * self.element.width();
        for (token, bits) in (0..=255u8).zip(&mut bits) {
            let n = match (plain, pairs) {
                (Some(plain), _) => plain.raw_bits(token),
                (_, Some(pairs)) => pairs.raw_bits(token),
                _ => lengths.raw_bits(token),
            };
            // Tokens that no element has may claim more than there is.
            *bits = n.min(most as u32) as u8;
        }
        bits
    }

    /// The first of the two ESC tokens for elements whose own tokens have no frequency; `None` where the class has none.
    #[must_use]
    pub fn escape(&self) -> Option<u8> {
        (self.class == TokenClass::Length2).then_some(ESC)
    }

    /// The same with what it costs.
    #[must_use]
    pub fn escape_cost(&self) -> Option<Escape> {
        let first = self.escape()?;
        let bits = self.raw_bits();
        let of_escape = bits.get(usize::from(first)).copied().unwrap_or(0);
        Some(Escape { first, more: bits.map(|bits| of_escape.saturating_sub(bits)) })
    }

    /// Element symbols that there may be: 0 … `symbols` − 1, and ESC.
    #[must_use]
    pub fn symbols(&self) -> usize {
        let bits = (8 * self.element.width()).saturating_sub(self.shift.into()).clamp(1, 64);
        match self.class {
            TokenClass::Plain(_) | TokenClass::Pairs(_) => self.class.alphabet(),
            _ => usize::from(LengthTokens::new(self.element.width(), self.shift).token(u64::MAX >> (64 - bits))) + 1,
        }
    }
}
