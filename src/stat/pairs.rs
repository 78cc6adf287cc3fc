//! Which tensor goes with which, and where their bytes are.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::container::TypedSpan;
use crate::container::directory::{FileLayout, files, layouts};
use crate::core::convert::convert;
use crate::core::element::ElementType;
use crate::error::{Error, Result};
use crate::limits::MAX_REFERENCES;
use crate::matching::{Catalog, Matcher};

/// A stretch of a file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) element: ElementType,
}

impl Place {
    /// Its bytes.
    pub(super) fn open(&self) -> io::Result<io::Take<BufReader<File>>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        Ok(BufReader::with_capacity(1 << 16, file).take(self.bytes))
    }

    /// Its elements as `element`.
    pub(super) fn open_as(&self, element: ElementType) -> io::Result<Converted> {
        Ok(Converted { inner: self.open()?, from: self.element, to: element, ready: Vec::new(), taken: 0 })
    }
}

/// A tensor and its counterpart.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
    pub(super) columns: u32,
    pub(super) next: Place,
    /// As many elements.
    pub(super) reference: Option<Place>,
}

/// All files of a checkpoint, and the tensors in them with their counterparts in the references.
pub(super) fn pairs(
    next: &Path,
    references: &[PathBuf],
    whole: Option<ElementType>,
) -> Result<(Vec<PathBuf>, Vec<Pair>)> {
    let nexts = files(next)?;
    let mut references = references.iter().map(|path| files(path)).collect::<io::Result<Vec<_>>>()?.concat();
    if let Some(element) = whole {
        let [next] = nexts.as_slice() else {
            return Err(Error::Usage(String::from("a type for all numbers goes with one file, not with a directory")));
        };
        let place = |path: &PathBuf| -> Result<Place> {
            let bytes = path.metadata()?.len() / element.width() as u64 * element.width() as u64;
            Ok(Place { path: path.clone(), offset: 0, bytes, element })
        };
        references.truncate(1);
        let mut next = place(next)?;
        let reference = references.first().map(place).transpose()?;
        if let Some(reference) = &reference {
            next.bytes = next.bytes.min(reference.bytes);
        }
        let reference = reference.map(|place| Place { bytes: next.bytes, ..place });
        let pair = Pair { name: String::from("(all)"), shape: Vec::new(), columns: 0, next, reference };
        return Ok((nexts, vec![pair]));
    }
    if references.len() > MAX_REFERENCES {
        return Err(Error::Usage(format!("{} files to refer to, at most {MAX_REFERENCES} can be", references.len())));
    }
    let mut catalog = Catalog::default();
    let references = layouts(&references)?;
    for (index, file) in (0u8..).zip(&references) {
        catalog.add(index, file.layout.tensors());
    }
    let mut matcher = Matcher::new(catalog);
    let mut pairs = Vec::new();
    for file in layouts(&nexts)? {
        let tensors = file.layout.tensors().filter(|span| span.known && span.within == 0 && span.length > 0);
        pairs.extend(tensors.map(|span| pair(&file, span, &mut matcher, &references)));
    }
    Ok((nexts, pairs))
}

fn pair(file: &FileLayout, span: &TypedSpan, matcher: &mut Matcher, references: &[FileLayout]) -> Pair {
    let width = |element: ElementType| element.width() as u64;
    let elements = span.length / width(span.element);
    // Of several the first: names decide, then the order.
    let reference = matcher.candidates(span).into_iter().find_map(|candidate| {
        let bytes = elements * width(candidate.element);
        let file = references.get(usize::from(candidate.reference))?;
        (candidate.available >= bytes).then(|| Place {
            path: file.path.clone(),
            offset: candidate.offset,
            bytes,
            element: candidate.element,
        })
    });
    let tensor = span.tensor.as_deref();
    Pair {
        name: tensor.map(ToString::to_string).unwrap_or_default(),
        shape: tensor.map(|t| t.shape.to_vec()).unwrap_or_default(),
        columns: span.columns,
        next: Place { path: file.path.clone(), offset: span.offset, bytes: span.length, element: span.element },
        reference,
    }
}

/// Elements of one type read as another.
pub(super) struct Converted {
    inner: io::Take<BufReader<File>>,
    from: ElementType,
    to: ElementType,
    ready: Vec<u8>,
    taken: usize,
}

impl Read for Converted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.from == self.to {
            return self.inner.read(buffer);
        }
        if self.taken >= self.ready.len() {
            let mut bytes = Vec::new();
            (&mut self.inner).take(self.from.width() as u64 * (1 << 14)).read_to_end(&mut bytes)?;
            self.ready = convert(&bytes, self.from, self.to).into_owned();
            self.taken = 0;
        }
        let rest = self.ready.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        Ok(count)
    }
}
