//! The body of a bank (spec §9).

use crate::core::bank::{Bank, TokenClass};
use crate::core::pairs::{MAX_WINDOW, PairForm};
use crate::core::plain::PlainForm;
use crate::core::table::{FrequencyTable, TOTAL};
use crate::core::thresholds::Thresholds;
use crate::error::{Error, Result};
use crate::limits::MAX_TABLES;
use crate::wire::bits::{BitReader, BitWriter};
use crate::wire::fields::Fields;
use crate::wire::leb128;

/// Number of bits of a frequency; that of 4096, which no code writes, counts as 12.
fn bit_length(frequency: u16) -> u32 {
    (16 - frequency.leading_zeros()).min(12)
}

/// Predicted class of symbol `s` (spec §9).
fn predict(previous: Option<&FrequencyTable>, classes: &[u32; 256], s: usize) -> u32 {
    match previous {
        Some(table) => bit_length(table.0[s & 0xFF]),
        None if s >= 2 => classes[(s - 2) & 0xFF],
        None => 0,
    }
}

/// The frequency nearest below that `precision` can write.
#[must_use]
pub fn truncate(frequency: u16, precision: u8) -> u16 {
    let drop = bit_length(frequency).saturating_sub(1 + u32::from(precision));
    frequency >> drop << drop
}

fn read_table(
    bits: &mut BitReader<'_>,
    previous: Option<&FrequencyTable>,
    precision: u8,
    alphabet: usize,
) -> Result<FrequencyTable> {
    let last = bits.bits(8)? as usize;
    let implied = bits.bits(8)? as usize;
    if last >= alphabet || implied > last {
        return Err(Error::Field { field: "symbol of a table", value: last.max(implied) as u64 });
    }
    let mut table = FrequencyTable([0; 256]);
    let mut classes = [0u32; 256];
    classes[implied & 0xFF] = 12;
    let mut sum = 0u32;
    for s in (0..=last).filter(|&s| s != implied) {
        let code = bits.unary(24)?;
        let difference = leb128::unzigzag(code.into());
        let class = i64::from(predict(previous, &classes, s)) + difference;
        let class = u32::try_from(class)
            .ok()
            .filter(|&c| c <= 12)
            .ok_or(Error::Field { field: "class of a frequency", value: code.into() })?;
        let frequency = if class >= 2 {
            let k = (class - 1).min(precision.into());
            ((1 << k) + bits.bits(k)?) << (class - 1 - k)
        } else {
            class
        };
        classes[s & 0xFF] = class;
        #[allow(clippy::cast_possible_truncation)]
        {
            table.0[s & 0xFF] = frequency as u16;
        }
        sum += frequency;
    }
    if last != implied && table.0[last & 0xFF] == 0 {
        return Err(Error::Field { field: "frequency of the last symbol", value: 0 });
    }
    let rest = TOTAL.checked_sub(sum).filter(|&rest| rest >= 1);
    let rest = rest.ok_or(Error::Field { field: "sum of frequencies", value: sum.into() })?;
    #[allow(clippy::cast_possible_truncation)]
    {
        table.0[implied & 0xFF] = rest as u16;
    }
    if usize::from(table.most_frequent()) != implied {
        return Err(Error::Field { field: "implied symbol", value: implied as u64 });
    }
    Ok(table)
}

fn write_table(bits: &mut BitWriter<'_>, table: &FrequencyTable, previous: Option<&FrequencyTable>, precision: u8) {
    let (last, implied) = (table.last(), table.most_frequent());
    bits.bits(last.into(), 8);
    bits.bits(implied.into(), 8);
    let mut classes = [0u32; 256];
    classes[usize::from(implied)] = 12;
    for s in (0..=usize::from(last)).filter(|&s| s != usize::from(implied)) {
        let frequency = table.0[s];
        let class = bit_length(frequency);
        let difference = i64::from(class) - i64::from(predict(previous, &classes, s));
        #[allow(clippy::cast_possible_truncation)]
        bits.unary(leb128::zigzag(difference) as u32);
        if class >= 2 {
            let k = (class - 1).min(precision.into());
            bits.bits((u32::from(frequency) >> (class - 1 - k)) & ((1 << k) - 1), k);
        }
        classes[s] = class;
    }
}

fn read_group(bits: &mut BitReader<'_>, count: usize, precision: u8, alphabet: usize) -> Result<Vec<FrequencyTable>> {
    let mut tables: Vec<FrequencyTable> = Vec::with_capacity(count);
    for _ in 0..count {
        let table = read_table(bits, tables.last(), precision, alphabet)?;
        tables.push(table);
    }
    Ok(tables)
}

