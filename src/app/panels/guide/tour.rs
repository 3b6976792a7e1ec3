//! The tour: four short hints, each beside what it is about.

use crate::app::command::Command;
use crate::app::guide::{GuideCommand, HINTS};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use egui::{Area, Frame, Id, Margin, Order, Pos2, Rect, RichText, Stroke, StrokeKind, Ui, vec2};

/// Where the things are that the hints are about.
#[derive(Debug, Clone, Copy)]
pub(in crate::app::panels) struct Sights {
    /// The token strip.
    pub(in crate::app::panels) strip: Rect,
    /// The view in the centre.
    pub(in crate::app::panels) view: Rect,
    /// The plot under the views.
    pub(in crate::app::panels) profile: Rect,
    /// The views' tabs.
    pub(in crate::app::panels) tabs: Rect,
}

impl Default for Sights {
    fn default() -> Self {
        let nothing = Rect::NOTHING;
        Self { strip: nothing, view: nothing, profile: nothing, tabs: nothing }
    }
}

const WIDTH: f32 = 320.0;

/// Draws the hint that is shown, once there is something to point at.
pub(super) fn ui(ui: &mut Ui, state: &AppState, sights: &Sights, commands: &mut Vec<Command>) {
    let Some(hint) = state.guide.tour.filter(|_| state.run.is_some() && !state.has_dialog()) else { return };
    let (sight, title, text) = hint_of(hint, sights);
    let palette = Palette::of(ui);
    if sight.is_positive() {
        let layer = egui::LayerId::new(Order::Foreground, Id::unique("tour frame"));
        let stroke = Stroke::new(2.0, palette.accent);
        ui.ctx().layer_painter(layer).rect_stroke(sight.shrink(2.0), 4.0, stroke, StrokeKind::Inside);
    }
    Area::new(Id::unique("tour"))
        .order(Order::Foreground)
        .fixed_pos(place(sight, ui.ctx().content_rect()))
        .constrain(true)
        .show(ui.ctx(), |ui| {
            let frame = Frame::new()
                .fill(palette.raised)
                .stroke(Stroke::new(1.0, palette.accent))
                .corner_radius(8)
                .inner_margin(Margin::symmetric(14, 10))
                .shadow(ui.visuals().popup_shadow);
            frame.show(ui, |ui| {
                ui.set_width(WIDTH);
                ui.label(RichText::new(title).strong().size(14.0));
                ui.add(egui::Label::new(text).wrap());
                ui.add_space(4.0);
                buttons(ui, hint, palette, commands);
            });
        });
}

fn hint_of(hint: usize, sights: &Sights) -> (Rect, &'static str, String) {
    match hint {
        0 => (
            sights.strip,
            "Every token is a chip",
            "Its colour is the attention it receives; sinks carry a badge. Click one to see who attends to it."
                .to_owned(),
        ),
        1 => (
            sights.view,
            "Every head is a small picture",
            "Click one to see it large, with the exact weight under the pointer. Wheel and drag zoom and move."
                .to_owned(),
        ),
        2 => (
            sights.profile,
            "You decide what a sink is",
            "Tokens above the dashed line are sinks. Drag it, or choose other layers and heads.".to_owned(),
        ),
        _ => (
            sights.tabs,
            "See what a smaller cache costs",
            "Eviction runs this text with fewer keys in the cache. For all else: Ctrl+K finds commands, ? lists keys."
                .replace("Ctrl", if cfg!(target_os = "macos") { "Cmd" } else { "Ctrl" }),
        ),
    }
}

/// Below what is pointed at where it is flat, inside it at the top where it is tall.
fn place(sight: Rect, window: Rect) -> Pos2 {
    if !sight.is_positive() {
        return window.center() - vec2(WIDTH / 2.0, 60.0);
    }
    let left = sight.left() + 16.0;
    if sight.height() < 200.0 {
        egui::pos2(left, sight.bottom() + 8.0)
    } else {
        egui::pos2(left, sight.top() + 16.0)
    }
}

fn buttons(ui: &mut Ui, hint: usize, palette: Palette, commands: &mut Vec<Command>) {
    let mut push = |command| commands.push(Command::Guide(command));
    let is_last = hint + 1 == HINTS;
    ui.horizontal(|ui| {
        let count = format!("{} of {HINTS}", hint + 1);
        ui.label(RichText::new(count).monospace().size(11.0).color(palette.weak));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let (name, tip) =
                if is_last { ("Done", "End the tour") } else { ("Next hint", "The next hint of the tour") };
            let next = egui::Button::new(RichText::new(name).color(palette.on_accent)).fill(palette.accent);
            if ui.add(next).on_hover_text(tip).clicked() {
                push(GuideCommand::NextHint);
            }
            let back = ui.add_enabled(hint > 0, egui::Button::new("Back"));
            if back.on_hover_text("The hint before").clicked() {
                push(GuideCommand::PreviousHint);
            }
            if !is_last && ui.button("Skip the tour").on_hover_text("Commands has it again (Esc)").clicked() {
                push(GuideCommand::EndTour);
            }
        });
    });
}
