//! Levels: how much an encoder looks for.

/// Aim of the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Speed (`-1`).
    Fast,
    /// The balance (`-5`).
    #[default]
    Default,
    /// Size (`-9`).
    Small,
}

impl Level {
    /// Block exponents tried for dense models; 0 is the whole substream.
    #[must_use]
    pub fn blocks(self) -> &'static [u8] {
        match self {
            Self::Fast => &[0, 8],
            Self::Default => &[0, 7, 8, 9, 10, 12],
            Self::Small => &[0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        }
    }

    /// Elements looked at for the decisions on a kind.
    #[must_use]
    pub fn sample(self) -> usize {
        match self {
            Self::Fast => 1 << 14,
            Self::Default => 1 << 17,
            Self::Small => 1 << 19,
        }
    }
}
