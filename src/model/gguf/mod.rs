//! GGUF files: a bounded reader of their header, and the tensor names of each architecture.

mod header;
mod spec;

pub use header::{GgufHeader, GgufTensor, GgufValue};
pub use spec::spec_of_gguf;
