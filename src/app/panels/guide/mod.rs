//! Palette, sheet of keys and tour, over everything else.

mod palette;
mod sheet;
mod tour;

pub(super) use tour::Sights;

use crate::app::command::Command;
use crate::app::state::AppState;
use egui::Ui;

/// Draws what is open of them.
pub(super) fn ui(ui: &mut Ui, state: &AppState, sights: &Sights, commands: &mut Vec<Command>) {
    tour::ui(ui, state, sights, commands);
    sheet::ui(ui, state, commands);
    palette::ui(ui, state, commands);
}
