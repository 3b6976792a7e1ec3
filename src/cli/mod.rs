//! Headless commands.

pub mod models;
