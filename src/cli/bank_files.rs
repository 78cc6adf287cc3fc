//! Bank files given with `--bank`.

use std::io::Read;
use std::sync::Arc;

use ulpack::BankFile;

use super::failure::Failure;
use super::input::{Forward, Opened};
use super::options::Source;

/// More than any bank file has: what is longer need not be read to its end.
const LONGEST: u64 = (4 << 20) + 1;

/// Reads a bank file.
pub(super) fn load(source: &Source) -> Result<BankFile, Failure> {
    let subject = source.subject();
    let mut bytes = Vec::new();
    let mut file = Forward::new(Opened::open(source)?).take(LONGEST);
    file.read_to_end(&mut bytes).map_err(|error| Failure::io(&subject, &error))?;
    BankFile::parse(&bytes).map_err(|error| Failure::library(&subject, &error))
}

/// Reads all of them.
pub(super) fn load_all(sources: &[Source]) -> Result<Vec<Arc<BankFile>>, Failure> {
    sources.iter().map(|source| load(source).map(Arc::new)).collect()
}

/// The one that an encoder can use.
pub(super) fn only(sources: &[Source]) -> Result<Option<Arc<BankFile>>, Failure> {
    match sources {
        [] => Ok(None),
        [source] => load(source).map(|file| Some(Arc::new(file))),
        _ => Err(Failure::usage("--bank is given twice; one bank file is used to compress")),
    }
}

/// A digest as people write it.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
