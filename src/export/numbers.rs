//! Numbers as files: JSON, and tensors as safetensors.

use super::{ExportError, write_atomically};
use safetensors::View;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

/// Writes a value as JSON.
///
/// # Errors
/// The file can't be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ExportError> {
    write_atomically(path, |file| {
        let mut buffered = std::io::BufWriter::new(file);
        serde_json::to_writer_pretty(&mut buffered, value)?;
        buffered.write_all(b"\n")?;
        buffered.flush()
    })
}

/// An f32 tensor that is computed when it is written.
struct LazyTensor<F> {
    shape: Vec<usize>,
    values: F,
}

impl<F: Fn() -> Vec<f32>> View for LazyTensor<F> {
    fn dtype(&self) -> safetensors::Dtype {
        safetensors::Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned((self.values)().iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * size_of::<f32>()
    }
}

/// Writes f32 tensors as safetensors; each is computed when its turn comes, so that only one of
/// them exists at a time.
///
/// # Errors
/// The file can't be written.
pub fn write_tensors<F: Fn() -> Vec<f32>>(
    path: &Path,
    tensors: Vec<(String, Vec<usize>, F)>,
) -> Result<(), ExportError> {
    let views = tensors.into_iter().map(|(name, shape, values)| (name, LazyTensor { shape, values }));
    write_atomically(path, |file| {
        safetensors::serialize_to_file(views, None, file.path()).map_err(std::io::Error::other)
    })
}
