//! Banks made from sample contents (coding-model §5).

use std::io::{self, Read};

use crate::encode::train::{Learned, Setup, Training};
use crate::error::Result;
use crate::stream::encoder::Encoder;
use crate::stream::options::EncoderOptions;
use crate::stream::reference::Reference;
use crate::wire::bank_file::BankFile;

/// Makes a bank file from sample contents, with and without references.
///
/// ```no_run
/// # fn main() -> ulpack::Result<()> {
/// use ulpack::{EncoderOptions, Reference, Trainer, Training};
/// let mut trainer = Trainer::new(Training::default());
/// let open = |name| std::fs::File::open(name);
/// trainer.add(open("next.bin")?, &EncoderOptions::default(), Vec::new())?;
/// trainer.add(open("next.bin")?, &EncoderOptions::default(), vec![Reference::File(open("prev.bin")?)])?;
/// let (file, _) = trainer.finish()?;
/// std::fs::write("b.ulpbank", file.bytes())?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Trainer {
    learned: Learned,
}

impl Trainer {
    /// A trainer that has seen nothing.
    #[must_use]
    pub fn new(training: Training) -> Self {
        Self { learned: Learned::new(training) }
    }

    /// Learns from a content, coded as an encoder with these options would code it against the references.
    ///
    /// # Errors
    /// Reading failed, or the options contradict each other. What was learned before is lost.
    pub fn add(&mut self, mut content: impl Read, options: &EncoderOptions, references: Vec<Reference>) -> Result<()> {
        let mut encoder = Encoder::new(io::sink(), options.clone(), references)?;
        let empty = self.learned.empty();
        encoder.learn(std::mem::replace(&mut self.learned, empty));
        io::copy(&mut content, &mut encoder)?;
        if let Some(learned) = encoder.finish_learning()? {
            self.learned = learned;
        }
        Ok(())
    }

    /// Makes the banks, and tells where the time went.
    ///
    /// # Errors
    /// Nothing has been learned.
    pub fn finish(self) -> Result<(BankFile, Setup)> {
        self.learned.finish()
    }
}
