//! Profile (spec §6.4): one small integer per column of a matrix.

use crate::error::{Error, Result};
use crate::limits::MAX_PROFILE_COLUMNS;
use crate::wire::bits::{BitReader, BitWriter};
use crate::wire::fields::Fields;

/// §6.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Quarter bits added to λ in each column; not empty.
    pub values: Vec<i8>,
}

impl Profile {
    /// Parses a body (without CRC).
    ///
    /// # Errors
    /// ULP-PRF-01.
    pub fn parse(body: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(body, "Profile");
        let columns = fields.u32()?;
        let rice = fields.u8()?;
        let count = usize::try_from(columns).unwrap_or(usize::MAX);
        if count == 0 || count > MAX_PROFILE_COLUMNS {
            return Err(Error::Field { field: "columns", value: columns.into() });
        }
        if rice > 7 {
            return Err(Error::Field { field: "rice", value: rice.into() });
        }
        // Each value takes a bit at least, so the bytes read bound the allocation.
        if fields.rest().len().saturating_mul(8) < count {
            return Err(Error::Extent("Profile"));
        }
        let mut bits = BitReader::new(fields.rest(), "Profile");
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let quotient = bits.unary(255 >> rice)?;
            let z = (quotient << rice) | bits.bits(rice.into())?;
            #[allow(clippy::cast_possible_wrap)]
            let value = (z >> 1) as i32 ^ -((z & 1) as i32);
            values.push(i8::try_from(value).map_err(|_| Error::Field { field: "profile value", value: z.into() })?);
        }
        bits.finish()?;
        Ok(Self { values })
    }

    /// Appends the body, without CRC, in the shortest of the eight forms.
    pub fn write(&self, out: &mut Vec<u8>) {
        let zigzag = |&v: &i8| (i32::from(v) << 1 ^ (i32::from(v) >> 31)).unsigned_abs() & 0xFF;
        let cost = |rice: &u8| -> u64 {
            self.values.iter().map(|v| u64::from((zigzag(v) >> rice) + 1 + u32::from(*rice))).sum()
        };
        let rice = (0..=7u8).min_by_key(cost).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation)]
        out.extend_from_slice(&(self.values.len() as u32).to_le_bytes());
        out.push(rice);
        let mut bits = BitWriter::new(out);
        for v in &self.values {
            bits.unary(zigzag(v) >> rice);
            bits.bits(zigzag(v), rice.into());
        }
    }
}
