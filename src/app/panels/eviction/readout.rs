//! Exact values at the token under the pointer, else at the selected one; the line keeps its place.

use super::colors;
use super::headline::number;
use crate::app::command::Command;
use crate::app::eviction::EvictionCommand;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::text::{LayoutJob, TextFormat};
use egui::{Align, Color32, DragValue, FontId, Layout, RichText, Ui};

/// The token that the readout and the strip speak of.
pub(super) fn shown_token(state: &AppState) -> Option<usize> {
    state.eviction.hovered.or(state.view.selected)
}

/// Draws the line, with the width of the rolling mean at its end.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.set_height(20.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            width(ui, state, palette, commands);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let mut job = LayoutJob::default();
                for (text, color) in parts(state, run, palette) {
                    job.append(&text, 0.0, TextFormat::simple(FontId::monospace(11.5), color));
                }
                ui.add(egui::Label::new(job).truncate());
            });
        });
    });
}

fn width(ui: &mut Ui, state: &AppState, palette: Palette, commands: &mut Vec<Command>) {
    ui.label(RichText::new("tokens").size(12.0).color(palette.weak));
    let mut width = state.eviction.width_rows;
    let most = state.eviction.full_nll_nats.len().max(1);
    let drag = ui.add(DragValue::new(&mut width).range(1..=most).speed(0.5));
    controls::name(&drag, "Rolling width");
    let tip = "Perplexity and mean ΔNLL are over the last so many tokens; perplexities are never averaged";
    if drag.on_hover_text(tip).changed() {
        commands.push(Command::Eviction(EvictionCommand::SetWidth(width)));
    }
    ui.label(RichText::new("rolling over").size(12.0).color(palette.weak));
}

/// What is said, each part in its colour.
fn parts(state: &AppState, run: &Run, palette: Palette) -> Vec<(String, Color32)> {
    let Some(token) = shown_token(state).filter(|&token| token < run.capture.len()) else {
        let hint = "Point at a token to read its values; click to select it everywhere";
        return vec![(hint.to_owned(), palette.weak)];
    };
    let view = &state.eviction;
    let label = run.capture.tokens.tokens[token].label();
    let mut parts = vec![(format!("{token} {label}"), palette.accent)];
    let Some(row) = token.checked_sub(1) else {
        parts.push(("  nothing predicts the first token".to_owned(), palette.weak));
        return parts;
    };
    let Some(full) = view.full_nll_nats.get(row) else { return parts };
    let rolling = view.full.perplexity_at(token).map_or_else(|| "–".to_owned(), number);
    parts.push((format!("  full PPL {rolling} NLL {full:.2}"), palette.text));
    // What the controls ask for comes first: a long line is cut at its end.
    let others = view.runs.iter().filter(|run| !view.is_live(run));
    for run in view.live_runs().chain(others).filter(|run| run.shown) {
        let color = colors::of_slot(run.slot, palette);
        let values = match (run.series.perplexity_at(token), run.series.delta_at(token)) {
            (Some(perplexity), Some(delta)) => {
                format!("PPL {} Δ {delta:+.2}", number(perplexity)).replace('-', "−")
            }
            _ if row < run.nll_nats.len() => "= full".to_owned(),
            _ => "…".to_owned(),
        };
        parts.push((format!("  {} {values}", run.letter()), color));
    }
    parts
}
