//! Weights by name, from safetensors or GGUF, as f32 tensors of a checked shape.

mod family;
mod ggml;
mod gguf;
mod gguf_file;
mod gguf_layout;
mod iq4;
pub(in crate::model) mod layout;
mod mxfp4;
mod safetensors;

pub use family::FamilyWeights;
pub(crate) use ggml::type_name;
pub use gguf::{GgufFiles, GgufWeights};
pub use gguf_layout::{GgufLayout, Names};
pub use safetensors::SafetensorsWeights;

use super::ModelError;
use super::spec::Inventory;
use candle_core::quantized::QTensor;
use candle_core::{Device, Tensor};

/// A checkpoint. Names are those of the [inventory](crate::model::spec::inventory); a source
/// translates them to what its files have.
pub trait WeightSource: Sync {
    /// The tensor of that name in f32 on the CPU.
    ///
    /// # Errors
    /// It is missing, has another shape, or can't be decoded.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError>;

    /// The tensor as the file's own quantised blocks, where it has such of a type whose products are fast.
    ///
    /// # Errors
    /// As [`Self::tensor`].
    fn quantised(
        &self,
        _name: &str,
        _shape: &[usize],
        _device: &Device,
    ) -> Result<Option<QTensor>, ModelError> {
        Ok(None)
    }

    /// Bytes of all weights when what [`Self::quantised`] gives is kept; `None` where it gives nothing.
    fn quantised_bytes(&self, _inventory: &Inventory) -> Option<u64> {
        None
    }

    /// The type that most weights are stored as, for example `Q4_1`.
    fn stored_as(&self) -> String;
}
