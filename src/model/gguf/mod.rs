//! GGUF files: a bounded reader of their header, and what their metadata says of the model.

mod family;
mod header;
mod keys;
mod rope;
mod spec;
mod vectors;

pub use header::{GgufHeader, GgufTensor, GgufValue};
pub use spec::{GgufReading, known_gguf_architectures, spec_of_gguf};
pub use vectors::{HeaderOnly, Vectors};
