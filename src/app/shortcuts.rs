//! Keys and dropped files.

use super::command::{Command, PickKind};
use super::eviction::{EvictionCommand, next_budget};
use super::files::FilesCommand;
use super::state::AppState;
use super::view::{SinksPage, Tab};
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
    let writing = ctx.text_edit_focused();
    // Arrows belong to a slider that the keyboard has reached.
    let has_slider = match state.view.tab {
        Tab::Eviction => true,
        Tab::Sinks => state.view.sinks_page == SinksPage::Peak,
        Tab::Attention => false,
    };
    let in_slider = has_slider && ctx.memory(|memory| memory.focused().is_some());
    ctx.input_mut(|input| {
        if input.consume_shortcut(&RUN) {
            commands.push(Command::Run);
        }
        if input.consume_shortcut(&OPEN) {
            commands.push(Command::Pick(PickKind::ModelFile));
        }
        if input.consume_shortcut(&SAVE) {
            commands.push(Command::Files(FilesCommand::Save));
        }
        if input.consume_shortcut(&EXPORT) {
            commands.push(Command::Files(FilesCommand::ShowExport(true)));
        }
        // While the dialog is open, Esc is for it, unless it waits for its download.
        let stops = !state.files.has_dialog() && !state.hub.is_open || state.hub.opening.is_some();
        if state.job.is_some() && stops && input.consume_key(Modifiers::NONE, Key::Escape) {
            commands.push(Command::Cancel);
        }
        for file in &input.raw.dropped_files {
            commands.push(Command::OpenPath(file.path().to_owned()));
        }
        if !writing && !state.hub.is_open && !state.files.has_dialog() {
            read_navigation(input, state, commands, in_slider);
            read_budget(input, state, commands);
        }
    });
}

/// `[` and `]` step the budget of the eviction view.
fn read_budget(input: &mut egui::InputState, state: &AppState, commands: &mut Vec<Command>) {
    let Some(run) = state.run.as_ref().filter(|_| state.view.tab == Tab::Eviction) else { return };
    for (key, up) in [(Key::OpenBracket, false), (Key::CloseBracket, true)] {
        if input.consume_key(Modifiers::NONE, key) {
            let budget = next_budget(state.eviction.choices.budget, up, run.capture.len());
            commands.push(Command::Eviction(EvictionCommand::SetBudget { budget, sliding: false }));
        }
    }
}

fn read_navigation(
    input: &mut egui::InputState,
    state: &AppState,
    commands: &mut Vec<Command>,
    in_slider: bool,
) {
    if input.consume_key(Modifiers::NONE, Key::Escape) {
        commands.push(Command::ClearSelection);
    }
    let steps =
        [(Key::ArrowLeft, -1), (Key::ArrowRight, 1), (Key::Home, isize::MIN / 2), (Key::End, isize::MAX / 2)];
    for (key, by) in steps {
        if state.run.is_some() && !in_slider && input.consume_key(Modifiers::NONE, key) {
            commands.push(Command::MoveSelection(by));
        }
    }
}
