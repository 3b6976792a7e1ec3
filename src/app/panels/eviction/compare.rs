//! The compare list: every run by letter, name and colour; each can be hidden or removed.

use super::colors;
use super::headline::number;
use crate::app::command::Command;
use crate::app::eviction::{EvictionCommand, ShownRun};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::Curve;
use egui::{
    Align2, Color32, FontId, Galley, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use std::sync::Arc;

/// Height of a chip, in points.
const HEIGHT: f32 = 20.0;
/// Room left and right inside a chip.
const MARGIN: f32 = 6.0;
/// Room of the letter, with its distance to the name.
const BADGE_ROOM: f32 = 19.0;

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

/// Places of a chip's parts.
struct Chip {
    badge: Rect,
    name: Rect,
    remove: Rect,
}

/// Allocates a chip for a name, so that the row can wrap before it, and draws its frame.
fn frame(ui: &mut Ui, name: Arc<Galley>, color: Color32, stroke: Color32, removable: bool) -> Chip {
    let palette = Palette::of(ui);
    let button = if removable { HEIGHT - 6.0 } else { 0.0 };
    let width = MARGIN + BADGE_ROOM + name.size().x + MARGIN + button;
    let (rect, _) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    ui.painter().rect(rect, 5.0, palette.panel, Stroke::new(1.0, stroke), StrokeKind::Inside);
    let at = pos2(rect.left() + MARGIN + BADGE_ROOM, rect.center().y - name.size().y / 2.0);
    let name_rect = Rect::from_min_size(at, name.size());
    ui.painter().galley(at, name, color);
    let badge = Rect::from_center_size(pos2(rect.left() + MARGIN + 7.0, rect.center().y), Vec2::splat(16.0));
    let remove = Rect::from_min_max(pos2(rect.right() - button - 2.0, rect.top()), rect.right_bottom());
    Chip { badge, name: name_rect, remove }
}

fn full_chip(ui: &mut Ui, palette: Palette) {
    let font = FontId::proportional(12.0);
    let name = ui.painter().layout_no_wrap("Full cache".to_owned(), font, palette.text);
    let chip = frame(ui, name, palette.text, palette.line, false);
    let line = chip.badge.shrink(1.0);
    ui.painter().hline(line.x_range(), line.center().y, Stroke::new(2.0, palette.text));
    let response = ui.interact(chip.name, ui.scope_id().with("full"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, "Full cache"));
    response.on_hover_text("Nothing is evicted; always drawn");
}

fn chip(ui: &mut Ui, state: &AppState, run: &ShownRun, palette: Palette, commands: &mut Vec<Command>) {
    let color = colors::of_slot(run.slot, palette);
    let live = state.eviction.is_live(run);
    let (text, stroke) = if live { (palette.text, color) } else { (palette.weak, palette.line) };
    let title = run.key.name();
    let name = ui.painter().layout_no_wrap(title.clone(), FontId::proportional(12.0), text);
    let chip = frame(ui, name, text, stroke, !live);
    let part = |rect: Rect, part: &str, label: &str, sense: Sense| {
        let response = ui.interact(rect, ui.scope_id().with((part, run.slot)), sense);
        let role = if sense.senses_click() { egui::Role::Button } else { egui::Role::Label };
        response.widget_info(|| WidgetInfo::labeled(role, true, label));
        response
    };
    part(chip.name, "name", &title, Sense::hover()).on_hover_text(details(state, run));
    let verb = if run.shown { "Hide" } else { "Show" };
    let label = format!("{verb} run {}", run.letter());
    let toggle =
        part(chip.badge, "badge", &label, Sense::click()).on_hover_text(format!("{verb} its curves"));
    let paint = if run.shown { color } else { palette.line };
    colors::badge(ui.painter(), chip.badge.center(), run.letter(), paint, palette);
    if toggle.clicked() {
        commands.push(Command::Eviction(EvictionCommand::Show(run.slot, !run.shown)));
    }
    if live {
        return;
    }
    let label = format!("Remove run {}", run.letter());
    let remove = part(chip.remove, "remove", &label, Sense::click()).on_hover_text(label.as_str());
    let ink = if remove.hovered() { palette.text } else { palette.weak };
    let font = FontId::proportional(12.0);
    ui.painter().text(chip.remove.center(), Align2::CENTER_CENTER, "×", font, ink);
    if remove.clicked() {
        commands.push(Command::Eviction(EvictionCommand::Remove(run.slot)));
    }
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
