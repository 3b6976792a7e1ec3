//! The small tensors of a file that belong to its configuration.

use super::GgufHeader;

/// Small tensors that belong to the configuration.
pub trait Vectors {
    /// The tensor of that name and length in f32; none where the file has no such tensor.
    ///
    /// # Errors
    /// It has another length, or can't be decoded.
    fn read(&self, name: &str, length: usize) -> Result<Option<Vec<f32>>, String>;
}

/// A header without its file: the tensors of the configuration are there, but all their numbers read as 1.
#[derive(Debug, Clone, Copy)]
pub struct HeaderOnly<'a>(pub &'a GgufHeader);

impl Vectors for HeaderOnly<'_> {
    fn read(&self, name: &str, length: usize) -> Result<Option<Vec<f32>>, String> {
        Ok(self.0.tensors.iter().find(|tensor| tensor.name == name).map(|_| vec![1.0; length]))
    }
}
