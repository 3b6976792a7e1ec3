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
    leave_text(ctx, state);
    read_escape(ctx, state, commands);
    actions::read_keys(ctx, state, commands);
    ctx.input(|input| {
        for file in &input.raw.dropped_files {
            commands.push(Command::OpenPath(file.path().to_owned()));
        }
    });
}

/// Escape in a text leaves the text and nothing else, unless a job can be cancelled by it. The text has lost the
/// keyboard already when this is asked.
fn leave_text(ctx: &egui::Context, state: &AppState) {
    let id = egui::Id::unique("was writing");
    let writing = ctx.text_edit_focused();
    let was_writing = ctx.data_mut(|data| std::mem::replace(data.get_temp_mut_or(id, writing), writing));
    if was_writing && !writing && !state.has_dialog() && state.job.is_none() {
        ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    }
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
