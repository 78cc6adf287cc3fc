//! What [`measure`](super::measure()) tells. Sizes are bytes, entropies and lengths bits per element, shares 0 … 1. As JSON the names are those of the fields.

use serde::{Serialize, Serializer};

use crate::core::element::ElementType;

fn name<S: Serializer>(element: &ElementType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element.name())
}

/// Measurements of a checkpoint.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Tensors in the order of their files.
    pub tensors: Vec<TensorReport>,
    /// All tensors of one element type together, the largest first. Models share what they have learnt.
    pub types: Vec<TensorReport>,
    /// All of it.
    pub total: Total,
    /// The files, with what `ulp` makes of them.
    pub files: Vec<FileReport>,
}

/// One file of the checkpoint.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct FileReport {
    /// Its path, as given.
    pub path: String,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of its stream, against all references.
    pub ulp: u64,
}

/// Sums over all tensors.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// Tensors.
    pub tensors: usize,
    /// Tensors that have a counterpart.
    pub matched: usize,
    /// Elements of all tensors.
    pub elements: u64,
    /// Bytes of all tensors.
    pub bytes: u64,
    /// Share of the elements with a counterpart that differ from it.
    pub changed: Option<f64>,
    /// Bytes under each model, types apart; those without counterpart by their exponents. `ulp` is that of the files, whole.
    pub sizes: Sizes,
}

/// Measurements of a tensor, or of all tensors of a type.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TensorReport {
    /// The container's name of it; the type's name for all tensors of a type.
    pub name: String,
    /// Element type.
    #[serde(serialize_with = "name")]
    pub element: ElementType,
    /// Dimensions; empty for scalars and for all tensors of a type.
    pub shape: Vec<u64>,
    /// Number of elements.
    pub elements: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where its counterpart is.
    pub reference: Option<Origin>,
    /// The elements by themselves; of floats only.
    pub plain: Option<Plain>,
    /// Against the counterpart.
    pub residuals: Option<Residuals>,
    /// Bytes under each model.
    pub sizes: Sizes,
}

/// A tensor's counterpart.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Origin {
    /// The file.
    pub path: String,
    /// Offset of the first element in it.
    pub offset: u64,
    /// Element type there; converted first where it is another.
    #[serde(serialize_with = "name")]
    pub element: ElementType,
}

/// Floats by themselves.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plain {
    /// Entropy of exponents.
    pub exponent_entropy: f64,
    /// Entropy of signs.
    pub sign_entropy: f64,
    /// Entropy of the top mantissa bit given the exponent.
    pub top_mantissa_entropy: f64,
    /// Elements by exponent field, up to the largest that occurs.
    pub exponents: Vec<u64>,
}

/// Residuals: next − reference, both as integers in value order.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Residuals {
    /// Share of the elements that differ.
    pub changed: f64,
    /// H(b): entropy of b, the length of |residual| in bits, 0 for equal elements.
    pub length_entropy: f64,
    /// I(b; exponent of the reference). As with every such estimate few elements make it too large: by about (lengths − 1) (exponents − 1) / 1.39 elements.
    pub information_exponent: f64,
    /// I(b; λ), λ with a scale for each 256 elements. The scales are not free: see `scale_bits`.
    pub information_lambda: f64,
    /// What the scales take, in bits per element.
    pub scale_bits: f64,
    /// I(b; exponent) / H(b).
    pub conditioning_gain: f64,
    /// Share of the `ulpack` size that is bits below the refinement bits, which no model of these touches.
    pub tail_share: f64,
    /// Number of elements by exponent field of the reference (outer) and length (inner), trailing zeros left out: the papers' Figure 1.
    pub lengths: Vec<Vec<u64>>,
    /// How often bits are set.
    pub bits: BitActivity,
}

/// Share of elements in which a bit is set, from the lowest bit to the highest.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BitActivity {
    /// In next XOR reference.
    pub xor: Vec<f64>,
    /// In |residual|.
    pub ordered: Vec<f64>,
}

/// Bytes under each model; see the [module](super) for what they are.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Sizes {
    /// Order-0 entropy of each byte plane of next XOR reference.
    pub xor_bound: Option<u64>,
    /// FM-Delta.
    pub fm_delta: Option<u64>,
    /// Lengths without exponents.
    pub no_exponent: Option<u64>,
    /// `ULPack`.
    pub ulpack: Option<u64>,
    /// Exponents by themselves, without a reference.
    pub exponents: Option<u64>,
    /// This format, streams as they are.
    pub ulp: u64,
}
