//! The inspector: facts about the selected token, or what the run says as a whole.

use super::overview;
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::{Run, TokenFacts};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::view::HeadId;
use crate::widgets::controls::{fact, paint_badge, paint_bar, section};
use egui::{Align2, FontId, Rect, RichText, Sense, Ui, pos2, vec2};

/// Draws the inspector.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.take_available_width();
    let Some(run) = &state.run else {
        section(ui, "INSPECTOR");
        ui.label(RichText::new("Facts about a token appear here").color(Palette::of(ui).weak));
        return;
    };
    match state.view.selected {
        Some(index) => {
            token(ui, run, index, commands);
            partners(ui, state, run, commands);
        }
        None => overview::ui(ui, run, commands),
    }
    if let Some(facts) = &run.focus {
        layers(ui, run, facts, commands);
    }
}

fn token(ui: &mut Ui, run: &Run, index: usize, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let analysis = &run.analysis;
    let token = &run.capture.tokens.tokens[index];
    ui.horizontal(|ui| {
        section(ui, "SELECTED TOKEN");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.small_button("Clear").on_hover_text("Select no token (Esc)").clicked() {
                commands.push(Command::ClearSelection);
            }
        });
    });
    ui.horizontal(|ui| {
        ui.label(RichText::new(token.label()).monospace().size(15.0).strong());
        if run.is_sink(index) {
            sink_mark(ui, palette);
        }
    });
    let class = analysis.classes[index];
    fact(ui, "Index", &index.to_string(), "Position in the prompt, from 0");
    fact(ui, "Token id", &token.id.to_string(), "Id in the model's vocabulary");
    fact(ui, "Class", class.name(), class.meaning());
    fact(
        ui,
        "z",
        &format::z(analysis.detection.z[index]),
        "Distance from the median token in robust standard deviations of the logarithm",
    );
    let kind = crate::analysis::ProfileKind::FarLift;
    let far = analysis.far_lift[index]
        .map_or_else(|| "n/a".to_owned(), |v| format!("{} ×", format::significant(v)));
    fact(
        ui,
        kind.name(),
        &far,
        "Attention from far queries against uniform attention; n/a for the last keys",
    );
    fact(
        ui,
        "α",
        &format::profile_value(crate::analysis::ProfileKind::Alpha, analysis.alpha[index]),
        "Mean weight that a query which can see this key gives it",
    );
    fact(
        ui,
        "Share",
        &analysis.share[index].map_or_else(|| "n/a".to_owned(), format::percent),
        "Share of all attention",
    );
    let rate = format!("{} at n = {}", format::percent(analysis.sink_rate[index]), run.capture.len());
    fact(ui, "Sink rate", &rate, "Share of heads with α > 0.3; it falls with the number of tokens");
    norms(ui, run, index);
}

fn sink_mark(ui: &mut Ui, palette: Palette) {
    let (rect, response) = ui.allocate_exact_size(vec2(34.0, 15.0), Sense::hover());
    paint_badge(ui.painter(), rect, "sink", palette.sink, palette.text_on(palette.sink));
    response.on_hover_text("Flagged by the detector");
}

fn norms(ui: &mut Ui, run: &Run, index: usize) {
    let facts = run.focus.as_ref().filter(|facts| facts.index == index);
    let Some(c) = facts.and_then(|facts| facts.corroboration.as_ref()) else { return };
    let birth = c.birth_layer.map_or_else(|| "–".to_owned(), |layer| format!("layer {layer}"));
    fact(ui, "Born in", &birth, "First layer whose far-lift over all heads exceeds 5");
    let hidden = format!("{} × (layer {})", format::significant(c.hidden_norm_ratio), c.hidden_norm_layer);
    let massive = if c.massive { "\nMassive activation" } else { "" };
    fact(ui, "Hidden norm", &hidden, &format!("Against the median token, where it is largest{massive}"));
    fact(
        ui,
        "Key norm",
        &format!("{} ×", format::significant(c.key_norm_ratio)),
        "Against the median token; small at sinks",
    );
    fact(
        ui,
        "Value norm",
        &format!("{} ×", format::significant(c.value_norm_ratio)),
        "Against the median token; near 0 where attending here is a head's way to do nothing",
    );
    if let Some(nll) = index.checked_sub(1).and_then(|row| run.capture.nll_nats.get(row)) {
        fact(
            ui,
            "NLL",
            &format!("{nll:.2} nats"),
            "Negative log-likelihood of this token, given those before it",
        );
    }
}

