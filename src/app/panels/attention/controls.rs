//! The options of the attention view.

use super::difference_controls;
use super::draw::{AttentionAction, AttentionView};
use super::options::{AttentionCommand, Hiding, Mode};
use super::pictures::Pictures;
use super::state::AttentionState;
use crate::capture::PatternOf;
use crate::color::{ColorMap, DivergingMap, ScaleKind};
use crate::widgets::color_bar::short_number;
use crate::widgets::controls::{name, options_menu, segmented};
use egui::{Align, Button, ComboBox, DragValue, Layout, RichText, Ui};

const FLOORS: [f32; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];
const CLAMPS: [f32; 4] = [100.0, 99.9, 99.0, 95.0];

/// What a pattern is called.
pub(super) fn pattern_name(of: PatternOf) -> String {
    match of {
        PatternOf::Head { layer, head } => format!("Layer {layer} · head {head}"),
        PatternOf::LayerMean(layer) => format!("Layer {layer} · mean"),
        PatternOf::ModelMean => "Model mean".to_owned(),
    }
}

/// In a narrower view what is chosen seldom moves into menus, in points.
const TOP_FITS: f32 = 740.0;
/// The same for the row above the large half.
const MODE_FITS: f32 = 336.0;

/// The row above everything: what is shown, how, where.
pub(super) fn top(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let mut own = |command| actions.push(AttentionAction::Own(command));
    let fits = ui.available_width() >= TOP_FITS;
    ui.horizontal(|ui| {
        let of = state.focused(view.focus);
        let (name, room) = if fits { (pattern_name(of), 112.0) } else { (short_name(of), 58.0) };
        let title = ui.strong(name);
        // What comes behind it stays where it is.
        ui.add_space((room - title.rect.width()).max(0.0));
        let modes = [
            (Mode::Pattern, "Pattern", "One pattern, large"),
            (Mode::Difference, "Difference", "Minus another head, or the same head of another run"),
            (Mode::Lines, "Lines", "Tokens in two columns, weights as lines between them"),
        ];
        if let Some(mode) = segmented(ui, state.mode, &modes) {
            own(AttentionCommand::SetMode(mode));
        }
        if fits {
            ui.separator();
            hides(ui, state, view, &mut own);
            way_to_hide(ui, state, view, &mut own);
        }
        let tip =
            if fits { "Scale, range and colour map" } else { "Scale, range and colour map; hiding of sinks" };
        options_menu(ui, "Colours ▾", tip, |ui| {
            colours(ui, state, &mut own);
            if !fits {
                ui.separator();
                hides(ui, state, view, &mut own);
                ways_to_hide(ui, state, view, &mut own);
            }
        });
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| zooming(ui, state, fits, &mut own));
    });
}

fn short_name(of: PatternOf) -> String {
    match of {
        PatternOf::Head { layer, head } => format!("L{layer} · H{head}"),
        PatternOf::LayerMean(layer) => format!("L{layer} · avg"),
        PatternOf::ModelMean => "avg".to_owned(),
    }
}

fn can_hide(state: &AttentionState, view: &AttentionView<'_>) -> bool {
    state.mode == Mode::Pattern && !view.sinks.is_empty()
}

fn hides(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let mut hides = state.hiding != Hiding::Shown;
    let hint = "Draw the columns of detected sinks hatched, and look at the rest";
    let response = ui.add_enabled(can_hide(state, view), egui::Checkbox::new(&mut hides, "Hide sinks"));
    let response = response.on_disabled_hover_text("Only a pattern with detected sinks can hide them");
    if response.on_hover_text(hint).changed() {
        own(AttentionCommand::SetHiding(if hides { Hiding::Rescaled } else { Hiding::Shown }));
    }
}

/// Always there, so that nothing behind it moves.
fn way_to_hide(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let way = if state.hiding == Hiding::Shown { Hiding::Rescaled } else { state.hiding };
    let combo = |ui: &mut Ui| {
        let shown = ComboBox::from_id_salt("hiding").selected_text(way.name()).width(118.0);
        let shown = shown.show_ui(ui, |ui| {
            for each in Hiding::WAYS {
                let chosen = ui.selectable_label(way == each, each.name());
                if chosen.on_hover_text(each.hint()).clicked() {
                    own(AttentionCommand::SetHiding(each));
                }
            }
        });
        shown.response.on_hover_text(way.hint()).accessible_name("What is left without sinks");
    };
    ui.add_enabled_ui(can_hide(state, view), |ui| ui.add_enabled_ui(state.hiding != Hiding::Shown, combo));
}

