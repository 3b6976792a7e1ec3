//! The options of the attention view.

use super::difference::run_of;
use super::draw::{AttentionAction, AttentionView};
use super::options::{AttentionCommand, Hiding, Mode, Subtrahend};
use super::pictures::Pictures;
use super::state::AttentionState;
use crate::app::panels::runs;
use crate::capture::{AlignBy, PatternOf};
use crate::color::{ColorMap, DivergingMap, ScaleKind};
use crate::widgets::color_bar::short_number;
use crate::widgets::controls::{name, segmented};
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

/// The row above everything: what is shown, how, where.
pub(super) fn top(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let mut own = |command| actions.push(AttentionAction::Own(command));
    ui.horizontal(|ui| {
        let title = ui.strong(pattern_name(state.focused(view.focus)));
        // What comes behind it stays where it is.
        ui.add_space((112.0 - title.rect.width()).max(0.0));
        let modes = [
            (Mode::Pattern, "Pattern", "One pattern, large"),
            (Mode::Difference, "Difference", "Minus another head, or the same head of another run"),
            (Mode::Lines, "Lines", "Tokens in two columns, weights as lines between them"),
        ];
        if let Some(mode) = segmented(ui, state.mode, &modes) {
            own(AttentionCommand::SetMode(mode));
        }
        ui.separator();
        hiding(ui, state, view, &mut own);
        ui.menu_button("Colours ▾", |ui| colours(ui, state, &mut own))
            .response
            .on_hover_text("Scale, range and colour map");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| zooming(ui, state, &mut own));
    });
}

fn hiding(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let enabled = state.mode == Mode::Pattern && !view.sinks.is_empty();
    ui.add_enabled_ui(enabled, |ui| {
        let mut hides = state.hiding != Hiding::Shown;
        let hint = "Draw the columns of detected sinks hatched, and look at the rest";
        let response = ui.checkbox(&mut hides, "Hide sinks");
        let response = response.on_disabled_hover_text("Only a pattern with detected sinks can hide them");
        if response.on_hover_text(hint).changed() {
            own(AttentionCommand::SetHiding(if hides { Hiding::Rescaled } else { Hiding::Shown }));
        }
        // Always there, so that nothing behind it moves.
        ui.add_enabled_ui(state.hiding != Hiding::Shown, |ui| {
            let way = if state.hiding == Hiding::Shown { Hiding::Rescaled } else { state.hiding };
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
fn zooming(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
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
        Mode::Difference => difference_options(ui, state, view, &mut own),
        Mode::Lines => line_options(ui, state, view, &mut own),
    }
}

fn pattern_options(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    scale_kinds(ui, state, own);
    if state.weights.scale.kind == ScaleKind::Log {
        let floor = state.weights.scale.floor;
        let shown = ComboBox::from_id_salt("floor").selected_text(format!("from {}", short_number(floor)));
        let shown = shown.width(84.0).show_ui(ui, |ui| {
            for each in FLOORS {
                let text = format!("from {}", short_number(each));
                if ui.selectable_label(floor.total_cmp(&each).is_eq(), text).clicked() {
                    own(AttentionCommand::SetFloor(each));
                }
            }
        });
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

fn difference_options(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let subtrahend = state.comparison.subtrahend(view.capture, view.others, view.focus);
    let other = run_of(view.others, subtrahend.run);
    let spec = &other.unwrap_or(view.capture).model.spec;
    let mut chosen = subtrahend;
    ui.label("minus");
    let last = |count: usize| count.saturating_sub(1);
    let layer = ui.add(DragValue::new(&mut chosen.layer).range(0..=last(spec.layers)).prefix("L").speed(0.1));
    name(&layer, "Layer that is subtracted");
    layer.on_hover_text("Layer of the pattern that is subtracted; drag or type");
    let head = ui.add(DragValue::new(&mut chosen.head).range(0..=last(spec.heads)).prefix("H").speed(0.1));
    name(&head, "Head that is subtracted");
    head.on_hover_text("Head of the pattern that is subtracted; drag or type");
    // What follows from nothing being chosen can be chosen, too.
    let picked = runs_menu(ui, view, &mut chosen);
    ui.add_enabled_ui(other.is_some(), |ui| {
        let by_name = |by| if by == AlignBy::Tokens { "by token" } else { "by position" };
        let shown = ComboBox::from_id_salt("align").selected_text(by_name(chosen.by)).width(84.0);
        let shown = shown.show_ui(ui, |ui| {
            let hints = [
                (
                    AlignBy::Tokens,
                    "Equal stretches of tokens lie on each other; what is in one run only is n/a",
                ),
                (AlignBy::Position, "Position lies on position, whatever the tokens are"),
            ];
            for (by, hint) in hints {
                if ui.selectable_label(chosen.by == by, by_name(by)).on_hover_text(hint).clicked() {
                    chosen.by = by;
                }
            }
        });
        shown
            .response
            .on_hover_text("How the tokens of the two runs are aligned")
            .accessible_name("Alignment");
    });
    if picked || chosen != subtrahend {
        own(AttentionCommand::Subtract(chosen));
    }
}

/// Which run the subtracted pattern is of: this one, or another open one. Whether one was picked.
fn runs_menu(ui: &mut Ui, view: &AttentionView<'_>, chosen: &mut Subtrahend) -> bool {
    let mut picked = false;
    let place = view.others.iter().position(|other| Some(other.id) == chosen.run);
    let text = place.map_or_else(|| "this run".to_owned(), |place| format!("run {}", runs::letter(place)));
    let shown = ComboBox::from_id_salt("run").selected_text(text).width(78.0);
    let shown = shown.show_ui(ui, |ui| {
        if ui.selectable_label(chosen.run.is_none(), "this run").clicked() {
            picked = true;
            chosen.run = None;
            *chosen = chosen.beside(view.focus, view.capture.model.spec.heads);
        }
        for (place, other) in view.others.iter().enumerate() {
            let line = Button::selectable(chosen.run == Some(other.id), runs::lettered_line(place, other));
            let response = ui.add_enabled(other.has_patterns(), line);
            let response =
                response.on_disabled_hover_text("Only statistics of this run are there, no patterns");
            if response.clicked() {
                picked = true;
                chosen.run = Some(other.id);
            }
        }
        if view.others.is_empty() {
            ui.weak("Run another prompt, model or BOS choice: earlier runs stay open");
        }
    });
    let hint = match place {
        Some(place) => runs::lettered_line(place, view.others[place]),
        None => "Run that the subtracted pattern is of".to_owned(),
    };
    shown.response.on_hover_text(hint).accessible_name("Run that is subtracted");
    picked
}

fn line_options(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    own: &mut impl FnMut(AttentionCommand),
) {
    let side = view.capture.len();
    let mut first = state.lines.first.min(side.saturating_sub(1));
    ui.label("From token");
    let from = ui.add(DragValue::new(&mut first).range(0..=side.saturating_sub(1)).speed(0.3));
    name(&from, "First token of the lines");
    if from.on_hover_text("First token of the window").changed() {
        own(AttentionCommand::LinesFrom(first));
    }
    ui.label("weight ≥");
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
