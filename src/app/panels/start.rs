//! What the centre shows before the first result: that a model loads, or what to do without one.

use crate::app::command::{Command, PickKind};
use crate::app::hub::HubCommand;
use crate::app::prompt::Sample;
use crate::app::shortcuts;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::source::ModelRef;
use egui::{RichText, Ui};

/// Draws the start page.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.add_space(ui.available_height() * 0.22);
    ui.vertical_centered(|ui| {
        ui.set_max_width(520.0);
        ui.label(RichText::new("Sinkscope").size(24.0).strong());
        ui.label(RichText::new("See where every head's attention goes").color(palette.weak));
        ui.add_space(16.0);
        match (&state.job, &state.model_failure) {
            (Some(job), _) => {
                ui.label(job.line());
                steps(ui, state, palette);
            }
            (None, Some(why)) => {
                ui.label(RichText::new(why).color(palette.error));
                steps(ui, state, palette);
                ui.add_space(12.0);
                choices(ui, commands);
            }
            (None, None) if state.model.is_some() => run(ui, state, commands),
            (None, None) => choices(ui, commands),
        }
    });
}

/// There is a model, and nothing was run yet: a run was cancelled, or its prompt was empty.
fn run(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let name = state.model.as_ref().map_or("", |model| model.name.as_str());
    ui.label(format!("{name} is ready. Write a prompt on the left and run it."));
    ui.add_space(8.0);
    let keys = ui.ctx().format_shortcut(&shortcuts::RUN);
    let run = egui::Button::new("Run the prompt").shortcut_text(keys);
    if ui.add_enabled(state.can_run(), run).on_hover_text("Run the model over the prompt").clicked() {
        commands.push(Command::Run);
    }
    if ui.button("Use the sample chat").on_hover_text("Four turns about the colour of the sky").clicked() {
        commands.push(Command::LoadSample(Sample::Chat));
    }
    if ui.button("Open a prompt file…").on_hover_text("A .txt, .md or chat .json file").clicked() {
        commands.push(Command::Pick(PickKind::PromptFile));
    }
}

fn steps(ui: &mut Ui, state: &AppState, palette: Palette) {
    ui.add_space(6.0);
    for notice in &state.notices {
        ui.label(RichText::new(notice).size(12.0).color(palette.weak));
    }
}

fn choices(ui: &mut Ui, commands: &mut Vec<Command>) {
    if ui.button("Open model…").on_hover_text("Open a GGUF file").clicked() {
        commands.push(Command::Pick(PickKind::ModelFile));
    }
    if ui.button("Open model folder…").on_hover_text("config.json, safetensors, tokenizer.json").clicked() {
        commands.push(Command::Pick(PickKind::ModelFolder));
    }
    if ui.button("Open from the Hub…").on_hover_text("Choose a model of a repository").clicked() {
        commands.push(Command::Hub(HubCommand::Show(true)));
    }
    if ui.button("Try the default model again").on_hover_text("SmolLM2-135M-Instruct").clicked() {
        commands.push(Command::OpenModel(ModelRef::Default));
    }
    ui.label("or drop a .gguf file or a model folder on this window");
}
