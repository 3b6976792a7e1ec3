//! What of the strip's keys is no plain shortcut.

use super::{CopyTokens, TokensCommand};
use crate::app::command::Command;
use crate::app::state::AppState;
use egui::{Context, Event, Id};

/// The search field.
#[must_use]
pub(in crate::app) fn search_field() -> Id {
    Id::unique("token search")
}

/// Ctrl+C copies the selected tokens' text where no text is being edited: it arrives as an event of its own.
pub(in crate::app) fn read(ctx: &Context, state: &AppState, commands: &mut Vec<Command>) {
    let listens = state.run.is_some() && state.view.selected.is_some() && !state.has_dialog();
    if listens && !ctx.text_edit_focused() && ctx.input(|input| input.events.contains(&Event::Copy)) {
        commands.push(Command::Tokens(TokensCommand::Copy(CopyTokens::Text)));
    }
}
