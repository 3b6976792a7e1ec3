//! The sheet of keys: every key that does something, by place.

use crate::app::actions::{ACTIONS, KEYS_OF_PARTS, Place, keys_text};
use crate::app::command::Command;
use crate::app::guide::GuideCommand;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls::section;
use egui::{Id, RichText, ScrollArea, Ui, vec2};

const COLUMN_WIDTH: f32 = 372.0;
const KEYS_WIDTH: f32 = 150.0;

/// Draws the sheet, when it is open.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    if !state.guide.sheet {
        return;
    }
    let room = ui.ctx().content_rect().size() - vec2(80.0, 120.0);
    let modal = egui::Modal::new(Id::unique("keys")).show(ui.ctx(), |ui| {
        ui.set_width(room.x.min(2.0 * COLUMN_WIDTH + 16.0));
        ui.horizontal(|ui| {
            ui.heading("Keys");
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if ui.button("Close").on_hover_text("Close this sheet (Esc)").clicked() {
                    commands.push(Command::Guide(GuideCommand::ShowSheet(false)));
                }
            });
        });
        ScrollArea::vertical().max_height(room.y).min_scrolled_height(room.y).show(ui, |ui| {
            ui.horizontal_top(|ui| {
                let half = [Place::Run, Place::View, Place::Tokens];
                column(ui, &half);
                let rest: Vec<Place> = Place::ALL.into_iter().filter(|place| !half.contains(place)).collect();
                column(ui, &rest);
            });
        });
    });
    if modal.should_close() {
        commands.push(Command::Guide(GuideCommand::ShowSheet(false)));
    }
}

fn column(ui: &mut Ui, places: &[Place]) {
    ui.vertical(|ui| {
        ui.set_width(COLUMN_WIDTH);
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 15.0;
        for &place in places {
            section(ui, place.name());
            for action in ACTIONS.iter().filter(|action| action.place == place && !action.keys.is_empty()) {
                let names: Vec<String> = action.keys.iter().map(|keys| keys_text(ui.ctx(), keys)).collect();
                row(ui, &names.join(", "), action.words);
            }
            for (_, keys, words) in KEYS_OF_PARTS.iter().filter(|(part, ..)| *part == place) {
                row(ui, keys, words);
            }
        }
    });
}

fn row(ui: &mut Ui, keys: &str, words: &str) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.scope(|ui| {
            ui.set_width(KEYS_WIDTH);
            ui.label(RichText::new(keys).size(12.0).strong());
        });
        ui.label(RichText::new(words.trim_end_matches('…')).size(12.0).color(palette.text));
    });
}
