//! GGUF files: a bounded reader of their header, and the tensor names of each architecture.

mod header;

pub use header::{GgufHeader, GgufTensor, GgufValue};
