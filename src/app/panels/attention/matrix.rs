//! The large half of the view: a pattern, a difference, or lines.

use super::draw::{AttentionAction, AttentionView};
use super::lines::chosen_heads;
use super::options::{AttentionCommand, Hiding, Mode};
use super::state::AttentionState;
use crate::capture::Difference;
use crate::engine::patterns::Matrix;
use crate::widgets::heatmap::{Heatmap, HeatmapEvent, value_text};
use crate::widgets::lines::{LineSet, LinesEvent, LinesView, labels_that_fit, set_color};
use egui::{Button, Ui};
use std::sync::Arc;

/// Shows the matrix; returns where its plot is, and its side in physical pixels.
pub(super) fn show(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) -> (egui::Rect, f64) {
    let before = (state.plot, state.side_px.max(1.0));
    let Some(pictures) = &state.pictures else { return before };
    let difference = state.comparison.shown().filter(|_| state.mode == Mode::Difference);
    if state.mode == Mode::Difference && state.matrix.is_none() {
        ui.centered_and_justified(|ui| ui.weak("Aligning the tokens of the two runs…"));
        return before;
    }
    let Some(matrix) = &state.matrix else { return before };
    let side = matrix.side();
    let places = Places { difference };
    let hides = state.mode == Mode::Pattern && state.hiding != Hiding::Shown;
    let marked: Vec<usize> = view.sinks.iter().filter_map(|&sink| places.entry(sink)).collect();
    let output = Heatmap {
        name: if difference.is_some() { "Attention difference" } else { "Attention pattern" },
        row_name: "query",
        column_name: "key",
        side,
        view: state.view(side),
        tiles: &pictures.tiles(),
        labels: if difference.is_some() { &state.comparison.labels } else { &state.labels },
        number: &|position| match difference.map(|difference| difference.alignment.pairs.get(position)) {
            None => position.to_string(),
            // The current run's position, else the other's in brackets.
            Some(Some(&(Some(first), _))) => first.to_string(),
            Some(Some(&(None, Some(second)))) => format!("({second})"),
            Some(_) => String::new(),
        },
        full_number: &|position| match difference {
            Some(_) => state.comparison.numbers.get(position).cloned().unwrap_or_default(),
            None => position.to_string(),
        },
        value: &|query, key| matrix.cell(query, key),
        note: &|query, key| difference.map_or_else(String::new, |difference| both(difference, query, key)),
        unit: if difference.is_some() { "a − b" } else { "weight" },
        not_available: match (difference, matrix) {
            (Some(_), _) => Some("in one only"),
            (None, Matrix::Weights { shaping, .. }) if shaping.renormalised => Some("n/a (emptied)"),
            _ => None,
        },
        box_zoom: state.box_zoom,
        table: pictures.table(),
        selected: view.selected.and_then(|token| places.entry(token)),
        marked: &marked,
        hatched: if hides { view.sinks } else { &[] },
        cursor: state.cursor,
        colors: view.heatmap,
    }
    .show(ui);
    for event in output.events {
        let own = match event {
            HeatmapEvent::View(view) if view.is_fit(side) => AttentionCommand::Fit,
            HeatmapEvent::View(view) => AttentionCommand::Zoom(view),
            HeatmapEvent::Cursor(query, key) => AttentionCommand::MoveCursor(query, key),
            HeatmapEvent::Range(scale) => AttentionCommand::SetRange(scale),
            HeatmapEvent::ResetRange => AttentionCommand::ResetScale,
            HeatmapEvent::Picked(_, key) => {
                actions.extend(places.token(key).map(AttentionAction::SelectToken));
                continue;
            }
        };
        actions.push(AttentionAction::Own(own));
    }
    (output.response.rect, output.side_px)
}

/// Tokens of the current run among the entries of a difference.
struct Places<'a> {
    difference: Option<&'a Arc<Difference>>,
}

impl Places<'_> {
    fn entry(&self, token: usize) -> Option<usize> {
        self.difference.map_or(Some(token), |difference| difference.alignment.entry_of(token))
    }

    fn token(&self, entry: usize) -> Option<usize> {
        self.difference.map_or(Some(entry), |difference| difference.alignment.pairs.get(entry)?.0)
    }
}

/// Both weights of a difference's cell.
fn both(difference: &Difference, query: usize, key: usize) -> String {
    let (a, b) = difference.weights(query, key);
    if a.is_none() && b.is_none() {
        return String::new();
    }
    let text =
        |weight: Option<f32>| weight.map_or_else(|| "n/a".to_owned(), |weight| value_text(Some(weight)));
    format!("{} − {}", text(a), text(b))
}

/// Shows the lines.
pub(super) fn lines(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let heads = view.capture.model.spec.heads;
    let dark = ui.visuals().dark_mode;
    let chosen = chosen_heads(&state.lines, view.focus.1, heads);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(3.0, 2.0);
        for head in 0..heads {
            let on = chosen.contains(&head);
            let text = egui::RichText::new(format!("H{head}")).size(11.0);
            let mut button = Button::selectable(on, text).min_size(egui::vec2(26.0, 18.0));
            if on {
                button = button.stroke(egui::Stroke::new(2.0, set_color(head, dark)));
            }
            let hint = format!("Lines of layer {}, head {head}", view.focus.0);
            if ui.add(button).on_hover_text(hint).clicked() {
                actions.push(AttentionAction::Own(AttentionCommand::ToggleLineHead(head)));
            }
        }
    });
    let tokens = labels_that_fit(ui.available_height());
    let weights = &state.line_weights.window;
    let names: Vec<String> = weights.heads.iter().map(|(head, _)| format!("H{head}")).collect();
    let sets: Vec<LineSet<'_>> = weights
        .heads
        .iter()
        .zip(&names)
        .map(|((head, weights), name)| LineSet { name, color: set_color(*head, dark), weights })
        .collect();
    let rows: Vec<usize> = weights.rows.clone().collect();
    let events = LinesView {
        name: "Attention lines",
        names: ("Query", "Key"),
        labels: &state.labels,
        rows: &rows,
        columns: &weights.keys,
        sets: &sets,
        least: state.lines.least,
        selected: view.selected,
        marked: view.sinks,
        colors: view.lines,
    }
    .show(ui);
    let last = view.capture.len().saturating_sub(tokens.min(view.capture.len()));
    for event in events {
        match event {
            LinesEvent::Picked(token) => actions.push(AttentionAction::SelectToken(token)),
            LinesEvent::Scroll(by) => {
                let first = state.lines.first.min(last).saturating_add_signed(by).min(last);
                actions.push(AttentionAction::Own(AttentionCommand::LinesFrom(first)));
            }
        }
    }
    if state.line_tokens != tokens {
        actions.push(AttentionAction::Own(AttentionCommand::FitLines(tokens)));
    }
}
