//! The field in which a path can be typed, for machines without a file dialog.

use crate::app::command::Command;
use crate::app::state::AppState;
use crate::widgets::controls;
use egui::{TextEdit, Ui};

/// Draws the field as a modal, when it is open.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(path) = &state.path_field else { return };
    let modal = egui::Modal::new(egui::Id::unique("path field")).show(ui.ctx(), |ui| {
        ui.set_width(460.0);
        ui.heading("Open a path");
        ui.label("A GGUF file, a model folder, or a prompt (.txt, .md, chat .json)");
        let mut typed = path.clone();
        let response =
            ui.add(TextEdit::singleline(&mut typed).hint_text("/path/to/model.gguf").desired_width(460.0));
        controls::name(&response, "Path");
        let entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        if response.changed() {
            commands.push(Command::SetPathField(typed.clone()));
        }
        if path.is_empty() {
            response.request_focus();
        }
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let open = ui.add_enabled(!typed.is_empty(), egui::Button::new("Open path"));
            if open.on_hover_text("Open what was typed").clicked() || (entered && !typed.is_empty()) {
                commands.push(Command::OpenPath(typed.trim().into()));
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
