//! Keys of the strip's tools.

use super::{CopyTokens, TokensCommand};
use crate::app::command::Command;
use crate::app::state::AppState;
use egui::{Context, Event, Id, Key, KeyboardShortcut, Modifiers};

const FIND: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::F);

/// The search field.
#[must_use]
pub(in crate::app) fn search_field() -> Id {
    Id::unique("token search")
}

/// Ctrl+F looks for tokens, F3 goes on; Alt with left and right goes through the selections; Ctrl+C
/// copies the selected tokens' text where no text is being edited.
pub(in crate::app) fn read(ctx: &Context, state: &AppState, commands: &mut Vec<Command>) {
    if state.run.is_none() || state.hub.is_open {
        return;
    }
    let mut push = |command| commands.push(Command::Tokens(command));
    if ctx.input_mut(|input| input.consume_shortcut(&FIND)) {
        ctx.memory_mut(|memory| memory.request_focus(search_field()));
    }
    let writing = ctx.text_edit_focused();
    ctx.input_mut(|input| {
        // The more particular shortcut first: F3 alone would match with Shift too.
        for (modifiers, key, command) in [
            (Modifiers::SHIFT, Key::F3, TokensCommand::Step(-1)),
            (Modifiers::NONE, Key::F3, TokensCommand::Step(1)),
            (Modifiers::ALT, Key::ArrowLeft, TokensCommand::Back),
            (Modifiers::ALT, Key::ArrowRight, TokensCommand::Forward),
        ] {
            if (!writing || key == Key::F3) && input.consume_key(modifiers, key) {
                push(command);
            }
        }
        if !writing && state.view.selected.is_some() && input.events.contains(&Event::Copy) {
            push(TokensCommand::Copy(CopyTokens::Text));
        }
    });
}
