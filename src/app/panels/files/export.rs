//! The export dialog: which view, which format, how large; or the command that does the same.

use crate::app::command::Command;
use crate::app::files::FilesCommand;
use crate::app::files::export::{ExportChoice, FileFormat};
use crate::app::state::AppState;
use crate::cli::render::ViewName;
use crate::export::Theme;
use egui::{ComboBox, Id, Modal, Slider, Ui};

const VIEWS: [(ViewName, &str); 6] = [
    (ViewName::Head, "Focused head"),
    (ViewName::Grid, "All heads"),
    (ViewName::Mean, "Mean of heads"),
    (ViewName::Profile, "Mass profile"),
    (ViewName::Strip, "Token strip"),
    (ViewName::Eviction, "Eviction"),
];

pub(super) fn ui(ui: &Ui, state: &AppState, before: &ExportChoice, commands: &mut Vec<Command>) {
    let mut choice = before.clone();
    let modal = Modal::new(Id::unique("export")).show(ui.ctx(), |ui| {
        ui.set_width(420.0);
        ui.heading("Export");
        view(ui, state, &mut choice);
        formats(ui, &mut choice);
        if choice.format.is_image() {
            looks(ui, &mut choice);
        }
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Choose file…").on_hover_text("Choose where the file goes").clicked() {
                commands.push(Command::Files(FilesCommand::Export));
            }
            let tip = "The sinkscope command that writes the same file";
            if ui.button("Copy as command").on_hover_text(tip).clicked() {
                commands.push(Command::Files(FilesCommand::CopyCommand));
            }
            if ui.button("Cancel").on_hover_text("Close without exporting (Esc)").clicked() {
                commands.push(Command::Files(FilesCommand::ShowExport(false)));
            }
        });
    });
    if choice != *before {
        commands.push(Command::Files(FilesCommand::SetExport(Box::new(choice))));
    }
    if modal.should_close() {
        commands.push(Command::Files(FilesCommand::ShowExport(false)));
    }
}

fn view(ui: &mut Ui, state: &AppState, choice: &mut ExportChoice) {
    let has_evictions = state.eviction.runs.iter().any(|run| run.shown && run.finished.is_some());
    let has_patterns = state.run.as_ref().is_some_and(|run| run.capture.has_patterns());
    ui.horizontal(|ui| {
        let caption = ui.label("View");
        let name = VIEWS.iter().find(|(view, _)| *view == choice.render.view).map_or("", |(_, name)| name);
        let combo = ComboBox::from_id_salt("export view").selected_text(name).show_ui(ui, |ui| {
            for (view, name) in VIEWS {
                let there = match view {
                    ViewName::Eviction => has_evictions,
                    ViewName::Profile | ViewName::Strip => true,
                    _ => has_patterns,
                };
                let item = egui::Button::selectable(choice.render.view == view, name);
                if ui.add_enabled(there, item).clicked() {
                    choice.render.view = view;
                    choice.render.layer = choice.render.layer.or(Some(state.view.focus.layer));
                }
            }
        });
        combo.response.labelled_by(caption.id).on_hover_text("What is exported");
        if choice.render.view == ViewName::Head {
            let focus = state.view.focus;
            ui.label(format!("layer {}, head {}", focus.layer, focus.head));
        }
    });
}

fn formats(ui: &mut Ui, choice: &mut ExportChoice) {
    ui.horizontal(|ui| {
        ui.label("Format");
        for format in FileFormat::ALL {
            let suits = format.suits(choice.render.view);
            let item = egui::Button::selectable(choice.format == format, format.extension());
            let response = ui.add_enabled(suits, item).on_hover_text(format.hint());
            if response.on_disabled_hover_text("This view has no such numbers").clicked() {
                choice.format = format;
            }
        }
    });
}

fn looks(ui: &mut Ui, choice: &mut ExportChoice) {
    ui.horizontal(|ui| {
        let caption = ui.label("Scale");
        let slider = Slider::new(&mut choice.render.scale, 1.0..=4.0).step_by(0.5).suffix(" px per pt");
        ui.add(slider).labelled_by(caption.id).on_hover_text("Pixels per point: 1 to 4");
    });
    ui.horizontal(|ui| {
        ui.label("Paper");
        for (theme, name) in [(Theme::Light, "Light"), (Theme::Dark, "Dark")] {
            let item = egui::Button::selectable(choice.render.theme == theme, name);
            if ui.add(item).on_hover_text("Background of the picture").clicked() {
                choice.render.theme = theme;
            }
        }
    });
}
