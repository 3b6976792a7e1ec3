//! The models of a repository, and the files of the chosen one.

use super::heading;
use crate::app::command::Command;
use crate::app::format;
use crate::app::hub::{HubCommand, HubPicker};
use crate::app::theme::Palette;
use crate::model::source::{ModelChoice, ModelFormat, RepoFile, RepoListing};
use egui::{Align2, CornerRadius, FontId, Frame, Margin, Rect, ScrollArea, Sense, Stroke, Ui, pos2, vec2};

const ROW_HEIGHT: f32 = 30.0;
const FILE_HEIGHT: f32 = 19.0;

/// Draws both lists.
pub(super) fn ui(
    ui: &mut Ui,
    hub: &HubPicker,
    listing: &RepoListing,
    commands: &mut Vec<Command>,
    palette: Palette,
) {
    if listing.choices.is_empty() {
        return;
    }
    let title = match listing.choices.len() {
        1 => "MODEL".to_owned(),
        count => format!("{count} MODELS"),
    };
    heading(ui, &title);
    well(ui, palette, |ui| {
        ScrollArea::vertical().id_salt("choices").max_height(8.0 * ROW_HEIGHT).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, choice) in listing.choices.iter().enumerate() {
                if row(ui, choice, hub.chosen == Some(index), hub.opening.is_none(), palette) {
                    commands.push(Command::Hub(HubCommand::Choose(index)));
                }
            }
        });
    });
    if let Some(choice) = hub.choice() {
        let count = choice.files.len();
        heading(ui, &if count == 1 { "1 FILE".to_owned() } else { format!("{count} FILES") });
        well(ui, palette, |ui| {
            ScrollArea::vertical().id_salt("files").max_height(7.0 * FILE_HEIGHT).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                choice.files.iter().for_each(|file| file_row(ui, file, palette));
            });
        });
    }
}

fn well(ui: &mut Ui, palette: Palette, content: impl FnOnce(&mut Ui)) {
    Frame::new()
        .fill(palette.well)
        .stroke(Stroke::new(1.0, palette.line))
        .corner_radius(6)
        .inner_margin(Margin::same(4))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            content(ui);
        });
}

/// What a choice is called, and what tells it apart.
fn words(choice: &ModelChoice) -> (String, String) {
    let parts = choice.files.len();
    match (choice.format, &choice.quantisation) {
        (ModelFormat::Safetensors, _) => {
            ("Safetensors".to_owned(), "config, tokenizer and weights".to_owned())
        }
        (ModelFormat::Gguf, None) => ("GGUF".to_owned(), choice.weights_file().to_owned()),
        (ModelFormat::Gguf, Some(label)) if parts > 1 => {
            (label.clone(), format!("{}, {parts} parts", choice.weights_file()))
        }
        (ModelFormat::Gguf, Some(label)) => (label.clone(), choice.weights_file().to_owned()),
    }
}

/// How much of it is here; empty when nothing is.
pub(super) fn here(cached_bytes: u64, total_bytes: u64, is_cached: bool) -> String {
    if is_cached {
        return "in the cache".to_owned();
    }
    match (100 * cached_bytes).checked_div(total_bytes) {
        Some(percent) if cached_bytes > 0 && percent > 0 => format!("{percent}% here"),
        _ => String::new(),
    }
}

/// One model; whether it was clicked.
fn row(ui: &mut Ui, choice: &ModelChoice, is_chosen: bool, enabled: bool, palette: Palette) -> bool {
    let sense = if enabled { Sense::click() } else { Sense::hover() };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), sense);
    let (label, detail) = words(choice);
    let size = format::bytes(choice.total_bytes());
    let state = here(choice.cached_bytes(), choice.total_bytes(), choice.is_cached());
    response.widget_info(|| {
        let said = format!("{label}, {size}");
        let mut info = egui::WidgetInfo::selected(egui::Role::RadioButton, enabled, is_chosen, said);
        info.current_text_value =
            Some(if state.is_empty() { detail.clone() } else { format!("{detail}, {state}") });
        info
    });
    let painter = ui.painter_at(rect);
    if is_chosen {
        painter.rect_filled(rect, CornerRadius::same(4), ui.visuals().selection.bg_fill);
    } else if enabled && response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(4), palette.hover);
    }
    if response.has_focus() {
        painter.rect_stroke(rect, 4.0, Stroke::new(1.0, palette.accent), egui::StrokeKind::Inside);
    }
    let y = rect.center().y;
    let dot = pos2(rect.left() + 16.0, y);
    painter.circle_stroke(dot, 6.0, Stroke::new(1.5, if is_chosen { palette.accent } else { palette.weak }));
    if is_chosen {
        painter.circle_filled(dot, 3.2, palette.accent);
    }
    let text = |x: f32, align, text: &str, font, color| painter.text(pos2(x, y), align, text, font, color);
    text(rect.left() + 32.0, Align2::LEFT_CENTER, &label, FontId::proportional(13.5), palette.text);
    let (size_right, state_right) = (rect.right() - 104.0, rect.right() - 10.0);
    text(size_right, Align2::RIGHT_CENTER, &size, FontId::monospace(12.5), palette.text);
    let color = if choice.is_cached() { palette.good } else { palette.weak };
    text(state_right, Align2::RIGHT_CENTER, &state, FontId::proportional(12.0), color);
    let room =
        Rect::from_min_max(pos2(rect.left() + 142.0, rect.top()), pos2(size_right - 84.0, rect.bottom()));
    ui.painter_at(room).text(
        pos2(room.left(), y),
        Align2::LEFT_CENTER,
        format::shorten(&detail, (room.width() / 6.6) as usize),
        FontId::monospace(11.0),
        palette.weak,
    );
    response.on_hover_text(&choice.name).clicked()
}

fn file_row(ui: &mut Ui, file: &RepoFile, palette: Palette) {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), FILE_HEIGHT), Sense::hover());
    let size = file.size_bytes.map_or_else(|| "size unknown".to_owned(), format::bytes);
    let state = here(file.cached_bytes, file.size_bytes.unwrap_or(0), file.is_cached);
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::ListItem, true, &file.path);
        info.current_text_value =
            Some(if state.is_empty() { size.clone() } else { format!("{size}, {state}") });
        info
    });
    let painter = ui.painter_at(rect);
    let (font, y) = (FontId::monospace(11.5), rect.center().y);
    let text = |x: f32, align, text: &str, color| painter.text(pos2(x, y), align, text, font.clone(), color);
    text(rect.left() + 12.0, Align2::LEFT_CENTER, &format::shorten(&file.path, 62), palette.text);
    text(rect.right() - 104.0, Align2::RIGHT_CENTER, &size, palette.text);
    let color = if file.is_cached { palette.good } else { palette.weak };
    text(rect.right() - 10.0, Align2::RIGHT_CENTER, &state, color);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_here_is_said_in_percent() {
        assert_eq!(here(50, 200, false), "25% here");
        assert_eq!(here(0, 200, false), "");
        assert_eq!(here(1, 1000, false), "");
        assert_eq!(here(5, 0, false), "");
        assert_eq!(here(200, 200, true), "in the cache");
    }
}
