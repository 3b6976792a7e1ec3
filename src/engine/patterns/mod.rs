//! Attention patterns on demand: a thread that re-materialises tiles, so that the window never waits.
//!
//! The window asks for the few tiles that it shows now (the newest wish replaces the one before and
//! stops work on it) and for thumbnails of all heads (computed whenever nothing is wished for). It
//! holds the results in a cache of bounded size; a tile can always be computed again.

mod cache;
mod matrix;
mod queue;
#[cfg(test)]
mod testing;
mod worker;

pub use cache::TileCache;
pub use matrix::{Matrix, MatrixId, PatternKey, TileOrder};
pub use worker::PatternWorker;