fn write_group(bits: &mut BitWriter<'_>, tables: &[FrequencyTable], precision: u8) {
    let mut previous = None;
    for table in tables {
        write_table(bits, table, previous, precision);
        previous = Some(table);
    }
}

/// Parses a bank.
///
/// # Errors
/// ULP-BNK-01 … 04.
pub fn parse(body: &[u8]) -> Result<Bank> {
    let mut fields = Fields::new(body, "Bank");
    let (class, form, centre, window) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?);
    let (scale_tables, mask_tables, element_tables) = (fields.u8()?, fields.u8()?, fields.u8()?);
    let precision = fields.u8()?;
    let (mask_base, element_base) = (fields.i16()?, fields.i16()?);
    let range = |field, value: u8, ok: bool| {
        if ok { Ok(()) } else { Err(Error::Field { field, value: value.into() }) }
    };
    let class = match class {
        0 => TokenClass::Byte,
        1 => TokenClass::Length2,
        2 => TokenClass::Length1,
        3 => {
            range("form", form, form & !3 == 0)?;
            let form = PlainForm { sign: form & 1 == 1, top: form & 2 == 2, centre, window };
            range("window", window, window >= 1 && form.alphabet() <= 256)?;
            TokenClass::Plain(form)
        }
        4 => {
            range("form", form, form == 0)?;
            range("window", window, (1..=MAX_WINDOW).contains(&window))?;
            TokenClass::Pairs(PairForm { centre, window })
        }
        _ => return Err(Error::Unknown { what: "bank class", value: class.into() }),
    };
    if !matches!(class, TokenClass::Plain(_) | TokenClass::Pairs(_)) {
        range("form", form, form == 0)?;
        range("centre", centre, centre == 0)?;
        range("window", window, window == 0)?;
    }
    range("scale_tables", scale_tables, scale_tables <= 1)?;
    let tables = usize::from(mask_tables) + usize::from(element_tables);
    range("mask_tables", mask_tables, (1..=MAX_TABLES).contains(&tables))?;
    range("precision", precision, (1..=12).contains(&precision))?;
    let mut thresholds = |tables: u8, base: i16, field| {
        if tables == 0 && base != 0 {
            #[allow(clippy::cast_sign_loss)]
            return Err(Error::Field { field, value: base as u64 });
        }
        let steps = fields.bytes(usize::from(tables.saturating_sub(1)))?.to_vec();
        let thresholds = Thresholds { base, steps };
        thresholds.check()?;
        Ok(thresholds)
    };
    let mask_thresholds = thresholds(mask_tables, mask_base, "mask_base")?;
    let element_thresholds = thresholds(element_tables, element_base, "element_base")?;
    let mut bits = BitReader::new(fields.rest(), "Bank");
    let bank = Bank {
        class,
        precision,
        scale: read_group(&mut bits, scale_tables.into(), precision, 256)?.pop(),
        mask_thresholds,
        masks: read_group(&mut bits, mask_tables.into(), precision, 256)?,
        element_thresholds,
        elements: read_group(&mut bits, element_tables.into(), precision, class.alphabet())?,
    };
    bits.finish()?;
    Ok(bank)
}

/// Appends a bank. Its frequencies other than those of the most frequent symbols must be ones that `precision` can write ([`truncate`]).
#[allow(clippy::cast_possible_truncation)]
pub fn write(bank: &Bank, out: &mut Vec<u8>) {
    let (class, form, centre, window) = match bank.class {
        TokenClass::Byte => (0, 0, 0, 0),
        TokenClass::Length2 => (1, 0, 0, 0),
        TokenClass::Length1 => (2, 0, 0, 0),
        TokenClass::Plain(f) => (3, u8::from(f.sign) | u8::from(f.top) << 1, f.centre, f.window),
        TokenClass::Pairs(f) => (4, 0, f.centre, f.window),
    };
    let counts = [u8::from(bank.scale.is_some()), bank.masks.len() as u8, bank.elements.len() as u8];
    out.extend_from_slice(&[class, form, centre, window]);
    out.extend_from_slice(&counts);
    out.push(bank.precision);
    out.extend_from_slice(&bank.mask_thresholds.base.to_le_bytes());
    out.extend_from_slice(&bank.element_thresholds.base.to_le_bytes());
    out.extend_from_slice(&bank.mask_thresholds.steps);
    out.extend_from_slice(&bank.element_thresholds.steps);
    let mut bits = BitWriter::new(out);
    write_group(&mut bits, bank.scale.as_slice(), bank.precision);
    write_group(&mut bits, &bank.masks, bank.precision);
    write_group(&mut bits, &bank.elements, bank.precision);
}
