//! The field in which a path can be typed, for machines without a file dialog.

use crate::app::command::{Command, PickKind, Picked};
use crate::app::state::AppState;
use crate::widgets::controls;
use egui::{TextEdit, Ui};

/// Draws the field as a modal, when it is open.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(path) = &state.path_field else { return };
    let target = state.files.path_is_for;
    let modal = egui::Modal::new(egui::Id::unique("path field")).show(ui.ctx(), |ui| {
        ui.set_width(460.0);
        ui.heading(if target.is_some() { "Save to a path" } else { "Open a path" });
        ui.label(match target {
            Some(PickKind::Export(format)) => {
                format!("A .{} file in a folder that exists", format.extension())
            }
            Some(_) => "A .sinkscope file in a folder that exists".to_owned(),
            None => "A GGUF file, a model folder, a prompt (.txt, .md, chat .json) or a session".to_owned(),
        });
        let mut typed = path.clone();
        let response =
            ui.add(TextEdit::singleline(&mut typed).hint_text("/path/to/model.gguf").desired_width(460.0));
        controls::name(&response, "Path");
        let response = response.on_hover_text("A path on this machine; Enter takes it");
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if response.changed() {
            commands.push(Command::SetPathField(typed.clone()));
        }
        if path.is_empty() {
            response.request_focus();
        }
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let (name, tip) = match target {
                Some(_) => ("Save", "Write the file"),
                None => ("Open path", "Open what was typed"),
            };
            let open = ui.add_enabled(!typed.is_empty(), egui::Button::new(name));
            if open.on_hover_text(tip).clicked() || (entered && !typed.is_empty()) {
                let path = typed.trim().into();
                commands.push(match target {
                    Some(kind) => Command::Picked(kind, Picked::Path(path)),
                    None => Command::OpenPath(path),
                });
            }
            if ui.button("Close").on_hover_text("Close without opening (Esc)").clicked() {
                commands.push(Command::ShowPathField(false));
            }
        });
    });
    if modal.should_close() {
        commands.push(Command::ShowPathField(false));
    }
}
