//! The compare list: every run by letter, name and colour; each can be hidden or removed.

use super::colors;
use super::headline::number;
use crate::app::command::Command;
use crate::app::eviction::{EvictionCommand, ShownRun};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::Curve;
use crate::widgets::controls;
use egui::{Color32, Frame, Margin, RichText, Sense, Stroke, Ui, vec2};

/// Draws the list as a row of chips that wraps.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(5.0, 4.0);
        full_chip(ui, palette);
        for run in &state.eviction.runs {
            chip(ui, state, run, palette, commands);
        }
    });
}

fn framed<R>(ui: &mut Ui, stroke: Color32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let palette = Palette::of(ui);
    let frame = Frame::new()
        .fill(palette.panel)
        .stroke(Stroke::new(1.0, stroke))
        .corner_radius(5)
        .inner_margin(Margin::symmetric(5, 2));
    frame
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 5.0;
                ui.set_height(16.0);
                add(ui)
            })
            .inner
        })
        .inner
}

fn full_chip(ui: &mut Ui, palette: Palette) {
    framed(ui, palette.line, |ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::hover());
        ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(2.0, palette.text));
        ui.label(RichText::new("Full cache").size(12.0)).on_hover_text("Nothing is evicted; always drawn");
    });
}

fn chip(ui: &mut Ui, state: &AppState, run: &ShownRun, palette: Palette, commands: &mut Vec<Command>) {
    let color = colors::of_slot(run.slot, palette);
    let live = state.eviction.is_live(run);
    let name = run.key.name();
    framed(ui, if live { color } else { palette.line }, |ui| {
        let (rect, badge) = ui.allocate_exact_size(vec2(14.0, 14.0), Sense::click());
        let paint = if run.shown { color } else { palette.line };
        colors::badge(ui.painter(), rect.center(), run.letter(), paint, palette);
        let verb = if run.shown { "Hide" } else { "Show" };
        controls::name(&badge, &format!("{verb} run {}", run.letter()));
        if badge.on_hover_text(format!("{verb} its curves")).clicked() {
            commands.push(Command::Eviction(EvictionCommand::Show(run.slot, !run.shown)));
        }
        let text = RichText::new(&name).size(12.0);
        let text = if live { text.strong() } else { text.color(palette.weak) };
        ui.label(text).on_hover_text(details(state, run));
        if !live {
            let remove = ui.add(egui::Button::new("×").frame(false).small());
            let tip = format!("Remove run {}", run.letter());
            controls::name(&remove, &tip);
            if remove.on_hover_text(tip.as_str()).clicked() {
                commands.push(Command::Eviction(EvictionCommand::Remove(run.slot)));
            }
        }
    });
}

/// A run's own numbers, over the rows that its own cache changes.
fn details(state: &AppState, run: &ShownRun) -> String {
    let view = &state.eviction;
    let first_row = run.first_scored_row(view.full_nll_nats.len());
    let curve = Curve { nll_nats: &run.nll_nats, full_nll_nats: &view.full_nll_nats, first_row };
    let mut lines = vec![format!("{}: {}", run.letter(), run.key.name())];
    match curve.perplexity_after_fill().zip(curve.mean_delta_nll_nats()) {
        Some((perplexity, delta)) => {
            lines.push(format!("perplexity {} from token {}", number(perplexity), first_row + 1));
            lines.push(format!("mean ΔNLL {delta:+.3} nats against the full cache").replace('-', "−"));
        }
        None => lines.push("no row differs from the full cache's yet".to_owned()),
    }
    if run.key.scored_from > 0 {
        lines.push(format!("scored from token {}: the detector saw those before", run.key.scored_from + 1));
    }
    if !run.key.pins.is_empty() {
        let shown: Vec<String> = run.key.pins.iter().take(12).map(ToString::to_string).collect();
        let more = if run.key.pins.len() > 12 { ", …" } else { "" };
        lines.push(format!("pinned {}{more}", shown.join(", ")));
    }
    if let Some(finished) = &run.finished {
        lines.push(format!("computed in {}", crate::app::format::millis(finished.wall_ms)));
    }
    lines.join("\n")
}
