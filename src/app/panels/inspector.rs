//! The inspector: facts about the selected tokens, or what the run says as a whole.

use super::{inspector_facts, inspector_heads, overview};
use crate::app::command::Command;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::tokens::{CopyTokens, TokensCommand};
use crate::widgets::controls::{fact, paint_badge, pressed, section};
use egui::{Layout, RichText, Sense, Ui, vec2};

/// Draws the inspector.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.y = 2.0;
    ui.take_available_width();
    let Some(run) = &state.run else {
        section(ui, "INSPECTOR");
        ui.label(
            RichText::new("Run a prompt and click a token: its class, mass, partners and norms appear here")
                .color(Palette::of(ui).weak),
        );
        return;
    };
    match state.view.selected {
        Some(index) => {
            heading(ui, state, commands);
            title(ui, run, index);
            inspector_facts::ui(ui, state, run, index);
            partners(ui, state, run, commands);
        }
        None => overview::ui(ui, run, commands),
    }
    inspector_heads::ui(ui, state, run, commands);
}

fn heading(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let count = 1 + state.view.also_selected.len();
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        section(ui, &if count == 1 { "SELECTED".to_owned() } else { format!("{count} SELECTED") });
        ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.small_button("Clear").on_hover_text("Select no token (Esc)").clicked() {
                commands.push(Command::ClearSelection);
            }
            lock(ui, state, commands);
            copy(ui, commands);
        });
    });
}

fn lock(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let is_locked = state.tokens.locked == state.view.selection().all();
    let (text, tip, command) = match (state.tokens.locked.is_empty(), is_locked) {
        (true, _) => {
            ("Lock", "Keep this selection beside the next one, to compare them", TokensCommand::Lock)
        }
        (false, true) => ("Unlock", "Keep it no longer", TokensCommand::Unlock),
        (false, false) => ("Unlock", "Keep the locked selection no longer", TokensCommand::Unlock),
    };
    if ui.small_button(text).on_hover_text(tip).clicked() {
        commands.push(Command::Tokens(command));
    }
}

fn copy(ui: &mut Ui, commands: &mut Vec<Command>) {
    let what = [
        (CopyTokens::Text, "Text", "The exact text of the selected tokens (Ctrl+C)"),
        (CopyTokens::Ids, "Ids", "Their ids, separated by spaces"),
        (CopyTokens::Positions, "Positions", "Their positions, separated by spaces"),
        (CopyTokens::All, "All tokens of the prompt", "A line each: position, id, class, text"),
    ];
    let button = egui::containers::menu::MenuButton::from_button(egui::Button::new("Copy").small());
    let (response, _) = button.ui(ui, |ui| {
        for (what, name, tip) in what {
            if ui.button(name).on_hover_text(tip).clicked() {
                commands.push(Command::Tokens(TokensCommand::Copy(what)));
                ui.close();
            }
        }
    });
    response.on_hover_text("Copy the selected tokens, or all");
}

fn title(ui: &mut Ui, run: &Run, index: usize) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        if run.is_sink(index) {
            let (rect, response) = ui.allocate_exact_size(vec2(34.0, 15.0), Sense::hover());
            paint_badge(ui.painter(), rect, "sink", palette.sink, palette.text_on(palette.sink));
            response.on_hover_text("Flagged by the detector");
        }
        let label = run.capture.tokens.tokens[index].label();
        ui.add(egui::Label::new(RichText::new(label).monospace().size(15.0).strong()).truncate());
    });
}

fn partners(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    const MOST: usize = 4;
    let Some(partners) = state.selection_partners() else { return };
    section(ui, if partners.key.outgoing { "ATTENDS MOST TO" } else { "ATTENDED MOST BY" });
    for (token, weight) in partners.strongest(MOST) {
        let label = run.capture.tokens.tokens[token].label();
        let tip = "Mean weight over the chosen layers and heads, of several selected tokens together; click to select";
        let row = fact(ui, &format!("{token}  {label}"), &format!("{weight:.3}"), tip);
        if pressed(ui, &row, &format!("Select token {token}"), tip) {
            commands.push(Command::SelectToken(token));
        }
    }
}
