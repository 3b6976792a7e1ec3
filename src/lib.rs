//! Sinkscope: see attention sinks, and what a KV cache loses when it evicts them.

pub mod analysis;
pub mod app;
pub mod attention;
pub mod capture;
pub mod cli;
pub mod color;
pub mod engine;
mod error;
pub mod eviction;
pub mod export;
pub mod model;
pub mod progress;
mod raw;
pub mod session;
pub mod text;
pub mod units;
pub mod widgets;

pub use error::{Error, Result};
