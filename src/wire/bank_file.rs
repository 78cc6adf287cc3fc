//! Bank files: banks made once and kept outside of streams (spec §12).

use sha2::{Digest, Sha256};

use crate::core::bank::{Bank, TokenClass};
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::error::{Error, Result};
use crate::limits::{
    DRAFT, MAX_BANK_FILE, MAX_BIND_BODY, MAX_BLOCK, MAX_FILE_BANKS, MIN_BLOCK, MIN_MASK_BLOCK, MIN_PAIR_BLOCK, VERSION,
};
use crate::wire;
use crate::wire::chunk_header::Method;
use crate::wire::fields::{Fields, check_crc, push_crc};

/// First bytes of every bank file.
pub const MAGIC: [u8; 6] = *b"\x89ulb\r\n";

/// A bank with what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBank {
    /// Type of the elements it was made from; others may use it too, as far as the class fits.
    pub element: ElementType,
    /// The method it is for.
    pub model: Model,
    /// log2 of the block length that its scales were counted under, 0 for whole substreams.
    pub block: u8,
    /// The bank.
    pub bank: Bank,
}

impl FileBank {
    /// Whether class, tables and block are right for the model and element type (ULP-BKF-03).
    fn fits(&self) -> bool {
        let class = match self.bank.class {
            TokenClass::Plain(_) => self.model == Model::Plain && self.element.is_float() && self.element.width() > 1,
            TokenClass::Pairs(_) => {
                self.model == Model::Plain && self.element.is_float() && matches!(self.element.width(), 2 | 4)
            }
            class => {
                let relative = self.model == Model::Plain && self.element.is_float() && self.element.width() > 1;
                !relative && class == TokenClass::of_lengths(self.element)
            }
        };
        let least = match self.bank.class.elements() {
            2 => MIN_PAIR_BLOCK,
            _ if self.model == Model::Mask => MIN_MASK_BLOCK,
            _ => MIN_BLOCK,
        };
        let block = self.block == 0 || (least..=MAX_BLOCK).contains(&self.block);
        let tables = !self.bank.elements.is_empty()
            && (self.model != Model::Mask || !self.bank.masks.is_empty())
            && (self.block == 0 || self.bank.scale.is_some());
        class && block && tables
    }
}

/// The banks of a file, by number, and the digest that names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankFile {
    banks: Vec<FileBank>,
    bytes: Vec<u8>,
    sha256: [u8; 32],
}

impl BankFile {
    /// Bytes before the first entry.
    pub const HEADER: usize = 20;
    /// Bytes of an entry before its bank.
    pub const ENTRY: usize = 8;

    /// A file of these banks, 1…1024 of them.
    ///
    /// # Errors
    /// There are too few, too many, too large ones, or one does not fit its element type and model.
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(banks: Vec<FileBank>) -> Result<Self> {
        if !(1..=MAX_FILE_BANKS).contains(&banks.len()) {
            return Err(Error::Field { field: "banks of a bank file", value: banks.len() as u64 });
        }
        let mut entries = Vec::new();
        for entry in &banks {
            let mut body = Vec::new();
            wire::bank::write(&entry.bank, &mut body);
            if !entry.fits() || body.len() as u64 + 4 > MAX_BIND_BODY.into() {
                return Err(Error::Field { field: "bank of a bank file", value: body.len() as u64 });
            }
            entries.extend_from_slice(&[entry.element.id(), Method::of(entry.model).id(), entry.block, 0]);
            entries.extend_from_slice(&(body.len() as u32).to_le_bytes());
            entries.append(&mut body);
        }
        let length = (Self::HEADER + entries.len() + 4) as u64;
        if length > MAX_BANK_FILE {
            return Err(Error::Field { field: "length of a bank file", value: length });
        }
        let mut bytes = Vec::with_capacity(length as usize);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, DRAFT]);
        bytes.extend_from_slice(&(banks.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&(length as u32).to_le_bytes());
        push_crc(&mut bytes, 0);
        bytes.append(&mut entries);
        push_crc(&mut bytes, Self::HEADER);
        let sha256 = Sha256::digest(&bytes).into();
        Ok(Self { banks, bytes, sha256 })
    }

    /// Parses a whole file.
    ///
    /// # Errors
    /// ULP-BKF-01 … 05.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(bytes, "bank file");
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::NotBankFile);
        }
        fields.bytes(MAGIC.len())?;
        let (version, draft) = (fields.u8()?, fields.u8()?);
        if (version, draft) != (VERSION, DRAFT) {
            return Err(Error::UnsupportedVersion { version, draft });
        }
        let (count, reserved, length, crc) = (fields.u16()?, fields.u16()?, fields.u32()?, fields.u32()?);
        check_crc("bank file", bytes.get(..Self::HEADER - 4).unwrap_or(&[]), crc)?;
        if reserved != 0 {
            return Err(Error::Reserved("bank file"));
        }
        if !(1..=MAX_FILE_BANKS).contains(&usize::from(count)) {
            return Err(Error::Field { field: "banks of a bank file", value: count.into() });
        }
        if u64::from(length) > MAX_BANK_FILE {
            return Err(Error::Field { field: "length of a bank file", value: length.into() });
        }
        if bytes.len() as u64 != u64::from(length) {
            return Err(Error::Contradiction {
                field: "length of a bank file",
                expected: length.into(),
                actual: bytes.len() as u64,
            });
        }
        let entries = bytes.get(Self::HEADER..).and_then(|rest| rest.split_last_chunk::<4>());
        let (entries, crc) = entries.ok_or(Error::Extent("bank file"))?;
        check_crc("bank file", entries, u32::from_le_bytes(*crc))?;
        let mut fields = Fields::new(entries, "bank file");
        let mut banks = Vec::with_capacity(count.into());
        for _ in 0..count {
            banks.push(parse_entry(&mut fields)?);
        }
        fields.finish()?;
        Ok(Self { banks, bytes: bytes.to_vec(), sha256: Sha256::digest(bytes).into() })
    }

    /// The banks, by number.
    #[must_use]
    pub fn banks(&self) -> &[FileBank] {
        &self.banks
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of the file: its name in streams.
    #[must_use]
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }
}

fn parse_entry(fields: &mut Fields<'_>) -> Result<FileBank> {
    let (element, method, block, reserved) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?);
    let length = fields.u32()?;
    if reserved != 0 {
        return Err(Error::Reserved("bank file"));
    }
    let element = ElementType::from_id(element)?;
    let model = match Method::from_id(method)? {
        Method::Residual => Model::Residual,
        Method::Mask => Model::Mask,
        Method::Plain => Model::Plain,
        _ => return Err(Error::Field { field: "method of a bank", value: method.into() }),
    };
    if u64::from(length) + 4 > MAX_BIND_BODY.into() {
        return Err(Error::Field { field: "length of a bank", value: length.into() });
    }
    let bank = wire::bank::parse(fields.bytes(length as usize)?)?;
    let entry = FileBank { element, model, block, bank };
    if entry.fits() { Ok(entry) } else { Err(Error::Order("a bank does not fit what the bank file says it is for")) }
}
