//! The mass profile: its choices above, the plot below.

use super::{profile_plot, selection_plot};
use crate::analysis::ProfileKind;
use crate::app::command::Command;
use crate::app::format;
use crate::app::handle::THRESHOLDS;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::tokens::{LowerPlot, TokensCommand};
use crate::app::view::{LayerChoice, has_local_layers};
use crate::widgets::controls::{self, segmented};
use egui::{DragValue, Layout, RichText, Ui};

/// Below this width the choices take two rows, in points.
const NARROW: f32 = 740.0;

/// Draws choices and plot.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(run) = &state.run else { return };
    let narrow = ui.available_width() < NARROW;
    let of_selection = state.tokens.plot == LowerPlot::Selection;
    ui.horizontal(|ui| {
        which(ui, state, commands);
        if !of_selection {
            normalisation(ui, state, commands);
        }
        if !narrow {
            ui.separator();
            averaged_over(ui, state, run, commands);
        }
    });
    if narrow {
        ui.horizontal(|ui| averaged_over(ui, state, run, commands));
    }
    match state.tokens.plot {
        LowerPlot::Mass => profile_plot::ui(ui, state, run, commands),
        LowerPlot::Selection => selection_plot::ui(ui, state, run, commands),
    }
}

/// Layers and heads, and at the right end what is made of them.
fn averaged_over(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    layers(ui, state, run, commands);
    head(ui, state, run, commands);
    ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
        if state.tokens.plot == LowerPlot::Selection {
            selection_plot::legend(ui, state, run);
        } else {
            threshold(ui, state, run, commands);
        }
    });
}

fn which(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let plots = [
        (LowerPlot::Mass, "Mass profile", "Attention that each key receives, over key positions"),
        (
            LowerPlot::Selection,
            "Selection",
            "The column of the selected tokens (who attends to them), or with the strip on Outgoing their row",
        ),
    ];
    if let Some(plot) = segmented(ui, state.tokens.plot, &plots) {
        commands.push(Command::Tokens(TokensCommand::ShowPlot(plot)));
    }
}

fn normalisation(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let choices = [
        (
            ProfileKind::FarLift,
            "far-lift",
            "Against uniform attention, only queries at least 16 behind the key; the choice for detection",
        ),
        (
            ProfileKind::Share,
            "share",
            "Share of all attention; early keys look large, since more queries see them",
        ),
        (
            ProfileKind::Alpha,
            "α",
            "Mean weight from the queries that see the key (Gu et al.); the last keys look large",
        ),
        (ProfileKind::Lift, "lift", "Against uniform attention, all queries"),
    ];
    if let Some(kind) = segmented(ui, state.view.profile, &choices) {
        commands.push(Command::SetProfile(kind));
    }
}

fn layers(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let spec = &run.capture.model.spec;
    let last = spec.layers.saturating_sub(1);
    let shown = match state.view.layers {
        LayerChoice::All => "all layers".to_owned(),
        LayerChoice::Global => "global layers".to_owned(),
        LayerChoice::Range(a, b) if a == b => format!("layer {a}"),
        LayerChoice::Range(a, b) => format!("layers {a}–{b}"),
    };
    let combo =
        egui::ComboBox::from_id_salt("layers").width(98.0).selected_text(shown.clone()).show_ui(ui, |ui| {
            let mut choose = |ui: &mut Ui, choice: LayerChoice, label: &str, tip: &str| {
                if ui.selectable_label(state.view.layers == choice, label).on_hover_text(tip).clicked() {
                    commands.push(Command::SetLayers(choice));
                }
            };
            choose(ui, LayerChoice::All, "all layers", "Mean over every layer");
            if has_local_layers(spec) {
                choose(
                    ui,
                    LayerChoice::Global,
                    "Global layers only",
                    "Only layers that see the whole text: the better choice for detection in mixed models",
                );
            }
            let focus = state.view.focus.layer.min(last);
            choose(
                ui,
                LayerChoice::Range(focus, focus),
                &format!("layer {focus} (the focused head's)"),
                "Only this layer",
            );
            let third = spec.layers / 3;
            if third > 0 {
                choose(
                    ui,
                    LayerChoice::Range(0, third - 1),
                    &format!("first third: 0–{}", third - 1),
                    "Early layers",
                );
                choose(
                    ui,
                    LayerChoice::Range(third, 2 * third - 1),
                    &format!("middle third: {third}–{}", 2 * third - 1),
                    "Middle layers",
                );
                choose(
                    ui,
                    LayerChoice::Range(2 * third, last),
                    &format!("last third: {}–{last}", 2 * third),
                    "Late layers",
                );
            }
            range(ui, state, last, commands);
        });
    controls::name(&combo.response, "Layers");
    combo.response.on_hover_text("Layers that the profile averages over");
    if has_local_layers(spec) {
        let is_global = state.view.layers == LayerChoice::Global;
        let tip = "Only layers that see the whole text: the better choice for detection in mixed models; \
                   again: all layers";
        if ui.add(egui::Button::selectable(is_global, "Global only")).on_hover_text(tip).clicked() {
            let layers = if is_global { LayerChoice::All } else { LayerChoice::Global };
            commands.push(Command::SetLayers(layers));
        }
    }
}

