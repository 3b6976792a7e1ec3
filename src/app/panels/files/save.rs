//! The dialog that saves a session: what of the capture is kept, and how large the file becomes.

use crate::app::command::Command;
use crate::app::files::FilesCommand;
use crate::app::format;
use crate::app::state::AppState;
use crate::session::{Kept, predicted_bytes};
use egui::{Id, Modal, Ui};

pub(super) fn ui(ui: &Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(run) = &state.run else { return };
    let mut wish = |command| commands.push(Command::Files(command));
    let modal = Modal::new(Id::unique("save session")).show(ui.ctx(), |ui| {
        ui.set_width(400.0);
        ui.heading("Save session");
        ui.label("Queries and keys, from which every weight is rebuilt:");
        ui.add_space(4.0);
        for kept in Kept::ALL {
            let enabled = kept == Kept::Statistics || run.capture.has_patterns();
            let chosen = if run.capture.has_patterns() { state.files.kept } else { Kept::Statistics };
            let size = format::bytes(predicted_bytes(&run.capture, kept));
            let (name, tip) = match kept {
                Kept::F32 => ("Exact (f32)", "Every weight comes back bit for bit"),
                Kept::F16 => ("Rounded (f16)", "Queries and keys to 11 bits; rows still sum to 1"),
                Kept::Statistics => {
                    ("Statistics only", "Profiles, sinks, norms and evictions, but no patterns")
                }
            };
            let button = egui::RadioButton::new(chosen == kept, format!("{name} · {size}"));
            if ui.add_enabled(enabled, button).on_hover_text(tip).clicked() {
                wish(FilesCommand::SetKept(kept));
            }
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Choose file…").on_hover_text("Choose where the session goes").clicked() {
                wish(FilesCommand::ChoosePath);
            }
            if ui.button("Cancel").on_hover_text("Close without saving (Esc)").clicked() {
                wish(FilesCommand::ShowSave(false));
            }
        });
    });
    if modal.should_close() {
        wish(FilesCommand::ShowSave(false));
    }
}
