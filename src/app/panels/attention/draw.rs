//! How the attention view is drawn: options above, all heads on the left, one matrix or lines on the right.

use super::options::{AttentionCommand, Mode};
use super::state::AttentionState;
use super::{controls, grid, matrix};
use crate::capture::Capture;
use crate::widgets::grid_layout::GridLayout;
use crate::widgets::heatmap::HeatmapColors;
use crate::widgets::lines::LinesColors;
use crate::widgets::pattern_grid::GridColors;
use egui::{Align, Layout, Ui, vec2};
use std::sync::Arc;

/// Share of the width that the grid of heads takes.
const GRID_SHARE: f32 = 0.46;
/// Height of the options above the two halves.
const HEADER: f32 = 24.0;

/// What there is to show.
#[derive(Clone, Copy)]
pub struct AttentionView<'a> {
    /// The run.
    pub capture: &'a Arc<Capture>,
    /// The other open runs, the latest first: what can be subtracted.
    pub others: &'a [&'a Arc<Capture>],
    /// Detected sinks, ascending.
    pub sinks: &'a [usize],
    /// The selected token.
    pub selected: Option<usize>,
    /// The head shown large: layer, head.
    pub focus: (usize, usize),
    /// Colours of the large matrix.
    pub heatmap: HeatmapColors,
    /// Colours of the grid.
    pub grid: GridColors,
    /// Colours of the lines view.
    pub lines: LinesColors,
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionAction {
    /// Something that the attention view does by itself.
    Own(AttentionCommand),
    /// Show this head (layer, head) large.
    FocusHead(usize, usize),
    /// Select this token.
    SelectToken(usize),
}

/// Draws the view into all the space that is left.
pub fn draw(
    ui: &mut Ui,
    state: &AttentionState,
    view: AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    controls::top(ui, state, &view, actions);
    let room = ui.available_size();
    let grid_width = grid_width(room, view.capture);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        let part = |width: f32| vec2(width, room.y);
        let top_down = Layout::top_down(Align::Min);
        let cell_px = ui.allocate_ui_with_layout(part(grid_width), top_down, |ui| {
            header(ui, |ui| grid::header(ui, state, &view, actions));
            grid::show(ui, state, &view, actions)
        });
        let rest = part(room.x - grid_width - 10.0);
        let plot = ui.allocate_ui_with_layout(rest, top_down, |ui| {
            header(ui, |ui| controls::of_mode(ui, state, &view, actions));
            match state.mode {
                Mode::Lines => {
                    matrix::lines(ui, state, &view, actions);
                    // The matrix is as large as it was when it comes back.
                    (state.plot, state.side_px.max(1.0))
                }
                Mode::Pattern | Mode::Difference => matrix::show(ui, state, &view, actions),
            }
        });
        let ((plot, side_px), cell_px) = (plot.inner, cell_px.inner);
        if (state.plot, state.side_px, state.cell_px) != (plot, side_px, cell_px) {
            actions.push(AttentionAction::Own(AttentionCommand::Measured { plot, side_px, cell_px }));
        }
    });
}

/// A row of options of fixed height, so that nothing below it moves when they change.
fn header(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    let size = vec2(ui.available_width(), HEADER);
    let (_, rect) = ui.allocate_space(size);
    let builder = egui::UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center));
    // A child that takes no more room, whatever is in it: the two halves keep their widths.
    let mut row = ui.new_child(builder);
    row.set_clip_rect(rect.expand(4.0).intersect(ui.clip_rect()));
    row.spacing_mut().item_spacing.x = 6.0;
    add(&mut row);
}

/// As wide as the grid needs, up to its share: what it can't use goes to the large matrix.
fn grid_width(room: egui::Vec2, capture: &Capture) -> f32 {
    let share = (room.x * GRID_SHARE).max(120.0);
    let (layers, heads) = (capture.layers.len(), capture.model.spec.heads);
    let layout = GridLayout::fit(layers + 1, heads + 1, vec2(share, room.y - HEADER));
    layout.size().x.clamp(240.0_f32.min(share), share)
}
