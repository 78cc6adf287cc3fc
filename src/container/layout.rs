//! The layout of a whole file: what a reference holds, and where.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::dcp::Part;
use super::reader::LayoutReader;
use super::span::TypedSpan;

/// Bytes to read at once; gaps shorter than that are read rather than skipped.
const PORTION: usize = 1 << 16;

/// All spans of a file, in its order.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    spans: Vec<TypedSpan>,
    length: u64,
}

impl Layout {
    /// Reads the layout of a seekable source from its start, passing over the tensors.
    ///
    /// # Errors
    /// Those of the source; whatever its bytes are, they have a layout.
    pub fn of_file<S: Read + Seek>(source: &mut S) -> io::Result<Self> {
        let length = source.seek(SeekFrom::End(0))?;
        source.rewind()?;
        let mut reader = LayoutReader::new();
        let mut portion = vec![0; PORTION];
        loop {
            let skip = reader.skippable().min(length.saturating_sub(reader.position()));
            if skip > PORTION as u64 {
                reader.skip(skip);
                source.seek(SeekFrom::Start(reader.position()))?;
            }
            let n = match source.read(&mut portion) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            reader.push(portion.get(..n).unwrap_or_default());
        }
        reader.finish();
        Ok(Self::of_reader(&mut reader))
    }

    /// The layout that a finished reader has, where nothing has been taken from it.
    #[must_use]
    pub fn of_reader(reader: &mut LayoutReader) -> Self {
        let spans = reader.take(reader.position());
        let length = reader.position();
        let mut layout = Self { spans, length };
        layout.apply(reader.take_late());
        layout
    }

    /// All spans: they cover the file without gap or overlap.
    #[must_use]
    pub fn spans(&self) -> &[TypedSpan] {
        &self.spans
    }

    /// The spans that belong to tensors.
    pub fn tensors(&self) -> impl Iterator<Item = &TypedSpan> {
        self.spans.iter().filter(|span| span.tensor.is_some())
    }

    /// Length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Gives tensors the names of the parts of the file that they are in. The parts are sorted by offset.
    pub(super) fn name_parts(&mut self, parts: &[Part]) {
        for span in &mut self.spans {
            let Some(tensor) = &mut span.tensor else {
                continue;
            };
            let after = parts.partition_point(|part| part.offset <= span.offset);
            let part = after.checked_sub(1).and_then(|i| parts.get(i));
            if let Some(part) = part
                && span.offset - part.offset < part.length
            {
                let tensor = Arc::make_mut(tensor);
                tensor.name = if tensor.name.is_empty() {
                    part.name.as_str().into()
                } else {
                    format!("{}.{}", part.name, tensor.name).into()
                };
            }
        }
    }

    /// Gives tensors the types that were found only behind them.
    fn apply(&mut self, late: Vec<TypedSpan>) {
        let late: HashMap<_, _> = late
            .into_iter()
            .filter_map(|span| {
                let tensor = span.tensor.clone()?;
                Some(((tensor.path.clone(), tensor.name.clone()), span))
            })
            .collect();
        for span in &mut self.spans {
            let Some(tensor) = span.tensor.as_deref() else {
                continue;
            };
            let Some(found) = late.get(&(tensor.path.clone(), tensor.name.clone())) else {
                continue;
            };
            let length = tensor.length.unwrap_or(span.length);
            if !span.known
                && span.within == 0
                && span.length == length
                && found.length == length
                && length.is_multiple_of(found.width())
            {
                span.known = true;
                span.element = found.element;
                span.columns = found.columns;
                span.tensor = found.tensor.clone();
            }
        }
    }
}
