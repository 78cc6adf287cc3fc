//! Layout (spec §6.1): kinds and spans, which type the output that follows.

use crate::core::element::ElementType;
use crate::error::{Error, Result};
use crate::limits::{MAX_KINDS, MAX_OFFSET, MAX_SPANS};
use crate::wire::fields::Fields;
use crate::wire::leb128;

/// What a span's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Element type.
    pub element: ElementType,
    /// Type and index of the reference.
    pub reference: Option<KindReference>,
}

/// The reference of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KindReference {
    /// Element type in the reference.
    pub element: ElementType,
    /// Index of the reference.
    pub index: u8,
}

/// A run of elements of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index into the Layout's kinds.
    pub kind: u8,
    /// First byte in the content.
    pub offset: u64,
    /// Number of elements.
    pub elements: u64,
    /// Profile slot.
    pub profile: Option<u16>,
    /// First byte of the reference range; 0 without reference.
    pub reference_offset: u64,
}

/// §6.1, with offsets worked out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Kinds, 1…64.
    pub kinds: Vec<Kind>,
    /// Spans, in output order without gap.
    pub spans: Vec<Span>,
}

/// Cursors of the expected reference offsets.
struct Cursors(Vec<u64>);

impl Cursors {
    fn new(references: u8, start: u64) -> Self {
        Self(vec![start; usize::from(references)])
    }

    fn expected(&self, index: u8) -> u64 {
        self.0.get(usize::from(index)).copied().unwrap_or(0)
    }

    fn advance(&mut self, own: Option<(u8, u64)>, bytes: u64) {
        for (i, cursor) in self.0.iter_mut().enumerate() {
            match own {
                Some((index, end)) if usize::from(index) == i => *cursor = end,
                _ => *cursor = cursor.saturating_add(bytes),
            }
        }
    }
}

impl Layout {
    /// Number of content bytes described.
    #[must_use]
    pub fn length(&self) -> u64 {
        match (self.spans.first(), self.spans.last()) {
            (Some(first), Some(last)) => last.offset + self.span_bytes(last) - first.offset,
            _ => 0,
        }
    }

    /// Kind of a span.
    #[must_use]
    pub fn kind_of(&self, span: &Span) -> Kind {
        self.kinds.get(usize::from(span.kind)).copied().unwrap_or(Kind { element: ElementType::Bytes, reference: None })
    }

    /// Output bytes of a span.
    #[must_use]
    pub fn span_bytes(&self, span: &Span) -> u64 {
        span.elements * self.kind_of(span).element.width() as u64
    }

    /// Parses the body (without CRC) of a Layout that begins at content offset `start` in a stream with so many references and profile slots.
    ///
    /// # Errors
    /// ULP-LAY-02 … 04.
    pub fn parse(body: &[u8], count: u16, start: u64, references: u8, profile_slots: u16) -> Result<Self> {
        let mut fields = Fields::new(body, "Layout");
        if count == 0 || usize::from(count) > MAX_KINDS {
            return Err(Error::Field { field: "kinds", value: count.into() });
        }
        let kinds = (0..count).map(|_| parse_kind(&mut fields, references)).collect::<Result<Vec<_>>>()?;
        let mut layout = Self { kinds, spans: Vec::new() };
        let mut cursors = Cursors::new(references, start);
        let mut offset = start;
        while !fields.rest().is_empty() {
            if layout.spans.len() == MAX_SPANS {
                return Err(Error::Field { field: "spans", value: MAX_SPANS as u64 + 1 });
            }
            let head = fields.u8()?;
            let number = head & 0x3F;
            let kind =
                *layout.kinds.get(usize::from(number)).ok_or(Error::Field { field: "kind", value: number.into() })?;
            let elements = leb128::read(&mut fields)?;
            let profile = if head & 0x80 != 0 {
                let slot = leb128::read(&mut fields)?;
                match u16::try_from(slot) {
                    Ok(slot) if slot < profile_slots => Some(slot),
                    _ => return Err(Error::Field { field: "profile slot", value: slot }),
                }
            } else {
                None
            };
            let bytes = extent(elements, kind.element)?;
            let end = below_max("output offset", offset.checked_add(bytes))?;
            let mut reference_offset = 0;
            let own = match kind.reference {
                Some(reference) => {
                    reference_offset = cursors.expected(reference.index);
                    if head & 0x40 != 0 {
                        let difference = leb128::read(&mut fields)?;
                        if difference == 0 {
                            return Err(Error::Field { field: "shift_of_reference", value: 0 });
                        }
                        let difference = leb128::unzigzag(difference);
                        reference_offset =
                            below_max("reference offset", reference_offset.checked_add_signed(difference))?;
                    }
                    let length = extent(elements, reference.element)?;
                    let reference_end = below_max("reference offset", reference_offset.checked_add(length))?;
                    Some((reference.index, reference_end))
                }
                None if head & 0x40 != 0 => {
                    return Err(Error::Field { field: "span head", value: head.into() });
                }
                None => None,
            };
            layout.spans.push(Span { kind: number, offset, elements, profile, reference_offset });
            cursors.advance(own, bytes);
            offset = end;
        }
        if layout.spans.is_empty() {
            return Err(Error::Field { field: "spans", value: 0 });
        }
        Ok(layout)
    }