fn partners(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    const MOST: usize = 4;
    let Some(partners) = state.shown_partners() else { return };
    section(ui, if partners.key.outgoing { "IT ATTENDS MOST TO" } else { "ATTENDED MOST BY" });
    let mut order: Vec<(usize, f32)> =
        partners.weights.iter().enumerate().filter_map(|(token, weight)| Some((token, (*weight)?))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (token, weight) in order.into_iter().filter(|(token, _)| *token != partners.key.token).take(MOST) {
        let label = run.capture.tokens.tokens[token].label();
        let response = fact(
            ui,
            &format!("{token}  {label}"),
            &format!("{weight:.3}"),
            "Mean weight over the chosen layers and heads; click to select",
        );
        if response.interact(Sense::click()).clicked() {
            commands.push(Command::SelectToken(token));
        }
    }
}

/// A bar a layer: the mean over heads of α, that is, incoming attention.
fn layers(ui: &mut Ui, run: &Run, facts: &TokenFacts, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let label = run.capture.tokens.tokens[facts.index].label();
    section(ui, "INCOMING ATTENTION BY LAYER");
    ui.label(
        RichText::new(format!("mean α of token {} {label}", facts.index)).size(11.0).color(palette.weak),
    );
    let count = facts.alpha.len();
    if count == 0 {
        return;
    }
    let means: Vec<f64> = facts.alpha.iter().map(|heads| mean(heads)).collect();
    let most = means.iter().copied().fold(0.05, f64::max);
    let row = (ui.available_height() / count as f32).clamp(3.0, 12.0);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), row * count as f32), Sense::click());
    let fill = if run.is_sink(facts.index) { palette.sink } else { palette.bar };
    let hovered = response.hover_pos().map(|pos| layer_at(pos.y - rect.top(), row, count));
    for (layer, &value) in means.iter().enumerate() {
        let top = rect.top() + row * layer as f32;
        let bar =
            Rect::from_min_max(pos2(rect.left() + 20.0, top), pos2(rect.right() - 38.0, top + row - 1.0));
        if hovered == Some(layer) {
            ui.painter().rect_filled(bar.expand2(vec2(0.0, 0.5)), 0.0, palette.hover);
        }
        paint_bar(ui.painter(), bar, (value / most) as f32, palette.raised, fill);
        let marked = layer % label_step(row) == 0 || hovered == Some(layer);
        if marked {
            let font = FontId::monospace(9.5);
            ui.painter().text(
                pos2(rect.left() + 16.0, bar.center().y),
                Align2::RIGHT_CENTER,
                layer,
                font.clone(),
                palette.weak,
            );
            ui.painter().text(
                pos2(rect.right(), bar.center().y),
                Align2::RIGHT_CENTER,
                format!("{value:.3}"),
                font,
                palette.weak,
            );
        }
    }
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, "Incoming attention by layer");
        info.current_text_value = hovered.map(|layer| says(facts, layer));
        info
    });
    if let (true, Some(layer)) = (response.clicked(), hovered) {
        commands.push(Command::FocusHead(HeadId { layer, head: strongest_head(facts, layer) }));
    }
    if let Some(layer) = hovered {
        response.on_hover_text(says(facts, layer));
    }
}

fn says(facts: &TokenFacts, layer: usize) -> String {
    let head = strongest_head(facts, layer);
    let (mean, best) = (mean(&facts.alpha[layer]), facts.alpha[layer].get(head).copied().unwrap_or(0.0));
    format!("Layer {layer}: mean α {mean:.3}, most in head {head}: {best:.3}\nClick to see that head")
}

fn label_step(row: f32) -> usize {
    if row >= 10.0 { 1 } else { 5 }
}

fn layer_at(y: f32, row: f32, count: usize) -> usize {
    ((y / row).max(0.0) as usize).min(count - 1)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn strongest_head(facts: &TokenFacts, layer: usize) -> usize {
    let heads = facts.alpha.get(layer).map_or(&[][..], Vec::as_slice);
    (0..heads.len()).max_by(|&a, &b| heads[a].total_cmp(&heads[b])).unwrap_or(0)
}
