//! The export dialog: which view, which format, how large; or the command that does the same.

use crate::analysis::HeadOrder;
use crate::app::command::Command;
use crate::app::files::FilesCommand;
use crate::app::files::export::ExportChoice;
use crate::app::state::AppState;
use crate::cli::render::{RenderArgs, ViewName};
use crate::export::{FileFormat, StripBy, Theme};
use egui::{ComboBox, Id, Modal, RichText, Slider, Ui};

fn view_name(view: ViewName) -> &'static str {
    match view {
        ViewName::Head => "Focused head",
        ViewName::Grid => "All heads",
        ViewName::Mean => "Mean of heads",
        ViewName::Difference => "Difference",
        ViewName::Lines => "Lines",
        ViewName::Profile => "Mass profile",
        ViewName::Strip => "Token strip",
        ViewName::TokenHeads => "Token by head",
        ViewName::Layers => "Profile by layer",
        ViewName::Peak => "Peak and tail",
        ViewName::Norms => "Norms",
        ViewName::Stability => "Stability of sinks",
        ViewName::Eviction => "Eviction",
    }
}

pub(super) fn ui(ui: &Ui, state: &AppState, before: &ExportChoice, commands: &mut Vec<Command>) {
    let mut choice = before.clone();
    let modal = Modal::new(Id::unique("export")).show(ui.ctx(), |ui| {
        ui.set_width(420.0);
        ui.heading("Export");
        view(ui, state, &mut choice, commands);
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

fn view(ui: &mut Ui, state: &AppState, choice: &mut ExportChoice, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        let caption = ui.label("View");
        let shown = choice.render.view;
        let combo = ComboBox::from_id_salt("export view").selected_text(view_name(shown)).width(150.0);
        let combo = combo.height(320.0).show_ui(ui, |ui| {
            for view in ViewName::ALL {
                let item = ui.add_enabled(
                    state.can_export(view),
                    egui::Button::selectable(shown == view, view_name(view)),
                );
                let item = item.on_disabled_hover_text(missing(view));
                if item.clicked() {
                    commands.push(Command::Files(FilesCommand::ExportView(view)));
                }
            }
        });
        combo.response.labelled_by(caption.id).on_hover_text("What is exported, as it is looked at now");
        ui.label(RichText::new(details(&choice.render)).weak());
    });
    part(ui, state, choice);
}

/// Which part of its view the picture shows.
fn details(args: &RenderArgs) -> String {
    let pattern = match (args.layer, args.head) {
        (Some(layer), Some(head)) => format!("layer {layer}, head {head}"),
        (Some(layer), None) => format!("layer {layer}, mean"),
        (None, _) => "all heads".to_owned(),
    };
    match args.view {
        ViewName::Head => pattern,
        ViewName::Mean => args.layer.map_or_else(|| "all heads".to_owned(), |layer| format!("layer {layer}")),
        ViewName::Difference => {
            let minus = args.minus.map_or_else(String::new, |(l, h)| format!(" minus layer {l}, head {h}"));
            format!("{pattern}{minus}")
        }
        ViewName::Lines => match args.also_heads.len() {
            0 => pattern,
            more => format!("{pattern} and {more} more"),
        },
        ViewName::TokenHeads | ViewName::Norms => {
            format!("token {}", args.token.first().copied().unwrap_or_default())
        }
        ViewName::Strip if args.by != StripBy::Mass => {
            let tokens: Vec<String> = args.token.iter().take(3).map(usize::to_string).collect();
            format!("attention with token {}", tokens.join(", "))
        }
        ViewName::Grid if args.order != HeadOrder::Layer => format!("by {}", args.order.name()),
        ViewName::Peak => format!("first {} keys", args.peak_keys),
        _ => String::new(),
    }
}

/// Why a view can't be exported now.
fn missing(view: ViewName) -> &'static str {
    match view {
        ViewName::Eviction => "Wait for a curve in the eviction view",
        ViewName::Stability => "Run another prompt first: earlier runs stay open",
        ViewName::Difference => "Choose Difference in the attention view first",
        _ => "This session keeps statistics only, no patterns",
    }
}

/// Where the view is zoomed, whether the picture is.
fn part(ui: &mut Ui, state: &AppState, choice: &mut ExportChoice) {
    if !choice.render.view.has_part() {
        return;
    }
    let seen = state.export_part(choice.render.view);
    let mut is_part = choice.render.queries.is_some();
    let response = ui.add_enabled(seen.is_some(), egui::Checkbox::new(&mut is_part, "Only what is seen"));
    let response = response.on_disabled_hover_text("All of it is seen: zoom in first");
    if response.on_hover_text("The zoomed part instead of the whole").changed() {
        let part = seen.filter(|_| is_part);
        (choice.render.queries, choice.render.keys) = part.unzip();
    }
}

fn formats(ui: &mut Ui, choice: &mut ExportChoice) {
    ui.horizontal(|ui| {
        ui.label("Format");
        for format in FileFormat::ALL {
            let suits = choice.render.view.takes(format);
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
