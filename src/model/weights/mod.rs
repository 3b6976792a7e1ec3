//! Weights by name, from safetensors or GGUF, as f32 tensors of a checked shape.

mod gguf;
mod safetensors;

pub use gguf::GgufWeights;
pub(crate) use gguf::type_name;
pub use safetensors::SafetensorsWeights;

use super::ModelError;
use candle_core::Tensor;

/// A checkpoint. Names are those of Hugging Face's llama (`model.layers.0.self_attn.q_proj.weight`);
/// a source that stores other names translates.
pub trait WeightSource: Sync {
    /// The tensor of that name in f32 on the CPU.
    ///
    /// # Errors
    /// It is missing, has another shape, or can't be decoded.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError>;

    /// Whether there is a tensor of that name.
    fn contains(&self, name: &str) -> bool;

    /// The type that most weights are stored as, for example `Q4_1`.
    fn stored_as(&self) -> String;
}
