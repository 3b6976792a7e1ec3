//! Headless commands: what the window shows, a command reproduces.

pub mod render;
