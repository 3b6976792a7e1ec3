//! Widgets that know nothing of attention: they draw what they are given and say what was clicked.

pub mod cell_map;
pub mod controls;
pub mod token_strip;
