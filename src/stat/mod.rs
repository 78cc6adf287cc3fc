//! Measurements of checkpoints: what the papers on checkpoint deltas measure, for one's own files.
//!
//! [`measure`] pairs the tensors of a checkpoint with those of the one before, counts, and tells for each tensor and for all together how long residuals
//! are, what the reference's exponent and λ say about that, which bits move, and what several models would take. Nothing here touches the format: figures
//! are floating point, and no encoder depends on them.
//!
//! Models other than this one are **adaptive code lengths**: p = (c + 0.05) / (t + 0.05 K), counts never decay, K symbols, no cost of tables. That flatters
//! them. What stands under `ulp` is real: the bytes of a stream of that tensor alone, banks and all.
//!
//! - `xor_bound`: order-0 entropy of each byte plane of next XOR reference; no byte coder of XOR planes without contexts does better.
//! - `fm_delta`: the model of FM-Delta: length and sign of the difference of ordered integers, the other bits raw.
//! - `no_exponent`: length, one raw sign bit, two refinement bits under length and prefix, the rest raw.
//! - `ulpack`: the model of the `ULPack` paper: the same, lengths and refinements under the exponent of the reference.
//! - `exponents`, without a reference: exponents by their own frequencies, sign and mantissa raw.

mod code_length;
mod counts;
mod measure;
mod pairs;
#[cfg(feature = "plot")]
mod plot;
mod report;

pub use measure::{StatOptions, measure};
#[cfg(feature = "plot")]
pub use plot::plot;
pub use report::{BitActivity, FileReport, Origin, Plain, Report, Residuals, Sizes, TensorReport, Total};
