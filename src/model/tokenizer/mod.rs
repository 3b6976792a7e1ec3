//! Prompts to tokens: tokenizers from `tokenizer.json` or rebuilt from GGUF metadata.

mod sequence;

pub use sequence::{Token, TokenOrigin, TokenSequence};

/// Whether a plain prompt starts with the model's BOS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BosChoice {
    /// As the model's metadata says.
    #[default]
    Auto,
    /// Always exactly one.
    Yes,
    /// Never.
    No,
}

/// Why a prompt could not be turned into tokens.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// Nothing to run.
    #[error("The prompt is empty: type some text")]
    Empty,
}
