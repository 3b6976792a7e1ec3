//! What is subtracted: layer, head and run, and how the tokens of two runs are aligned.

use super::difference::run_of;
use super::draw::AttentionView;
use super::options::{AttentionCommand, Subtrahend};
use super::state::AttentionState;
use crate::app::panels::runs;
use crate::capture::AlignBy;
use crate::widgets::controls::{name, options_menu};
use egui::{Button, ComboBox, DragValue, Ui};

/// Draws them in a row; in less than `roomy` points what is chosen seldom moves into a menu.
pub(super) fn ui(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    roomy: f32,
    own: &mut impl FnMut(AttentionCommand),
) {
    let subtrahend = state.comparison.subtrahend(view.capture, view.others, view.focus);
    let other = run_of(view.others, subtrahend.run);
    let spec = &other.unwrap_or(view.capture).model.spec;
    let mut chosen = subtrahend;
    let fits = ui.available_width() >= roomy;
    ui.label(if fits { "minus" } else { "−" });
    let last = |count: usize| count.saturating_sub(1);
    let layer = ui.add(DragValue::new(&mut chosen.layer).range(0..=last(spec.layers)).prefix("L").speed(0.1));
    name(&layer, "Layer that is subtracted");
    layer.on_hover_text("Layer of the pattern that is subtracted; drag or type");
    let head = ui.add(DragValue::new(&mut chosen.head).range(0..=last(spec.heads)).prefix("H").speed(0.1));
    name(&head, "Head that is subtracted");
    head.on_hover_text("Head of the pattern that is subtracted; drag or type");
    // What follows from nothing being chosen can be chosen, too.
    let picked = runs_menu(ui, view, &mut chosen);
    let tip = "How the tokens of the two runs are aligned";
    ui.add_enabled_ui(other.is_some(), |ui| {
        let response = if fits {
            let shown = ComboBox::from_id_salt("align").selected_text(by_name(chosen.by)).width(84.0);
            shown.show_ui(ui, |ui| alignments(ui, &mut chosen.by)).response.on_hover_text(tip)
        } else {
            options_menu(ui, "⋯", tip, |ui| alignments(ui, &mut chosen.by))
        };
        response.accessible_name("Alignment");
    });
    if picked || chosen != subtrahend {
        own(AttentionCommand::Subtract(chosen));
    }
}

fn by_name(by: AlignBy) -> &'static str {
    if by == AlignBy::Tokens { "by token" } else { "by position" }
}

fn alignments(ui: &mut Ui, by: &mut AlignBy) {
    let hints = [
        (AlignBy::Tokens, "Equal stretches of tokens lie on each other; what is in one run only is n/a"),
        (AlignBy::Position, "Position lies on position, whatever the tokens are"),
    ];
    for (each, hint) in hints {
        ui.selectable_value(by, each, by_name(each)).on_hover_text(hint);
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
