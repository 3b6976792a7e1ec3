//! The header of a GGUF file (versions 2 and 3), read from memory with every length checked.
//!
//! candle's own reader fails as a whole on a tensor type that it does not know and trusts the
//! lengths that a file claims, so the header is read here: a lying length is an error, never an
//! allocation, and a tensor of an unknown type is still listed by name.

use std::collections::BTreeMap;

/// Strings longer than this are refused: no real tokenizer or template comes near.
const MAX_STRING_BYTES: u64 = 16 << 20;
/// Arrays nest at most this deep (GGUF files in the wild never nest).
const MAX_ARRAY_DEPTH: u32 = 4;
/// Longer arrays are refused: an item takes more room here than in the file, and a damaged count in
/// a file of many gigabytes would fill the memory. Vocabularies have a few hundred thousand.
const MAX_ARRAY_ITEMS: usize = 1 << 24;

/// A metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum GgufValue {
    /// Any unsigned integer type.
    Unsigned(u64),
    /// Any signed integer type.
    Signed(i64),
    /// Either float type.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// UTF-8 text (invalid sequences replaced).
    String(String),
    /// A homogeneous array.
    Array(Vec<GgufValue>),
}

impl GgufValue {
    /// The value as a non-negative integer, whichever integer type the writer chose.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(v) => Some(*v),
            Self::Signed(v) => u64::try_from(*v).ok(),
            _ => None,
        }
    }

    /// The value as a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(v) => Some(*v),
            Self::Unsigned(v) => Some(*v as f64),
            Self::Signed(v) => Some(*v as f64),
            _ => None,
        }
    }

    /// The value as a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(v) = self { Some(*v) } else { None }
    }

    /// The value as text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(v) = self { Some(v) } else { None }
    }

    /// The value as an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[GgufValue]> {
        if let Self::Array(v) = self { Some(v) } else { None }
    }
}

/// One tensor of the file, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgufTensor {
    /// Name, for example `blk.0.attn_q.weight`.
    pub name: String,
    /// Dimensions, outermost first (GGUF stores them innermost first).
    pub shape: Vec<usize>,
    /// ggml's type number; the reader of the data decides whether it knows it.
    pub type_id: u32,
    /// Offset of the data from [`GgufHeader::data_offset`], in bytes.
    pub offset: u64,
}

/// Metadata and tensor list of a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub struct GgufHeader {
    /// All key-value pairs.
    pub metadata: BTreeMap<String, GgufValue>,
    /// All tensors in file order.
    pub tensors: Vec<GgufTensor>,
    /// Where the tensor data starts, in bytes from the start of the file.
    pub data_offset: u64,
}

impl GgufHeader {
    /// Reads the header at the start of `file`.
    ///
    /// # Errors
    /// One line that says what is wrong: not a GGUF file, an unknown version, cut short, or a
    /// length that the file can't hold.
    pub fn parse(file: &[u8]) -> Result<Self, String> {
        let mut reader = Reader { file, at: 0 };
        if reader.take(4)? != b"GGUF" {
            return Err("not a GGUF file (wrong magic bytes)".to_owned());
        }
        let version = reader.u32()?;
        if !(2..=3).contains(&version) {
            return Err(format!("GGUF version {version} is not supported (2 and 3 are)"));
        }
        let tensor_count = reader.count("tensors", 24)?;
        let pair_count = reader.count("metadata pairs", 13)?;
        let mut metadata = BTreeMap::new();
        for _ in 0..pair_count {
            let key = reader.string()?;
            let type_id = reader.u32()?;
            let value = reader.value(type_id, 0).map_err(|why| format!("metadata key {key}: {why}"))?;
            metadata.insert(key, value);
        }
        let tensors = (0..tensor_count).map(|_| reader.tensor()).collect::<Result<Vec<_>, _>>()?;
        let alignment = metadata.get("general.alignment").and_then(GgufValue::as_u64).unwrap_or(32);
        if alignment == 0 || alignment > 1 << 20 {
            return Err(format!("general.alignment is {alignment}"));
        }
        let data_offset = (reader.at as u64).next_multiple_of(alignment);
        Ok(Self { metadata, tensors, data_offset })
    }

    /// The value of a key as text.
    #[must_use]
    pub fn str(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(GgufValue::as_str)
    }

