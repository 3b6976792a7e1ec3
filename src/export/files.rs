//! Numbers as files. Every file appears whole or not at all.

use super::ExportError;
use safetensors::View;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes a file through a temporary one beside it, so that a failure leaves no half file.
///
/// # Errors
/// The folder is missing or not writable, or the disk is full.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut NamedTempFile) -> std::io::Result<()>,
) -> Result<(), ExportError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let result = NamedTempFile::new_in(folder).and_then(|mut file| {
        write(&mut file)?;
        file.flush()?;
        file.persist(path)?;
        Ok(())
    });
    result.map_err(|error| ExportError::Write { why: error.to_string(), path: path.to_owned() })
}

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
