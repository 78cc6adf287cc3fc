//! Element types (spec §2): what the numbers of a content are.

use crate::error::{Error, Result};

/// How an element type's bits are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// Sign, exponent, mantissa.
    Float {
        /// Exponent bias.
        bias: i32,
        /// Bits of the mantissa field.
        mantissa: u32,
        /// Bits of the exponent field.
        exponent: u32,
    },
}

/// An element type, with its id on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum ElementType {
    /// Opaque bytes.
    Bytes = 1,
    /// 8-bit unsigned integers.
    U8 = 2,
    /// 8-bit signed integers.
    I8 = 3,
    /// 16-bit unsigned integers.
    U16 = 4,
    /// 16-bit signed integers.
    I16 = 5,
    /// 32-bit unsigned integers.
    U32 = 6,
    /// 32-bit signed integers.
    I32 = 7,
    /// 64-bit unsigned integers.
    U64 = 8,
    /// 64-bit signed integers.
    I64 = 9,
    /// OCP 8-bit float, 4 exponent bits, no infinity.
    F8E4M3 = 10,
    /// OCP 8-bit float, 5 exponent bits.
    F8E5M2 = 11,
    /// bfloat16.
    Bf16 = 12,
    /// IEEE binary16.
    F16 = 13,
    /// IEEE binary32.
    F32 = 14,
    /// IEEE binary64.
    F64 = 15,
}

impl ElementType {
    /// All element types, by id.
    pub const ALL: [ElementType; 15] = [
        Self::Bytes,
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::Bf16,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// The type with this id on the wire.
    ///
    /// # Errors
    /// [`Error::UnknownElementType`] (ULP-ELT-01).
    pub fn from_id(id: u8) -> Result<Self> {
        Self::ALL.get(usize::from(id).wrapping_sub(1)).copied().ok_or(Error::UnknownElementType(id))
    }

    /// The id on the wire.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The name as in the spec and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F8E4M3 => "f8_e4m3",
            Self::F8E5M2 => "f8_e5m2",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes of one element: 1, 2, 4 or 8.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::Bytes | Self::U8 | Self::I8 | Self::F8E4M3 | Self::F8E5M2 => 1,
            Self::U16 | Self::I16 | Self::Bf16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// How the bits are meant.
    #[must_use]
    pub fn class(self) -> Class {
        let float = |bias, mantissa, exponent| Class::Float { bias, mantissa, exponent };
        match self {
            Self::Bytes | Self::U8 | Self::U16 | Self::U32 | Self::U64 => Class::Unsigned,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Class::Signed,
            Self::F8E4M3 => float(7, 3, 4),
            Self::F8E5M2 => float(15, 2, 5),
            Self::Bf16 => float(127, 7, 8),
            Self::F16 => float(15, 10, 5),
            Self::F32 => float(127, 23, 8),
            Self::F64 => float(1023, 52, 11),
        }
    }

    /// Whether this is a float type.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self.class(), Class::Float { .. })
    }
}
