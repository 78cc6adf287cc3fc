//! Passing over a long header piece by piece, so that none of it needs to be held.

/// What one look at the bytes brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    /// So many bytes are done with; they may reach beyond those at hand.
    Took(u64),
    /// So many bytes must be at hand.
    Need(usize),
    /// So many bytes are done with, and they are the last.
    Done(u64),
    /// This is not what it seemed to be.
    Surprise,
}

/// Repeats looks at the bytes until more are needed.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// A surprise that is still to be told: the bytes before it come first, whatever the portions in which they came.
    broken: bool,
}

impl Walk {
    /// Takes looks at `input`, each at the bytes behind those of the last one, and returns all they took together. A look that passes over more than
    /// `most` bytes is a surprise.
    pub(super) fn step(&mut self, input: &[u8], most: usize, mut look: impl FnMut(&[u8]) -> Advance) -> Advance {
        if self.broken {
            return Advance::Surprise;
        }
        let mut took = 0u64;
        loop {
            let rest = usize::try_from(took).ok().and_then(|n| input.get(n..));
            let Some(rest) = rest else {
                return Advance::Took(took);
            };
            match look(rest) {
                Advance::Took(n) if n <= most as u64 => took = took.saturating_add(n),
                Advance::Done(n) => return Advance::Done(took.saturating_add(n)),
                Advance::Need(n) if took == 0 => return Advance::Need(n),
                Advance::Need(_) => return Advance::Took(took),
                Advance::Took(_) | Advance::Surprise => {
                    self.broken = true;
                    return if took == 0 { Advance::Surprise } else { Advance::Took(took) };
                }
            }
        }
    }
}
