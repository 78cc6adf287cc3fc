//! Rows of 32 lanes, decoded by vector instructions (spec §10, §11). Their scalar twins are in `decode::rows` and `decode::substream`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod coder;
mod constants;
mod elements;
mod mask;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pairs;
mod row;
mod run;
mod vector;

use std::mem::{Discriminant, discriminant};

use crate::core::bank::{DecodeBank, TokenClass};
use crate::core::element::ElementType;
use crate::core::lanes::Lanes;
use crate::core::model::Model;
use crate::error::Result;
use crate::kernel::Kernel;
use vector::{Task, Vector};

/// Lanes of a row: other numbers of lanes have no kernels.
pub const ROW: usize = 32;
/// Elements of a whole row of groups in MASK.
pub const ROW_OF_GROUPS: usize = mask::ROW_OF_GROUPS;

/// What the elements of a substream are made from.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// RESIDUAL, MASK or PLAIN.
    pub model: Model,
    /// Element type.
    pub element: ElementType,
    /// Low bits dropped.
    pub shift: u8,
    /// log2 of the block length, 5 or more; 0 for the whole substream.
    pub block: u8,
    /// Scale of each block, [`ZERO_BLOCK`] for ZERO blocks.
    pub scales: &'a [i32],
    /// Tables.
    pub bank: &'a DecodeBank,
    /// Profile value of each element, or empty for zeros.
    pub profiles: &'a [i8],
    /// As many elements as are decoded; empty for PLAIN.
    pub reference: &'a [u8],
}

/// Scale of a ZERO block.
pub const ZERO_BLOCK: i32 = i32::MIN;

/// Runs `$body` with `$kind` and `$width` standing for the shape of a substream.
macro_rules! with_shape {
    ($rows:expr, $kind:ident, $width:ident => $body:expr) => {{
        macro_rules! shape {
            ($k:expr, $w:expr) => {{
                const $kind: u8 = $k;
                const $width: usize = $w;
                $body
            }};
        }
        macro_rules! widths {
            ($k:expr) => {
                match $rows.element.width() {
                    1 => shape!($k, 1),
                    2 => shape!($k, 2),
                    4 => shape!($k, 4),
                    _ => shape!($k, 8),
                }
            };
        }
        match ($rows.model, $rows.bank.class) {
            (Model::Plain, TokenClass::Plain(_)) => widths!(run::FLOATS),
            (Model::Plain, TokenClass::Pairs(_)) if $rows.element.width() == 2 => shape!(run::PAIRS, 2),
            (Model::Plain, TokenClass::Pairs(_)) => shape!(run::PAIRS, 4),
            (Model::Plain, _) => widths!(run::INTEGERS),
            _ => widths!(run::RESIDUAL),
        }
    }};
}

/// Decodes all whole rows outside ZERO blocks; what lies in ZERO blocks and behind the last whole row is left as it is.
///
/// # Errors
/// As the scalar code: ULP-ENT-03, ULP-PLN-01, 02.
pub fn decode_rows(engine: Engine, rows: &Rows<'_>, lanes: &mut Lanes<'_>, out: &mut [u8]) -> Result<()> {
    with_shape!(rows, KIND, WIDTH => engine.enter(run::Single::<KIND, WIDTH> { rows, lanes, out }))
}

/// MASK: decodes the whole rows of 32 groups outside ZERO blocks and appends the places of the elements that differ.
///
/// # Errors
/// ULP-ENT-03.
pub fn decode_groups(engine: Engine, rows: &Rows<'_>, lanes: &mut Lanes<'_>, changed: &mut Vec<u32>) -> Result<()> {
    engine.enter(mask::Groups { rows, lanes, changed })
}

/// MASK: decodes the elements at the places in `changed`, whole rows of 32.
///
/// # Errors
/// ULP-ENT-03, ULP-PLN-02.
pub fn decode_changed(
    engine: Engine,
    rows: &Rows<'_>,
    lanes: &mut Lanes<'_>,
    changed: &[u32],
    out: &mut [u8],
) -> Result<()> {
    match rows.element.width() {
        1 => engine.enter(mask::Changed::<1> { rows, lanes, changed, out }),
        2 => engine.enter(mask::Changed::<2> { rows, lanes, changed, out }),
        4 => engine.enter(mask::Changed::<4> { rows, lanes, changed, out }),
        _ => engine.enter(mask::Changed::<8> { rows, lanes, changed, out }),
    }
}

/// Rows, lanes and output of a substream.
pub type Substream<'t, 'r, 'l> = (&'t Rows<'r>, &'t mut Lanes<'l>, &'t mut [u8]);

/// Decodes two substreams side by side, which takes less time than one after the other: each row of a substream waits for the row before.
pub fn decode_two<'l>(engine: Engine, first: Substream<'_, '_, 'l>, second: Substream<'_, '_, 'l>) -> [Result<()>; 2] {
    if first.0.shape() != second.0.shape() {
        return [first, second].map(|(rows, lanes, out)| decode_rows(engine, rows, lanes, out));
    }
    with_shape!(first.0, KIND, WIDTH => {
        let pair = [first, second].map(|(rows, lanes, out)| run::Single::<KIND, WIDTH> { rows, lanes, out });
        engine.enter(run::Pair(pair))
    })
}

impl Rows<'_> {
    /// Substreams of the same shape run the same code.
    fn shape(&self) -> (Model, Discriminant<TokenClass>, usize) {
        (self.model, discriminant(&self.bank.class), self.element.width())
    }
}

/// A kernel that this machine can run.
#[derive(Clone, Copy)]
pub struct Engine(Instructions);

#[derive(Clone, Copy)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
}

impl Engine {
    /// The vector kernel of that name; `None` where there is none or the machine cannot run it, and scalar code has to do.
    #[must_use]
    pub fn new(kernel: Kernel) -> Option<Self> {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => avx512::Avx512::new().map(|s| Self(Instructions::Avx512(s))),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => avx2::Avx2::new().map(|s| Self(Instructions::Avx2(s))),
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => Some(Self(Instructions::Neon(neon::Neon::new()))),
            _ => None,
        }
    }

    #[inline(always)]
    fn enter<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(s) => s.enter(task),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(s) => s.enter(task),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon(s) => s.enter(task),
        }
    }
}
