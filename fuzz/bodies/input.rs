//! Contents, references and options out of the fuzzer's bytes.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use ulpack::core::element::Class;
use ulpack::{ElementType, EncoderOptions, Level, Reference, Typing};

/// Any options, one thread.
pub fn options(u: &mut Unstructured<'_>) -> Result<EncoderOptions> {
    let mut options = EncoderOptions::default();
    options.threads = 1;
    options.level = *u.choose(&[Level::Fast, Level::Default, Level::Small])?;
    options.typing = if u.ratio(1, 4)? { Typing::Auto } else { Typing::Fixed(*u.choose(&ElementType::ALL)?) };
    options.columns = if u.ratio(1, 3)? { Some(u.int_in_range(1..=300)?) } else { None };
    options.chunk_length = if u.ratio(1, 2)? { Some(u.int_in_range(64..=5000)?) } else { None };
    options.sha256 = u.arbitrary()?;
    if u.ratio(1, 4)? {
        options.metadata = vec![(String::from("key"), u.arbitrary()?)];
    }
    Ok(options)
}

/// A reference like `content`: equal, changed here and there, moved, cut, longer, or another one; or none.
pub fn reference(u: &mut Unstructured<'_>, content: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut reference = content.to_vec();
    match u.int_in_range(0..=5u8)? {
        0 => return Ok(None),
        1 => reference = u.arbitrary()?,
        2 => reference.truncate(u.choose_index(content.len() + 1)?),
        3 => reference.extend_from_slice(u.arbitrary()?),
        4 if !content.is_empty() => reference.rotate_left(u.choose_index(content.len())?),
        _ => {}
    }
    for _ in 0..u.int_in_range(0..=20)? {
        if !reference.is_empty() {
            let at = u.choose_index(reference.len())?;
            reference[at] = reference[at].wrapping_add(u.int_in_range(-2..=2i8)? as u8);
        }
    }
    Ok(Some(reference))
}

/// A bit pattern of the type, often a special one, often near the one before.
pub fn pattern(u: &mut Unstructured<'_>, element: ElementType, before: u64) -> Result<u64> {
    let (mantissa, exponent) = match element.class() {
        Class::Float { mantissa, exponent, .. } => (mantissa, exponent),
        _ => (8 * element.width() as u32 - 2, 1),
    };
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    let sign = u64::from(u.ratio(1, 2)?) << (mantissa + exponent);
    Ok(match u.int_in_range(0..=9u8)? {
        0 => sign,
        // Subnormal numbers, infinities, NaNs.
        1 => sign | (u.arbitrary::<u64>()? & ((1 << mantissa) - 1)),
        2 => sign | infinity,
        3 => sign | infinity | (u.arbitrary::<u64>()? & ((1 << mantissa) - 1)),
        4 => u.arbitrary()?,
        5 => before,
        _ => before.wrapping_add(u.int_in_range(-9..=9i64)? as u64),
    })
}

/// Elements and their references, repeated until there are enough for an entropy coder to be used.
pub fn tensor(u: &mut Unstructured<'_>, element: ElementType) -> Result<(Vec<u8>, Vec<u8>)> {
    let width = element.width();
    let (mut content, mut reference) = (Vec::new(), Vec::new());
    let mut before: u64 = u.arbitrary()?;
    let repeats = u.int_in_range(1..=40)?;
    while !u.is_empty() && content.len() < 1 << 12 {
        before = pattern(u, element, before)?;
        let next = if u.ratio(1, 2)? { before } else { pattern(u, element, before)? };
        reference.extend_from_slice(&before.to_le_bytes()[..width]);
        content.extend_from_slice(&next.to_le_bytes()[..width]);
    }
    Ok((content.repeat(repeats), reference.repeat(repeats)))
}

/// References for streams that were not made here: as many as Baseline allows, of the same bytes.
pub fn any_references() -> Vec<Reference> {
    let bytes: Arc<[u8]> = (0..1u32 << 14).flat_map(|i| (i.wrapping_mul(0x9E37_79B1) >> 12).to_le_bytes()).collect();
    (0..16).map(|_| Reference::Bytes(bytes.clone())).collect()
}

pub fn references(reference: Option<&[u8]>) -> Vec<Reference> {
    reference.map(|r| Reference::Bytes(Arc::from(r))).into_iter().collect()
}
