//! The command palette: a field to type in, below it what can be done now.

use crate::app::actions::{Found, found, keys_text};
use crate::app::command::Command;
use crate::app::guide::{GuideCommand, PaletteState};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::{Align, Button, Id, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui, vec2};

const WIDTH: f32 = 520.0;
const ROW_HEIGHT: f32 = 24.0;
/// Rows that are visible at once.
const ROWS: f32 = 12.0;

/// Draws the palette, when it is open.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(palette) = &state.guide.palette else { return };
    let mut found = found(state, &palette.query);
    let chosen = palette.chosen.min(found.len().saturating_sub(1));
    let mut taken = None;
    let area =
        egui::Modal::default_area(Id::unique("palette")).anchor(egui::Align2::CENTER_TOP, vec2(0.0, 90.0));
    let modal = egui::Modal::new(Id::unique("palette")).area(area).show(ui.ctx(), |ui| {
        ui.set_width(WIDTH);
        let steps = read_steps(ui);
        if steps != 0 {
            let next = chosen.saturating_add_signed(steps).min(found.len().saturating_sub(1));
            commands.push(Command::Guide(GuideCommand::Choose(next)));
        }
        field(ui, palette, commands);
        if ui.input(|input| input.key_pressed(Key::Enter)) && !found.is_empty() {
            taken = Some(chosen);
        }
        ui.add_space(2.0);
        if let Some(row) = rows(ui, &found, chosen, steps != 0) {
            taken = Some(row);
        }
    });
    if let Some(row) = taken {
        commands.push(Command::Guide(GuideCommand::ShowPalette(false)));
        commands.push(found.swap_remove(row).command);
    } else if modal.should_close() {
        commands.push(Command::Guide(GuideCommand::ShowPalette(false)));
    }
}

/// Up and down go through the rows; the field has one line and needs them not.
fn read_steps(ui: &Ui) -> isize {
    ui.input_mut(|input| {
        [
            (Key::ArrowDown, 1),
            (Key::ArrowUp, -1),
            (Key::PageDown, ROWS as isize),
            (Key::PageUp, -(ROWS as isize)),
        ]
        .into_iter()
        .filter(|(key, _)| input.consume_key(Modifiers::NONE, *key))
        .map(|(_, step)| step)
        .sum()
    })
}

fn field_id() -> Id {
    Id::unique("palette field")
}

fn field(ui: &mut Ui, palette: &PaletteState, commands: &mut Vec<Command>) {
    let mut query = palette.query.clone();
    let edit = TextEdit::singleline(&mut query)
        .id(field_id())
        .hint_text("Type a command; 4:3 is a head, 120 a token")
        .desired_width(f32::INFINITY)
        .margin(vec2(8.0, 6.0));
    let response = ui.add(edit);
    controls::name(&response, "Command");
    if response.changed() {
        commands.push(Command::Guide(GuideCommand::Find(query)));
    }
    // It is the only thing here to write in.
    response.request_focus();
}

/// The row that was clicked.
fn rows(ui: &mut Ui, found: &[Found], chosen: usize, moved: bool) -> Option<usize> {
    let palette = Palette::of(ui);
    let mut clicked = None;
    let height = ROWS * (ROW_HEIGHT + 2.0);
    ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        if found.is_empty() {
            ui.label(
                RichText::new("No such command now. Try other words, such as “budget”").color(palette.weak),
            );
        }
        for (index, row) in found.iter().enumerate() {
            let keys = row.keys.map(|keys| keys_text(ui.ctx(), &keys));
            let beside = keys.unwrap_or_default();
            let text = RichText::new(&row.words).color(palette.text);
            let place = RichText::new(row.place.name()).size(11.0).color(palette.weak);
            let button = Button::selectable(index == chosen, (text, place))
                .shortcut_text(RichText::new(beside).monospace().color(palette.text))
                .min_size(vec2(ui.available_width() - 10.0, ROW_HEIGHT));
            let response = ui.add(button);
            controls::name(&response, &row.words);
            if index == chosen {
                // The keyboard stays in the field; a screen reader says the row that it chooses.
                let row = response.id.accesskit_id();
                ui.ctx().accesskit_node_builder(field_id(), |node| node.set_active_descendant(row));
            }
            if index == chosen && moved {
                response.scroll_to_me(Some(Align::Center));
            }
            if response.clicked() {
                clicked = Some(index);
            }
        }
    });
    clicked
}