fn range(ui: &mut Ui, state: &AppState, last: usize, commands: &mut Vec<Command>) {
    let (mut first, mut end) = match state.view.layers {
        LayerChoice::Range(a, b) => (a, b),
        _ => (0, last),
    };
    ui.horizontal(|ui| {
        ui.label("from");
        let a = ui.add(DragValue::new(&mut first).range(0..=last)).on_hover_text("First layer");
        ui.label("to");
        let b = ui.add(DragValue::new(&mut end).range(0..=last)).on_hover_text("Last layer");
        if a.changed() || b.changed() {
            commands.push(Command::SetLayers(LayerChoice::Range(first.min(end), end.max(first))));
        }
    });
}

fn head(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let shown = state.view.head.map_or_else(|| "all heads".to_owned(), |head| format!("head {head}"));
    let combo =
        egui::ComboBox::from_id_salt("heads").width(82.0).selected_text(shown.clone()).show_ui(ui, |ui| {
            if ui.selectable_label(state.view.head.is_none(), "all heads").clicked() {
                commands.push(Command::SetHead(None));
            }
            for head in 0..run.capture.model.spec.heads {
                if ui.selectable_label(state.view.head == Some(head), format!("head {head}")).clicked() {
                    commands.push(Command::SetHead(Some(head)));
                }
            }
        });
    controls::name(&combo.response, "Heads");
    combo.response.on_hover_text("Heads that the profile averages over");
}

fn threshold(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    if let Some(why) = run.analysis.not_tested() {
        ui.label(RichText::new(why).color(palette.warn)).on_hover_text(
            "With so few keys the spread can't be told: profile and sink rate are shown as evidence",
        );
        return;
    }
    let detection = &run.analysis.detection;
    let floored =
        if detection.floored > 0 { format!(", {} floored", detection.floored) } else { String::new() };
    let says = format!("{:>3} sinks{floored}", run.analysis.sinks.len());
    if ui.available_width() > 180.0 {
        ui.label(RichText::new(says).monospace().color(palette.sink));
    }
    let mut z = state.view.threshold;
    let drag = ui
        .add(DragValue::new(&mut z).speed(0.02).range(THRESHOLDS).fixed_decimals(2).prefix("z > "))
        .on_hover_text(
            "Threshold of the log-MAD detector; drag here or drag the line. 3.5 is Iglewicz and Hoaglin's",
        );
    if drag.changed() {
        commands.push(Command::SetThreshold(z));
    }
    if ui
        .add_enabled((z - crate::analysis::DEFAULT_THRESHOLD).abs() > 1e-9, egui::Button::new("3.5").small())
        .on_hover_text("Back to the usual threshold")
        .clicked()
    {
        commands.push(Command::SetThreshold(crate::analysis::DEFAULT_THRESHOLD));
    }
    let tip = format!(
        "median {} · MAD {:.3} in ln units",
        format::significant(detection.median_ln.exp()),
        detection.mad_ln
    );
    if ui.available_width() > 60.0 {
        ui.label(RichText::new("log-MAD").color(palette.weak)).on_hover_text(tip);
    }
}