/// The same inside a menu, where another menu can't open.
fn ways_to_hide(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    ui.add_enabled_ui(can_hide(state, view), |ui| {
        ui.horizontal(|ui| {
            for each in Hiding::WAYS {
                let chosen = ui.selectable_label(state.hiding == each, each.name());
                if chosen.on_hover_text(each.hint()).clicked() {
                    own(AttentionCommand::SetHiding(each));
                }
            }
        });
    });
}

fn colours(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    ui.set_min_width(250.0);
    let choice = state.choice();
    let drawn = state.drawn_scale();
    ui.horizontal(|ui| {
        ui.label("Scale");
        scale_kinds(ui, state, own);
    });
    ui.horizontal(|ui| {
        ui.label("From");
        let mut low = drawn.min();
        let mut high = drawn.max;
        let from = ui.add(range_field(&mut low)).on_hover_text("Weight at the lower end of the colours");
        name(&from, "Lower end of the range");
        ui.label("to");
        let to = ui.add(range_field(&mut high)).on_hover_text("Weight at the upper end of the colours");
        name(&to, "Upper end of the range");
        if from.changed() || to.changed() {
            own(AttentionCommand::SetRange(choice.scale.over(low, high)));
        }
        if ui.button("Reset").on_hover_text("The range of the first day").clicked() {
            own(AttentionCommand::ResetScale);
        }
    });
    ui.horizontal(|ui| {
        ui.label("Upper end");
        let none = ui.selectable_label(choice.clamp.is_none(), "fixed");
        if none.on_hover_text("The range stays as it is").clicked() {
            own(AttentionCommand::SetClamp(None));
        }
        for percent in CLAMPS {
            let text = if percent >= 100.0 { "max".to_owned() } else { format!("{percent} %") };
            let hint = format!("Follows the drawn values: {percent} % of them lie below it");
            let is_chosen = choice.clamp.is_some_and(|clamp| clamp.total_cmp(&percent).is_eq());
            if ui.selectable_label(is_chosen, text).on_hover_text(hint).clicked() {
                own(AttentionCommand::SetClamp(Some(percent)));
            }
        }
    });
    ui.horizontal(|ui| {
        ui.label("Map");
        if state.mode == Mode::Difference {
            for map in DivergingMap::ALL {
                let hint = "For differences; safe for colour-blind readers";
                if ui.selectable_label(state.diverging == map, map.name()).on_hover_text(hint).clicked() {
                    own(AttentionCommand::SetDivergingMap(map));
                }
            }
        } else {
            for map in ColorMap::ALL {
                let hint = "Grows lighter all the way; safe for colour-blind readers";
                if ui.selectable_label(state.map == map, map.name()).on_hover_text(hint).clicked() {
                    own(AttentionCommand::SetMap(map));
                }
            }
        }
    });
    ui.label(RichText::new("The range can be dragged on the colour bar, too.").weak().size(11.0));
}

/// A field for one end of the range.
fn range_field(value: &mut f32) -> DragValue<'_> {
    let speed = f64::from(*value).max(1e-6) * 0.02;
    DragValue::new(value)
        .range(0.0..=1.0)
        .speed(speed)
        .custom_formatter(|value, _| short_number(value as f32))
}

fn scale_kinds(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    for kind in ScaleKind::ALL {
        let hint = match kind {
            ScaleKind::Log => "Colours by the logarithm: small weights are seen, too",
            ScaleKind::Sqrt => "Colours by the square root",
            ScaleKind::Linear => "Colours in proportion: only heavy weights are seen",
        };
        let chosen = state.choice().scale.kind == kind;
        if ui.selectable_label(chosen, kind.name()).on_hover_text(hint).clicked() {
            own(AttentionCommand::SetScale(kind));
        }
    }
}

