//! References: regular files are read by position, anything else as a pipe.

use ulpack::{Reference, container};

use super::failure::Failure;
use super::identity::Identity;
use super::input::{Forward, Opened};
use super::options::Source;
use super::platform;

/// The references in their order, and what they must not be the same as.
pub(super) struct References {
    pub(super) list: Vec<Reference>,
    identities: Vec<Identity>,
    /// Name in messages of the only one, or of all.
    pub(super) subject: String,
}

impl References {
    /// Opens all references.
    pub(super) fn open(sources: &[Source]) -> Result<Self, Failure> {
        let mut references = Self {
            list: Vec::new(),
            identities: Vec::new(),
            subject: match sources {
                [only] => only.subject(),
                _ => String::from("reference"),
            },
        };
        let files: Vec<Source> = sources.iter().map(files).collect::<Result<Vec<_>, _>>()?.concat();
        for source in &files {
            let mut opened = Opened::open(source)?;
            references.identities.extend(platform::identity(&opened.metadata));
            // Standard input that somebody has read from begins where they stopped.
            let reference = match opened.position() {
                Some(0) => Reference::File(opened.file),
                _ => Reference::Pipe(Box::new(Forward::new(opened))),
            };
            references.list.push(reference);
        }
        Ok(references)
    }

    /// All that the output must not be: the references and the input.
    pub(super) fn with(&self, input: Option<Identity>) -> Vec<Identity> {
        self.identities.iter().copied().chain(input).collect()
    }
}

/// The files that one `--ref` stands for: those of a directory, the shards of an index, else itself.
fn files(source: &Source) -> Result<Vec<Source>, Failure> {
    let Source::File(path) = source else {
        return Ok(vec![source.clone()]);
    };
    let found = container::directory::files(path).map_err(|error| Failure::io(&source.subject(), &error))?;
    if found.is_empty() {
        return Err(Failure::about(&source.subject(), "is a directory without files"));
    }
    Ok(found.into_iter().map(Source::File).collect())
}
