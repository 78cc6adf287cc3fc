//! Values of options: text in, typed value or a reason out.

use std::ffi::OsStr;

use ulpack::{ElementType, Level, Typing};

use super::platform;

/// Names that frameworks use for element types, next to the format's own.
const ALIASES: [(&str, ElementType); 15] = [
    ("uint8", ElementType::U8),
    ("int8", ElementType::I8),
    ("uint16", ElementType::U16),
    ("int16", ElementType::I16),
    ("uint32", ElementType::U32),
    ("int32", ElementType::I32),
    ("uint64", ElementType::U64),
    ("int64", ElementType::I64),
    ("float8_e4m3fn", ElementType::F8E4M3),
    ("float8_e5m2", ElementType::F8E5M2),
    ("bfloat16", ElementType::Bf16),
    ("float16", ElementType::F16),
    ("half", ElementType::F16),
    ("float32", ElementType::F32),
    ("float64", ElementType::F64),
];

/// `--dtype`: a type's name in the format or in frameworks, any case, or `auto`.
pub(super) fn typing(text: &str) -> Result<Typing, String> {
    let name = text.to_ascii_lowercase();
    if name == "auto" {
        return Ok(Typing::Auto);
    }
    ElementType::from_name(&name)
        .or_else(|| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
            alias.map(|(_, element)| *element)
        })
        .map(Typing::Fixed)
        .ok_or_else(|| {
            let names: Vec<_> = ElementType::ALL.iter().map(|t| t.name()).collect();
            format!("known types: auto, {}", names.join(", "))
        })
}

/// `--memory`: a number of bytes, with a suffix for powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return Err(String::from("a size is a number and KiB, MiB, GiB or TiB")),
    };
    let number: u64 = digits.parse().map_err(|_| String::from("a size is a number and KiB, MiB, GiB or TiB"))?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(|| String::from("out of range"))
}

/// `--range`: two offsets, the second may be missing.
pub(super) fn range(text: &str) -> Result<(u64, Option<u64>), String> {
    let wrong = || String::from("A:B are two offsets in bytes, A not above B; 'A:' goes to the end");
    let (start, end) = text.split_once(':').ok_or_else(wrong)?;
    let start: u64 = if start.is_empty() { 0 } else { start.parse().map_err(|_| wrong())? };
    let end: Option<u64> = if end.is_empty() { None } else { Some(end.parse().map_err(|_| wrong())?) };
    if end.is_some_and(|end| end < start) { Err(wrong()) } else { Ok((start, end)) }
}

/// `-1` … `-9` and ULP_LEVEL: three aims, and aliases between them.
pub(super) fn level(number: u8) -> Option<Level> {
    match number {
        1..=3 => Some(Level::Fast),
        4..=6 => Some(Level::Default),
        7..=9 => Some(Level::Small),
        _ => None,
    }
}

/// `-T` and ULP_THREADS: 0 means one thread per core, however many there are.
pub(super) fn threads(number: u16) -> usize {
    match number {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => usize::from(n),
    }
}

/// `--meta KEY=VALUE`: the key is UTF-8, the value any bytes.
pub(super) fn pair(text: &OsStr) -> Result<(String, Vec<u8>), String> {
    let bytes = platform::bytes_of(text);
    let Some(at) = bytes.iter().position(|byte| *byte == b'=') else {
        return Err(String::from("KEY=VALUE is needed"));
    };
    let (key, value) = bytes.split_at(at);
    let key = std::str::from_utf8(key).map_err(|_| String::from("the key is not UTF-8"))?;
    if key.is_empty() {
        return Err(String::from("the key is empty"));
    }
    Ok((key.to_owned(), value.iter().skip(1).copied().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("3G"), Ok(3 << 30));
        for wrong in ["", "0", "MiB", "1MB", "-1", "1.5GiB", "1 MiB", "99999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn types_by_every_name() {
        for element in ElementType::ALL {
            assert_eq!(typing(element.name()), Ok(Typing::Fixed(element)));
            let upper = element.name().to_ascii_uppercase();
            assert_eq!(typing(&upper), Ok(Typing::Fixed(element)));
        }
        assert_eq!(typing("bfloat16"), Ok(Typing::Fixed(ElementType::Bf16)));
        assert_eq!(typing("auto"), Ok(Typing::Auto));
        assert!(typing("f12").is_err());
    }

    #[test]
    fn pairs() {
        let parse = |text: &str| pair(OsStr::new(text));
        assert_eq!(parse("a=b=c"), Ok((String::from("a"), b"b=c".to_vec())));
        assert_eq!(parse("a="), Ok((String::from("a"), Vec::new())));
        assert!(parse("a").is_err());
        assert!(parse("=b").is_err());
    }
}
