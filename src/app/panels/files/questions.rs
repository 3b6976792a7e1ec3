//! Questions about what would be lost, and what was found again.

use crate::app::command::Command;
use crate::app::files::FilesCommand;
use egui::{Id, Modal, RichText, Ui};
use std::path::Path;

/// What becomes of unsaved changes.
pub(super) fn close(ui: &Ui, commands: &mut Vec<Command>) {
    let choices = [
        ("Save and close", "Save the session, then close", FilesCommand::SaveAndClose),
        ("Close without saving", "Forget this run", FilesCommand::CloseAnyway),
        ("Don't close", "Go on (Esc)", FilesCommand::StayOpen),
    ];
    let text = "This run is not saved";
    ask(ui, "close", "Save the session before closing?", text, choices, FilesCommand::StayOpen, commands);
}

/// What becomes of a session that a killed program left.
pub(super) fn recover(ui: &Ui, path: &Path, commands: &mut Vec<Command>) {
    let choices = [
        ("Recover", "Open the session as it was put aside last", FilesCommand::Recover),
        ("Discard", "Delete it", FilesCommand::DiscardLeftBehind),
        ("Later", "Ask again at the next start (Esc)", FilesCommand::LeaveLeftBehind),
    ];
    let text = format!("Sinkscope ended without closing. Its session was put aside: {}", path.display());
    ask(ui, "recover", "Recover the last session?", &text, choices, FilesCommand::LeaveLeftBehind, commands);
}

fn ask(
    ui: &Ui,
    id: &str,
    title: &str,
    text: &str,
    choices: [(&str, &str, FilesCommand); 3],
    otherwise: FilesCommand,
    commands: &mut Vec<Command>,
) {
    let modal = Modal::new(Id::unique(id)).show(ui.ctx(), |ui| {
        ui.set_width(420.0);
        ui.heading(title);
        ui.label(RichText::new(text).size(12.0));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            for (name, tip, command) in choices {
                if ui.button(name).on_hover_text(tip).clicked() {
                    commands.push(Command::Files(command));
                }
            }
        });
    });
    if modal.should_close() {
        commands.push(Command::Files(otherwise));
    }
}
