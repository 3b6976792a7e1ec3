//! Arrays in NumPy's format, version 1.0: a short header with type and shape, then the values.

use super::{ExportError, write_atomically};
use std::io::{BufWriter, Write};
use std::path::Path;

/// A type of values, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpyType {
    /// 16-bit floats.
    F16,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// 32-bit unsigned integers.
    U32,
}

impl NpyType {
    /// Bytes of one value.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::U32 => 4,
            Self::F64 => 8,
        }
    }

    fn descr(self) -> &'static str {
        match self {
            Self::F16 => "<f2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::U32 => "<u4",
        }
    }
}

/// The header of an array in row-major order.
#[must_use]
pub fn npy_header(kind: NpyType, shape: &[usize]) -> Vec<u8> {
    // Magic, version 1.0 and the length of what follows.
    const PREFIX_BYTES: usize = 10;
    let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if sides.len() == 1 { "," } else { "" };
    let (descr, sides) = (kind.descr(), sides.join(", "));
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sides}{comma}), }}");
    // The values start at a multiple of 64, for those who map the file.
    let end = (PREFIX_BYTES + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', end - PREFIX_BYTES - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // A shape has at most a few sides: the header is far below 64 KiB.
    header.extend_from_slice(&(text.len() as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header
}

/// Writes f32 matrices of one shape as one array: `[rows, columns]` of a single one, else `[matrices, rows,
/// columns]`. Each is computed when its turn comes, so that only one of them exists at a time.
///
/// # Errors
/// The file can't be written.
pub fn write_npy(
    path: &Path,
    [rows, columns]: [usize; 2],
    matrices: &[impl Fn() -> Vec<f32>],
) -> Result<(), ExportError> {
    let stack = [matrices.len(), rows, columns];
    let shape = if matrices.len() == 1 { &stack[1..] } else { &stack[..] };
    write_atomically(path, |file| {
        let mut out = BufWriter::new(file);
        out.write_all(&npy_header(NpyType::F32, shape))?;
        for matrix in matrices {
            for value in matrix() {
                out.write_all(&value.to_le_bytes())?;
            }
        }
        out.flush()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_start_at_a_multiple_of_64_and_shapes_are_tuples() {
        for (shape, said) in [(&[][..], "()"), (&[7], "(7,)"), (&[3, 4], "(3, 4)"), (&[1, 2, 3], "(1, 2, 3)")]
        {
            let header = npy_header(NpyType::F64, shape);
            assert_eq!(header.len() % 64, 0);
            let length = u16::from_le_bytes([header[8], header[9]]);
            assert_eq!(usize::from(length) + 10, header.len());
            let text = std::str::from_utf8(&header[10..]).expect("text");
            assert!(text.contains(&format!("'shape': {said}, }}")) && text.ends_with('\n'), "{text}");
            assert!(text.contains("'descr': '<f8'"), "{text}");
        }
    }
}
