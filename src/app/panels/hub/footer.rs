//! What opening the choice would download, how far it is, and the buttons.

use crate::app::command::Command;
use crate::app::format;
use crate::app::hub::{HubCommand, HubPicker};
use crate::app::running::RunningJob;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::source::ModelChoice;
use crate::units::format_bytes_needed;
use crate::widgets::controls::{self, paint_bar};
use egui::{Align, Button, Layout, RichText, Sense, Ui, vec2};

/// Draws the lower end of the dialog.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>, palette: Palette) {
    ui.add_space(2.0);
    let running = state.job.as_ref().filter(|job| state.hub.opening == Some(job.id));
    match running {
        Some(job) => progress(ui, job, palette),
        None => summary(ui, &state.hub, palette),
    }
    ui.add_space(2.0);
    ui.spacing_mut().button_padding.x = 14.0;
    ui.allocate_ui_with_layout(
        vec2(ui.available_width(), 28.0),
        Layout::right_to_left(Align::Center),
        |ui| match running {
            Some(job) => running_buttons(ui, job, commands),
            None => buttons(ui, &state.hub, commands, palette),
        },
    );
}

fn progress(ui: &mut Ui, job: &RunningJob, palette: Palette) {
    let line = job.line();
    ui.add(egui::Label::new(RichText::new(&line).monospace().color(palette.text)).truncate());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 6.0), Sense::hover());
    paint_bar(ui.painter(), rect, job.fraction().unwrap_or(0.0), palette.raised, palette.accent);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, "Opening"));
}

fn summary(ui: &mut Ui, hub: &HubPicker, palette: Palette) {
    let Some(listing) = &hub.listing else { return };
    if let Some(missing_bytes) = hub.missing_space_bytes() {
        let needed = format_bytes_needed(missing_bytes);
        let line = format!("{needed} more space is needed in {}", listing.cache.display());
        controls::warning(ui, &line, palette.error);
        return;
    }
    let free = listing
        .free_bytes
        .map(|bytes| format!("{} free in {}", format::bytes(bytes), listing.cache.display()));
    let line = match hub.choice() {
        Some(choice) => [Some(to_do(choice)), free].into_iter().flatten().collect::<Vec<_>>().join(" · "),
        None if listing.choices.is_empty() => return,
        None => "Choose one of the models".to_owned(),
    };
    ui.add(egui::Label::new(RichText::new(line).color(palette.weak)).truncate());
}

fn to_do(choice: &ModelChoice) -> String {
    match (choice.is_cached(), choice.cached_bytes()) {
        (true, _) => {
            format!("All {} are in the cache: nothing is downloaded", format::bytes(choice.total_bytes()))
        }
        (false, 0) => format!("Downloads {}", format::bytes(choice.missing_bytes())),
        (false, here) => {
            format!(
                "Downloads {}, {} are here already",
                format::bytes(choice.missing_bytes()),
                format::bytes(here)
            )
        }
    }
}

fn buttons(ui: &mut Ui, hub: &HubPicker, commands: &mut Vec<Command>, palette: Palette) {
    let label = match hub.choice() {
        Some(choice) if !choice.is_cached() => {
            format!("Download {} and open", format::bytes(choice.missing_bytes()))
        }
        _ => "Open".to_owned(),
    };
    let can_open = hub.can_open();
    let color = if can_open { palette.on_accent } else { palette.weak };
    let mut open = Button::new(RichText::new(label).color(color).strong()).min_size(vec2(90.0, 26.0));
    if can_open {
        open = open.fill(palette.accent);
    }
    if ui.add_enabled(can_open, open).clicked() {
        commands.push(Command::Hub(HubCommand::Open));
    }
    let close = Button::new("Close").min_size(vec2(70.0, 26.0));
    if ui.add(close).on_hover_text("Close without opening (Esc)").clicked() {
        commands.push(Command::Hub(HubCommand::Show(false)));
    }
}

fn running_buttons(ui: &mut Ui, job: &RunningJob, commands: &mut Vec<Command>) {
    let stop = Button::new("Stop").min_size(vec2(90.0, 26.0));
    let tip = "Stop; what has arrived is kept, and the next try goes on from there (Esc)";
    if ui.add_enabled(!job.cancelling, stop).on_hover_text(tip).clicked() {
        commands.push(Command::Cancel);
    }
    let hide = Button::new("Hide").min_size(vec2(70.0, 26.0));
    if ui.add(hide).on_hover_text("Go on in the background; the top bar shows how far it is").clicked() {
        commands.push(Command::Hub(HubCommand::Show(false)));
    }
}
