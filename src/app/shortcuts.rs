//! Keys and dropped files.

use super::actions;
use super::command::Command;
use super::guide::GuideCommand;
use super::state::AppState;
use egui::{Key, KeyboardShortcut, Modifiers};

/// Runs the prompt.
pub(super) const RUN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Enter);
/// Opens a model file.
pub(super) const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
/// Saves the session.
pub(super) const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
/// Exports a view.
pub(super) const EXPORT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::E);

/// Turns keys and dropped files into commands.
pub(super) fn read(ctx: &egui::Context, state: &AppState, commands: &mut Vec<Command>) {
    super::tokens::keys::read(ctx, state, commands);
    read_escape(ctx, state, commands);
    actions::read_keys(ctx, state, commands);
    ctx.input(|input| {
        for file in &input.raw.dropped_files {
            commands.push(Command::OpenPath(file.path().to_owned()));
        }
    });
}

/// Escape is for the dialog that is open, except that the Hub's waits for its download; a tour ends before
/// a job is cancelled or a selection cleared.
fn read_escape(ctx: &egui::Context, state: &AppState, commands: &mut Vec<Command>) {
    let waits = state.hub.is_open && state.hub.opening.is_some() && state.job.is_some();
    let tours = state.guide.tour.is_some() && state.run.is_some() && !state.has_dialog();
    if !(waits || tours) || !ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
        return;
    }
    commands.push(if waits { Command::Cancel } else { Command::Guide(GuideCommand::EndTour) });
}
