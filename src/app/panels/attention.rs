//! The attention patterns: the grid of heads, and one head large.

mod choices;
mod controls;
mod difference;
mod difference_controls;
mod draw;
mod export;
mod grid;
mod heads;
mod lines;
mod matrix;
mod options;
mod patterns;
mod pictures;
mod shades;
mod state;

pub use choices::AttentionChoices;
pub use draw::{AttentionAction, AttentionView, draw};
pub use options::{AttentionCommand, HeadOrder, Hiding, Mode, Subtrahend};
pub use state::{AttentionState, Shown};

use crate::app::theme::Palette;
use crate::app::view::HeadId;
use crate::app::{AppState, Command};
use crate::widgets::heatmap::HeatmapColors;
use crate::widgets::lines::LinesColors;
use crate::widgets::pattern_grid::GridColors;

/// Draws the view into all the space that is left.
pub fn ui(ui: &mut egui::Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let Some(run) = &state.run else {
        ui.weak("Run a prompt to see where each head's attention goes.");
        return;
    };
    let others = state.shelf.captures();
    let view = AttentionView {
        capture: &run.capture,
        others: &others,
        sinks: &run.analysis.detection.flagged,
        selected: state.view.selected,
        focus: (state.view.focus.layer, state.view.focus.head),
        heatmap: HeatmapColors {
            text: palette.text,
            faint: palette.weak,
            line: palette.line,
            accent: palette.accent,
            mark: palette.sink,
        },
        grid: GridColors {
            placeholder: palette.line,
            faint: palette.weak,
            text: palette.text,
            accent: palette.accent,
        },
        lines: LinesColors {
            text: palette.text,
            faint: palette.weak,
            accent: palette.accent,
            mark: palette.sink,
            hover: palette.hover,
        },
    };
    let mut actions = Vec::new();
    draw(ui, &state.attention, view, &mut actions);
    commands.extend(actions.into_iter().map(|action| match action {
        AttentionAction::Own(command) => Command::Attention(command),
        AttentionAction::FocusHead(layer, head) => Command::FocusHead(HeadId { layer, head }),
        AttentionAction::SelectToken(token) => Command::SelectToken(token),
    }));
}
