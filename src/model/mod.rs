//! Models: where they come from, what they are (as data), and the one decoder that runs them.

pub mod chat;
mod error;
pub mod gguf;
mod info;
pub mod source;
pub mod spec;
pub mod tokenizer;

pub use error::ModelError;
pub use info::ModelInfo;
pub use spec::ModelSpec;