    /// Appends the body, without CRC. The spans follow one another from `start`.
    pub fn write(&self, out: &mut Vec<u8>, start: u64, references: u8) {
        for kind in &self.kinds {
            let (element, index) = kind.reference.map_or((0, 0), |r| (r.element.id(), r.index));
            out.extend_from_slice(&[kind.element.id(), element, index, 0]);
        }
        let mut cursors = Cursors::new(references, start);
        for span in &self.spans {
            let kind = self.kind_of(span);
            let expected = kind.reference.map(|r| cursors.expected(r.index));
            #[allow(clippy::cast_possible_wrap)]
            let difference = expected.map_or(0, |e| span.reference_offset.wrapping_sub(e) as i64);
            let head = span.kind | u8::from(difference != 0) << 6 | u8::from(span.profile.is_some()) << 7;
            out.push(head);
            leb128::write(out, span.elements);
            if let Some(slot) = span.profile {
                leb128::write(out, slot.into());
            }
            if difference != 0 {
                leb128::write(out, leb128::zigzag(difference));
            }
            let own =
                kind.reference.map(|r| (r.index, span.reference_offset + span.elements * r.element.width() as u64));
            cursors.advance(own, self.span_bytes(span));
        }
    }
}

fn parse_kind(fields: &mut Fields<'_>, references: u8) -> Result<Kind> {
    let element = ElementType::from_id(fields.u8()?)?;
    let (reference, index, reserved) = (fields.u8()?, fields.u8()?, fields.u8()?);
    if reserved != 0 {
        return Err(Error::Reserved("Layout kind"));
    }
    if reference == 0 {
        if index != 0 {
            return Err(Error::Field { field: "reference of a kind without", value: index.into() });
        }
        return Ok(Kind { element, reference: None });
    }
    let reference = ElementType::from_id(reference)?;
    if reference != element && !(reference.is_float() && element.is_float()) {
        return Err(Error::Field { field: "reference_element", value: reference.id().into() });
    }
    if index >= references {
        return Err(Error::Field { field: "reference", value: index.into() });
    }
    Ok(Kind { element, reference: Some(KindReference { element: reference, index }) })
}

fn extent(elements: u64, element: ElementType) -> Result<u64> {
    if elements == 0 {
        return Err(Error::Field { field: "elements", value: 0 });
    }
    below_max("elements", elements.checked_mul(element.width() as u64))
}

fn below_max(field: &'static str, value: Option<u64>) -> Result<u64> {
    value.filter(|&v| v < MAX_OFFSET).ok_or(Error::Field { field, value: value.unwrap_or(u64::MAX) })
}