/// Laid out from right to left.
fn zooming(ui: &mut Ui, state: &AttentionState, says_zoom: bool, own: &mut impl FnMut(AttentionCommand)) {
    let Some(side) = state.matrix.as_ref().map(crate::engine::patterns::Matrix::side) else { return };
    let zoom = state.view(side).zoom(side);
    let fit = ui.add_enabled(zoom > 1.0, Button::new("Fit"));
    if fit.on_hover_text("Show the whole matrix (0, or double-click)").clicked() {
        own(AttentionCommand::Fit);
    }
    let hint = "A drag draws a box to zoom to (without this: Shift-drag, or drag with the other button)";
    if ui.add(Button::selectable(state.box_zoom, "Box")).on_hover_text(hint).clicked() {
        own(AttentionCommand::SetBoxZoom(!state.box_zoom));
    }
    if !says_zoom {
        return;
    }
    let pool = state.pictures.as_ref().map_or(1, Pictures::finest_pool);
    let text = match pool {
        _ if !state.is_settled() => "refining…".to_owned(),
        1 => format!("{zoom:.1}×"),
        pool => format!("{zoom:.1}× · {pool}:1"),
    };
    let hint = if pool > 1 {
        format!(
            "Magnification. Each drawn cell shows the heaviest of {pool} × {pool} weights; zoom in for single ones"
        )
    } else {
        "Magnification. Every weight is drawn".to_owned()
    };
    ui.weak(text).on_hover_text(hint);
}

/// The row above the large half: what its mode lets choose.
pub(super) fn of_mode(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let mut own = |command| actions.push(AttentionAction::Own(command));
    match state.mode {
        Mode::Pattern => pattern_options(ui, state, &mut own),
        Mode::Difference => difference_controls::ui(ui, state, view, MODE_FITS, &mut own),
        Mode::Lines => line_options(ui, state, view, &mut own),
    }
}

fn pattern_options(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    let fits = ui.available_width() >= MODE_FITS;
    scale_kinds(ui, state, own);
    if !fits {
        let tip = "Floor of the logarithmic scale";
        options_menu(ui, "⋯", tip, |ui| floors(ui, state, own)).accessible_name("More about the scale");
        return;
    }
    if state.weights.scale.kind == ScaleKind::Log {
        let floor = floor_name(state.weights.scale.floor);
        let shown = ComboBox::from_id_salt("floor").selected_text(floor).width(84.0);
        let shown = shown.show_ui(ui, |ui| floors(ui, state, own));
        shown.response.on_hover_text("Weights below this look alike").accessible_name("Floor of the scale");
    }
    let shown = ComboBox::from_id_salt("colour map").selected_text(state.map.name()).width(72.0);
    let shown = shown.show_ui(ui, |ui| {
        for map in ColorMap::ALL {
            if ui.selectable_label(state.map == map, map.name()).clicked() {
                own(AttentionCommand::SetMap(map));
            }
        }
    });
    shown.response.on_hover_text("All maps are safe for colour-blind readers").accessible_name("Colour map");
}

fn floor_name(floor: f32) -> String {
    format!("from {}", short_number(floor))
}

fn floors(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    let scale = state.weights.scale;
    for each in FLOORS {
        let is_chosen = scale.kind == ScaleKind::Log && scale.floor.total_cmp(&each).is_eq();
        let hint = "Weights below this look alike";
        if ui.selectable_label(is_chosen, floor_name(each)).on_hover_text(hint).clicked() {
            own(AttentionCommand::SetFloor(each));
        }
    }
}

fn line_options(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let side = view.capture.len();
    let mut first = state.lines.first.min(side.saturating_sub(1));
    let fits = ui.available_width() >= MODE_FITS;
    ui.label(if fits { "From token" } else { "From" });
    let from = ui.add(DragValue::new(&mut first).range(0..=side.saturating_sub(1)).speed(0.3));
    name(&from, "First token of the lines");
    if from.on_hover_text("First token of the window").changed() {
        own(AttentionCommand::LinesFrom(first));
    }
    ui.label(if fits { "weight ≥" } else { "≥" });
    let mut least = state.lines.least;
    let field = ui.add(DragValue::new(&mut least).range(0.0..=1.0).speed(0.002).max_decimals(3));
    name(&field, "Least weight of a line");
    if field.on_hover_text("Weights below this draw no line").changed() {
        own(AttentionCommand::SetLeastLine(least));
    }
    let heads = view.capture.model.spec.heads;
    let all = state.lines.heads.len() == heads;
    let hint = "All heads of the layer, each in its colour, or the focused one only";
    if ui.add(Button::selectable(all, "All heads")).on_hover_text(hint).clicked() {
        own(AttentionCommand::AllLineHeads(!all));
    }
}
