//! The prompt editor: plain text or chat turns, samples, and the prompt as the model saw it.

use crate::app::command::{Command, PickKind};
use crate::app::prompt::{PromptKind, ROLES, Sample};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::tokenizer::{Token, TokenOrigin};
use crate::widgets::controls::{self, section};
use egui::text::{LayoutJob, TextFormat};
use egui::{FontId, RichText, ScrollArea, TextEdit, Ui};

/// Draws the editor into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        section(ui, "PROMPT");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            samples(ui, commands);
        });
    });
    warnings(ui, state);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        // The floating scroll bar must not cover a button.
        ui.set_max_width(ui.available_width() - 9.0);
        match state.prompt.kind {
            PromptKind::Text => text(ui, state, commands),
            PromptKind::Chat => chat(ui, state, commands),
        }
        as_the_model_saw_it(ui, state);
    });
}

fn samples(ui: &mut Ui, commands: &mut Vec<Command>) {
    if ui.small_button("Open…").on_hover_text("Open a .txt, .md or chat .json file as the prompt").clicked()
    {
        commands.push(Command::Pick(PickKind::PromptFile));
    }
    ui.menu_button("Samples ▾", |ui| {
        if ui.button("Short chat").on_hover_text("Four turns about the colour of the sky").clicked() {
            commands.push(Command::LoadSample(Sample::Chat));
        }
        let tip = "More than a thousand tokens of the Declaration of Independence (1776)";
        if ui.button("Long text").on_hover_text(tip).clicked() {
            commands.push(Command::LoadSample(Sample::Text));
        }
    })
    .response
    .on_hover_text("Prompts to begin with");
}

fn warnings(ui: &mut Ui, state: &AppState) {
    let palette = Palette::of(ui);
    let Some(run) = &state.run else { return };
    for warning in &run.capture.tokens.warnings {
        controls::warning(ui, warning, palette.warn);
    }
}

fn text(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let mut text = state.prompt.text.clone();
    let edit = TextEdit::multiline(&mut text)
        .id_salt("prompt text")
        .hint_text("Type a prompt")
        .font(FontId::monospace(12.0))
        .desired_width(f32::INFINITY)
        .desired_rows(14);
    let response = ui.add(edit);
    controls::name(&response, "Prompt text");
    if response.changed() {
        commands.push(Command::SetPromptText(text));
    }
    let mut parse = state.prompt.parse_specials;
    let tip = "Read specials typed in the text, such as <|im_start|>, as special tokens";
    if ui.checkbox(&mut parse, "Parse special tokens").on_hover_text(tip).changed() {
        commands.push(Command::SetParseSpecials(parse));
    }
}

fn chat(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    for (index, turn) in state.prompt.turns.iter().enumerate() {
        ui.push_id(("turn", index), |ui| {
            turn_header(ui, index, &turn.role, commands);
            let mut content = turn.content.clone();
            let edit = TextEdit::multiline(&mut content)
                .hint_text("What is said")
                .desired_width(f32::INFINITY)
                .desired_rows(1);
            let response = ui.add(edit);
            controls::name(&response, &format!("Turn {} content", index + 1));
            if response.changed() {
                commands.push(Command::SetTurnContent(index, content));
            }
        });
    }
    ui.add_space(2.0);
    if ui.small_button("Add turn").on_hover_text("Add a turn of the role that comes next").clicked() {
        commands.push(Command::AddTurn);
    }
}

fn turn_header(ui: &mut Ui, index: usize, role: &str, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let combo = egui::ComboBox::from_id_salt("role")
            .width(84.0)
            .selected_text(RichText::new(role).size(12.0))
            .show_ui(ui, |ui| {
                for choice in ROLES {
                    if ui.selectable_label(role == choice, choice).clicked() {
                        commands.push(Command::SetTurnRole(index, choice.to_owned()));
                    }
                }
            });
        controls::name(&combo.response, &format!("Role of turn {}", index + 1));
        combo.response.on_hover_text("Who speaks");
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let remove = ui.add(egui::Button::new("×").frame(false).small());
            let name = format!("Remove turn {}", index + 1);
            controls::name(&remove, &name);
            if remove.on_hover_text(name.as_str()).clicked() {
                commands.push(Command::RemoveTurn(index));
            }
        });
    });
}

/// The last run's tokens joined to the exact text, with what the template put there set apart.
fn as_the_model_saw_it(ui: &mut Ui, state: &AppState) {
    /// Longer prompts are cut here; the strip shows all.
    const MOST_TOKENS: usize = 600;
    let Some(run) = &state.run else { return };
    let palette = Palette::of(ui);
    egui::CollapsingHeader::new(RichText::new("As the model saw it").size(12.0))
        .id_salt("rendered")
        .show(ui, |ui| {
            let mut job = LayoutJob::default();
            for token in run.capture.tokens.tokens.iter().take(MOST_TOKENS) {
                let color = match token.origin {
                    TokenOrigin::Special => palette.accent,
                    TokenOrigin::Template => palette.weak,
                    TokenOrigin::Text => palette.text,
                };
                job.append(&shown(token), 0.0, TextFormat::simple(FontId::monospace(11.0), color));
            }
            if run.capture.len() > MOST_TOKENS {
                job.append("…", 0.0, TextFormat::simple(FontId::monospace(11.0), palette.weak));
            }
            ui.label(job);
        })
        .header_response
        .on_hover_text("The last run's prompt, special tokens and template text set apart by colour");
}

fn shown(token: &Token) -> String {
    let text = token.text();
    if token.origin == TokenOrigin::Text { text } else { text.replace('\n', "↵\n") }
}
