//! Sessions and exports: the menu in the top bar and the dialogs.

mod export;
mod questions;
mod save;

use crate::app::command::{Command, PickKind};
use crate::app::files::FilesCommand;
use crate::app::shortcuts;
use crate::app::state::AppState;
use egui::{Button, RichText, Ui};

/// Draws the dialogs that are on show.
pub(super) fn ui(ui: &Ui, state: &AppState, commands: &mut Vec<Command>) {
    if state.files.asks_to_close {
        questions::close(ui, commands);
    } else if state.files.save_is_open {
        save::ui(ui, state, commands);
    } else if let Some(choice) = state.files.export.as_ref().filter(|_| state.path_field.is_none()) {
        export::ui(ui, state, choice, commands);
    } else if let Some(path) = &state.files.left_behind {
        questions::recover(ui, path, commands);
    }
}

/// The menu of the session and of exports.
pub(super) fn menu(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let has_run = state.run.is_some();
    let menu = ui.menu_button("File ▾", |ui| {
        ui.set_min_width(230.0);
        let mut wishes = Vec::new();
        let mut wish = |command| wishes.push(Command::Files(command));
        let item =
            |ui: &mut Ui, enabled: bool, text: &str, keys: Option<&egui::KeyboardShortcut>, tip: &str| {
                let keys = keys.map(|keys| ui.ctx().format_shortcut(keys)).unwrap_or_default();
                let button = Button::new(text).shortcut_text(keys);
                ui.add_enabled(enabled, button)
                    .on_hover_text(tip)
                    .on_disabled_hover_text("Run a prompt first")
                    .clicked()
            };
        if item(
            ui,
            has_run,
            "Save session",
            Some(&shortcuts::SAVE),
            "Model, prompt, capture and evictions in one file",
        ) {
            wish(FilesCommand::Save);
        }
        if item(ui, has_run, "Save session as…", None, "Choose what is kept, and where") {
            wish(FilesCommand::ShowSave(true));
        }
        ui.separator();
        if item(ui, has_run, "Export…", Some(&shortcuts::EXPORT), "A view as an image, or its numbers") {
            wish(FilesCommand::ShowExport(true));
        }
        if item(ui, has_run, "Copy as command", None, "The command line that draws this view") {
            wish(FilesCommand::CopyCommand);
        }
        ui.separator();
        for (place, path) in state.settings.recent_sessions.iter().enumerate() {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            if item(ui, true, &name, None, &path.display().to_string()) {
                wish(FilesCommand::OpenRecent(place));
            }
        }
        if item(ui, true, "Open session…", None, "A .sinkscope file; it opens without its model") {
            commands.push(Command::Pick(PickKind::Session));
        }
        commands.append(&mut wishes);
    });
    let tip = match &state.files.session {
        Some(path) => format!("Session: {}", path.display()),
        None => "Save and open sessions, export views".to_owned(),
    };
    menu.response.on_hover_text(tip);
}

/// What the attention view says of a session that keeps statistics alone.
pub(super) fn no_patterns(ui: &mut Ui, state: &AppState) {
    ui.add_space(ui.available_height() * 0.3);
    ui.vertical_centered(|ui| {
        ui.label(RichText::new("This session keeps statistics only, no patterns").strong());
        ui.label(if state.model.is_some() {
            "Run the prompt to see them"
        } else {
            "Open the model and run the prompt to see them"
        });
    });
}
