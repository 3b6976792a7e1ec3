//! GGUF files: a bounded reader of their header, and what their metadata says of the model.

mod family;
mod header;
mod keys;
mod rope;
mod spec;

pub use header::{GgufHeader, GgufTensor, GgufValue};
pub use spec::{GgufReading, HeaderOnly, Vectors, known_gguf_architectures, spec_of_gguf};
