//! Weights by name, from safetensors or GGUF, as f32 tensors of a checked shape.

mod family;
mod gguf;
pub(in crate::model) mod layout;
mod mxfp4;
mod safetensors;

pub use family::FamilyWeights;
pub use gguf::GgufWeights;
pub(crate) use gguf::type_name;
pub use safetensors::SafetensorsWeights;

use super::ModelError;
use candle_core::Tensor;

/// A checkpoint. Names are those of the [inventory](crate::model::spec::inventory); a source
/// translates them to what its files have.
pub trait WeightSource: Sync {
    /// The tensor of that name in f32 on the CPU.
    ///
    /// # Errors
    /// It is missing, has another shape, or can't be decoded.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError>;

    /// The type that most weights are stored as, for example `Q4_1`.
    fn stored_as(&self) -> String;
}
