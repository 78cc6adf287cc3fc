//! Element types from the bytes alone, where no container tells.

use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::encode::choose::sampled;
use crate::encode::choose::shift;
use crate::encode::estimate::{self, Run, coding};
use crate::encode::kind::trailing_zeros;
use crate::encode::workspace::Workspace;

/// What a stretch of content seems to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// Element type.
    pub element: ElementType,
    /// Content offset of the first element, modulo the width.
    pub phase: u8,
}

impl Guess {
    /// Bytes from content offset `offset` to the next element.
    #[must_use]
    pub fn phase(self, offset: u64) -> usize {
        let width = self.element.width() as u64;
        #[allow(clippy::cast_possible_truncation)]
        {
            ((u64::from(self.phase) + width - offset % width) % width) as usize
        }
    }
}

/// Types that are tried, the likeliest first.
const CANDIDATES: [ElementType; 8] = [
    ElementType::Bytes,
    ElementType::Bf16,
    ElementType::F16,
    ElementType::F32,
    ElementType::F64,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
];

/// Bytes looked at in a segment.
const SAMPLE: usize = 1 << 13;

/// Bytes to type together from a content offset on: less at the beginning, where headers are.
#[must_use]
pub fn segment(offset: u64) -> usize {
    if offset < 1 << 20 { 1 << 17 } else { 1 << 20 }
}

/// The type under which the bytes, from content offset `offset` on, would take least with these `reference` bytes beside them (as many as there are).
#[must_use]
pub fn guess(content: &[u8], reference: &[u8], before: Option<Guess>, offset: u64) -> Guess {
    let mut best = (u64::MAX, Guess { element: ElementType::Bytes, phase: 0 });
    let mut workspace = Workspace::default();
    for element in CANDIDATES {
        let width = element.width();
        for phase in 0..width {
            let cost = estimate(element, phase, content, reference, &mut workspace);
            // A change of type must pay.
            #[allow(clippy::cast_possible_truncation)]
            let guess = Guess { element, phase: ((offset + phase as u64) % width as u64) as u8 };
            let cost = if before == Some(guess) { cost - cost / 64 } else { cost };
            if cost < best.0 {
                best = (cost, guess);
            }
        }
    }
    best.1
}

/// Cost per byte, about, of the content as elements of a type from a phase on.
fn estimate(element: ElementType, phase: usize, content: &[u8], reference: &[u8], workspace: &mut Workspace) -> u64 {
    let width = element.width();
    let pieces = if content.len() > SAMPLE { 4 } else { 1 };
    let length = content.len().min(SAMPLE) / pieces;
    let mut runs = Vec::new();
    for k in 0..pieces {
        let start = ((content.len() - length) / pieces.max(2) * k) & !63;
        let start = (start + phase).min(content.len());
        let end = content.len().min(start + length);
        let end = start + (end - start) / width * width;
        let reference = reference.get(start..end).unwrap_or(&[]).to_vec();
        runs.push(Run { next: content[start..end].to_vec(), reference, profiles: Vec::new() });
    }
    let elements = sampled(&runs, element);
    if elements == 0 {
        return u64::MAX;
    }
    let zeros = runs.iter().map(|r| trailing_zeros(&r.next, element)).min().unwrap_or(0);
    let covered = runs.iter().all(|r| r.reference.len() == r.next.len());
    let mut least = u64::MAX;
    for model in [Model::Plain, Model::Residual] {
        if model == Model::Residual && !covered {
            continue;
        }
        let mut coding = coding(model, element, shift(element, zeros), &runs);
        coding.block = if element == ElementType::Bytes { 0 } else { 8 };
        least = least.min(estimate::estimate(&coding, &runs, elements as u64, workspace));
    }
    least / (elements * width) as u64
}
