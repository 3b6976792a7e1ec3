//! Models: where they come from, what they are (as data), and the one decoder that runs them.

mod candle;
pub mod chat;
pub mod config;
pub mod decoder;
mod error;
pub mod gguf;
mod info;
mod load;
pub mod placement;
pub mod source;
pub mod spec;
pub mod tokenizer;
pub mod weights;

pub use candle::candle_llama_config;
pub use error::ModelError;
pub use info::ModelInfo;
pub use load::{LoadedModel, load_model};
pub use placement::LoadOptions;
pub use spec::ModelSpec;
