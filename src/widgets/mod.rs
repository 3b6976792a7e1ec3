//! Widgets that know nothing of attention: they take values, labels and colour tables, and say what
//! the user did.

pub mod atlas;
pub mod axis;
pub mod cell_colors;
pub mod cell_map;
pub mod color_bar;
pub mod controls;
pub mod grid_layout;
pub mod heatmap;
mod heatmap_paint;
pub mod level;
pub mod lines;
mod minimap;
pub mod pattern_grid;
pub mod token_strip;
pub mod viewport;
