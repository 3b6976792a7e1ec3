//! How the attention view is drawn: options above, all heads on the left, one head large on the right.

use super::pictures::Pictures;
use super::state::{AttentionCommand, AttentionState};
use crate::capture::Capture;
use crate::color::{ColorMap, ScaleKind};
use crate::widgets::color_bar::short_number;
use crate::widgets::grid_layout::GridLayout;
use crate::widgets::heatmap::{Heatmap, HeatmapColors, HeatmapEvent};
use crate::widgets::pattern_grid::{GridColors, PatternGrid};
use egui::{Align, ComboBox, Layout, Ui, vec2};

/// Share of the width that the grid of heads takes.
const GRID_SHARE: f32 = 0.46;
const FLOORS: [f32; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// What there is to show.
#[derive(Clone, Copy)]
pub struct AttentionView<'a> {
    /// The run.
    pub capture: &'a Capture,
    /// Detected sinks, ascending.
    pub sinks: &'a [usize],
    /// The selected token.
    pub selected: Option<usize>,
    /// The head shown large: layer, head.
    pub focus: (usize, usize),
    /// Colours of the large pattern.
    pub heatmap: HeatmapColors,
    /// Colours of the grid.
    pub grid: GridColors,
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
    controls(ui, state, &view, actions);
    let room = ui.available_size();
    let grid_width = grid_width(room, view.capture);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        let part = |width: f32| vec2(width, room.y);
        let top_down = Layout::top_down(Align::Min);
        let cell_px =
            ui.allocate_ui_with_layout(part(grid_width), top_down, |ui| grid(ui, state, &view, actions));
        let rest = part(room.x - grid_width - 10.0);
        let side_px = ui.allocate_ui_with_layout(rest, top_down, |ui| pattern(ui, state, &view, actions));
        let (side_px, cell_px) = (side_px.inner, cell_px.inner);
        if (state.side_px, state.cell_px) != (side_px, cell_px) {
            actions.push(AttentionAction::Own(AttentionCommand::Measured { side_px, cell_px }));
        }
    });
}

/// As wide as the grid needs, up to its share: what it can't use goes to the large pattern.
fn grid_width(room: egui::Vec2, capture: &Capture) -> f32 {
    let share = (room.x * GRID_SHARE).max(120.0);
    let layout = GridLayout::fit(capture.layers.len(), capture.model.spec.heads, vec2(share, room.y));
    layout.size().x.clamp(120.0, share)
}

fn controls(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let mut own = |command| actions.push(AttentionAction::Own(command));
    ui.horizontal(|ui| {
        ui.strong(format!("Layer {} · head {}", view.focus.0, view.focus.1));
        ui.separator();
        for kind in ScaleKind::ALL {
            if ui.selectable_label(state.scale.kind == kind, kind.name()).clicked() {
                own(AttentionCommand::SetScale(kind));
            }
        }
        if state.scale.kind == ScaleKind::Log {
            let floor = ComboBox::from_id_salt("floor")
                .selected_text(format!("from {}", short_number(state.scale.floor)));
            let shown = floor.width(84.0).show_ui(ui, |ui| {
                for floor in FLOORS {
                    if ui
                        .selectable_label(
                            state.scale.floor.total_cmp(&floor).is_eq(),
                            format!("from {}", short_number(floor)),
                        )
                        .clicked()
                    {
                        own(AttentionCommand::SetFloor(floor));
                    }
                }
            });
            shown
                .response
                .on_hover_text("Weights below this look alike")
                .accessible_name("Floor of the scale");
        }
        let map = ComboBox::from_id_salt("colour map").selected_text(state.map.name());
        let shown = map.width(72.0).show_ui(ui, |ui| {
            for map in ColorMap::ALL {
                if ui.selectable_label(state.map == map, map.name()).clicked() {
                    own(AttentionCommand::SetMap(map));
                }
            }
        });
        shown.response.accessible_name("Colour map");
        let mut hide = state.hide_sinks;
        let hint = "Draw the columns of detected sinks hatched";
        if ui.checkbox(&mut hide, "Hide sinks").on_hover_text(hint).changed() {
            own(AttentionCommand::HideSinks(hide));
        }
        let side = view.capture.len();
        let zoom = state.view(side).zoom(side);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let fit = ui.add_enabled(zoom > 1.0, egui::Button::new("Fit"));
            if fit.on_hover_text("Show the whole pattern (0)").clicked() {
                own(AttentionCommand::Fit);
            }
            let pool = state.pictures.as_ref().map_or(1, Pictures::finest_pool);
            if pool > 1 {
                let hint = format!(
                    "Each drawn cell shows the heaviest of {pool} × {pool} weights; zoom in for single ones"
                );
                ui.weak(format!("{zoom:.1}× · max of {pool} × {pool}")).on_hover_text(hint);
            } else {
                ui.weak(format!("{zoom:.1}×"));
            }
        });
    });
}

fn grid(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) -> [usize; 2] {
    let heads = view.capture.model.spec.heads;
    let atlas = state.pictures.as_ref().and_then(Pictures::atlas);
    let token = view.selected.unwrap_or(0);
    let output = PatternGrid {
        name: "Heads",
        size: (view.capture.layers.len(), heads),
        prefixes: ("L", "H"),
        texture: atlas.map(crate::widgets::atlas::Atlas::texture),
        uv: &|layer, head| atlas?.uv(layer * heads + head),
        label: &|layer, head| format!("Layer {layer}, head {head}"),
        describe: &|layer, head| match alpha(view.capture, layer, head, token) {
            Some(alpha) => format!("α of key {token}: {alpha:.3}"),
            None => format!("α of key {token}: n/a"),
        },
        focus: view.focus,
        colors: view.grid,
    }
    .show(ui);
    actions.extend(output.focused.map(|(layer, head)| AttentionAction::FocusHead(layer, head)));
    output.cell_px
}

fn pattern(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) -> f64 {
    let Some(pictures) = &state.pictures else { return 0.0 };
    let (layer, head) = view.focus;
    let side = view.capture.len();
    let output = Heatmap {
        name: "Attention pattern",
        row_name: "query",
        column_name: "key",
        side,
        view: state.view(side),
        tiles: &pictures.tiles(),
        labels: &state.labels,
        value: &|query, key| view.capture.weight(layer, head, query, key),
        table: pictures.table(),
        selected: view.selected,
        marked: view.sinks,
        hatched: if state.hide_sinks { view.sinks } else { &[] },
        cursor: state.cursor,
        colors: view.heatmap,
    }
    .show(ui);
    actions.extend(output.events.into_iter().map(|event| match event {
        HeatmapEvent::View(view) if view.is_fit(side) => AttentionAction::Own(AttentionCommand::Fit),
        HeatmapEvent::View(view) => AttentionAction::Own(AttentionCommand::Zoom(view)),
        HeatmapEvent::Cursor(query, key) => AttentionAction::Own(AttentionCommand::MoveCursor(query, key)),
        HeatmapEvent::Picked(_, key) => AttentionAction::SelectToken(key),
    }));
    output.side_px
}

/// Mean weight that the queries which can see a key give it, in one head.
fn alpha(capture: &Capture, layer: usize, head: usize, key: usize) -> Option<f32> {
    let n = capture.len();
    let sums = &capture.layers.get(layer)?.column_sums;
    let queries = match capture.model.spec.windows.get(layer).copied().flatten() {
        Some(window) => (n - key.min(n)).min(window),
        None => n - key.min(n),
    };
    sums.get(head * n + key).filter(|_| key < n).map(|sum| sum / queries as f32)
}
