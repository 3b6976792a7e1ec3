//! Sinkscope: see attention sinks, and what a KV cache loses when it evicts them.

pub mod analysis;
pub mod app;
pub mod capture;
/// Headless commands: what the window shows, a command reproduces.
pub mod cli {
    pub mod render;
}
pub mod color;
pub mod engine;
mod error;
pub mod export;
pub mod model;
pub mod progress;
pub mod widgets;

pub use error::{Error, Result};