    /// The value of a key as a non-negative integer.
    #[must_use]
    pub fn u64(&self, key: &str) -> Option<u64> {
        self.metadata.get(key).and_then(GgufValue::as_u64)
    }

    /// The value of a key as a number.
    #[must_use]
    pub fn f64(&self, key: &str) -> Option<f64> {
        self.metadata.get(key).and_then(GgufValue::as_f64)
    }

    /// The value of a key as a boolean.
    #[must_use]
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.metadata.get(key).and_then(GgufValue::as_bool)
    }

    /// The value of a key as an array.
    #[must_use]
    pub fn array(&self, key: &str) -> Option<&[GgufValue]> {
        self.metadata.get(key).and_then(GgufValue::as_array)
    }
}

/// A cursor that never reads past the end.
struct Reader<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(bytes).filter(|&end| end <= self.file.len());
        let end = end.ok_or_else(|| format!("cut short at byte {}", self.file.len()))?;
        let taken = &self.file[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("take returned N bytes"))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a count of items that take at least `item_bytes` each; more than the file can hold is a lie.
    fn count(&mut self, what: &str, item_bytes: u64) -> Result<usize, String> {
        let count = self.u64()?;
        let left = (self.file.len() - self.at) as u64;
        if count.checked_mul(item_bytes).is_none_or(|bytes| bytes > left) {
            return Err(format!("claims {count} {what}, more than the file holds"));
        }
        usize::try_from(count).map_err(|_| format!("claims {count} {what}"))
    }

    fn string(&mut self) -> Result<String, String> {
        let bytes = self.u64()?;
        if bytes > MAX_STRING_BYTES {
            return Err(format!("claims a string of {bytes} bytes"));
        }
        let bytes = usize::try_from(bytes).map_err(|_| "claims a string that is too long".to_owned())?;
        Ok(String::from_utf8_lossy(self.take(bytes)?).into_owned())
    }

    fn value(&mut self, type_id: u32, depth: u32) -> Result<GgufValue, String> {
        Ok(match type_id {
            0 => GgufValue::Unsigned(u64::from(self.array::<1>()?[0])),
            1 => GgufValue::Signed(i64::from(i8::from_le_bytes(self.array()?))),
            2 => GgufValue::Unsigned(u64::from(u16::from_le_bytes(self.array()?))),
            3 => GgufValue::Signed(i64::from(i16::from_le_bytes(self.array()?))),
            4 => GgufValue::Unsigned(u64::from(self.u32()?)),
            5 => GgufValue::Signed(i64::from(i32::from_le_bytes(self.array()?))),
            6 => GgufValue::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => GgufValue::Bool(self.array::<1>()?[0] != 0),
            8 => GgufValue::String(self.string()?),
            9 => self.array_value(depth)?,
            10 => GgufValue::Unsigned(self.u64()?),
            11 => GgufValue::Signed(i64::from_le_bytes(self.array()?)),
            12 => GgufValue::Float(f64::from_le_bytes(self.array()?)),
            other => return Err(format!("unknown value type {other}")),
        })
    }

    fn array_value(&mut self, depth: u32) -> Result<GgufValue, String> {
        if depth >= MAX_ARRAY_DEPTH {
            return Err("arrays nest too deep".to_owned());
        }
        let item_type = self.u32()?;
        let item_bytes = match item_type {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => 12,
            other => return Err(format!("unknown value type {other}")),
        };
        let count = self.count("array items", item_bytes)?;
        if count > MAX_ARRAY_ITEMS {
            return Err(format!("claims an array of {count} items"));
        }
        let items = (0..count).map(|_| self.value(item_type, depth + 1));
        Ok(GgufValue::Array(items.collect::<Result<_, _>>()?))
    }

    fn tensor(&mut self) -> Result<GgufTensor, String> {
        let name = self.string()?;
        let rank = self.u32()?;
        if rank > 4 {
            return Err(format!("tensor {name} has {rank} dimensions"));
        }
        let mut shape = Vec::new();
        for _ in 0..rank {
            let dim = self.u64()?;
            shape.push(usize::try_from(dim).map_err(|_| format!("tensor {name} has a dimension of {dim}"))?);
        }
        shape.reverse();
        let elements = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
        if elements.is_none() {
            return Err(format!("tensor {name} has an impossible shape {shape:?}"));
        }
        Ok(GgufTensor { name, shape, type_id: self.u32()?, offset: self.u64()? })
    }
}

#[cfg(test)]
mod tests;
