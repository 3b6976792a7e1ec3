//! What the window shows beside the table of sinks: maps, the two components of mass, norms, stability.

mod cells;
mod layers;
mod norms;
mod peak;
mod stability;
mod token_heads;

pub(super) use cells::{Cells, map_height};
pub(super) use layers::draw as draw_layers;
pub(super) use norms::draw as draw_norms;
pub(super) use peak::draw as draw_peak;
pub(super) use stability::draw as draw_stability;
pub(super) use token_heads::draw as draw_token_heads;

pub(in crate::export) use layers::{births, by_layer};
pub(in crate::export) use peak::chosen_heads;
pub(in crate::export) use stability::{Row, rows};
