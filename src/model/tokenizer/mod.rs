//! Prompts to tokens: tokenizers from `tokenizer.json` or rebuilt from GGUF metadata.
//!
//! [`PromptTokenizer`] is the one door: it loads either kind, and turns text, chats and id lists
//! into a [`TokenSequence`] whose tokens know their exact bytes and where they came from.

mod align;
mod bos;
mod error;
mod files;
mod folder;
mod gguf;
mod older;
mod pieces;
mod prompt;
mod rules;
mod sentencepiece;
mod sentencepiece_file;
mod sequence;
mod vocabulary;

pub use error::PromptError;
pub(crate) use error::one_line;
pub use files::{read_chat_file, read_prompt_file, read_token_ids_file};
pub use prompt::PromptTokenizer;
pub use sequence::{Token, TokenOrigin, TokenSequence};

/// Whether a prompt starts with the model's BOS.
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
