//! The entropy-coded methods (spec §8), without their numbers.

/// How the entropy-coded methods make elements of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Residuals against the reference.
    Residual,
    /// Sets of changed elements, then their residuals.
    Mask,
    /// No reference.
    Plain,
}
