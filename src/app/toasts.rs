//! Messages in the corner: one line each, errors with a button that copies them.

use super::command::Command;
use super::theme::Palette;
use crate::widgets::controls::{Sign, sign};
use egui::{Align2, Frame, Margin, Order, Stroke};
use std::time::{Duration, Instant};

/// A message on show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    /// Identifies it.
    pub id: u64,
    /// Whether something failed.
    pub is_error: bool,
    /// What to say, one line.
    pub text: String,
    until: Instant,
}

impl Toast {
    /// As many are shown at once.
    pub const MOST: usize = 4;

    /// A message that begins to be shown now.
    #[must_use]
    pub fn new(id: u64, is_error: bool, text: String) -> Self {
        let shown = Duration::from_secs(if is_error { 20 } else { 4 });
        Self { id, is_error, text, until: Instant::now() + shown }
    }

    /// Whether it was shown long enough.
    #[must_use]
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// Draws the messages in the lower right corner.
pub fn ui(ctx: &egui::Context, toasts: &[Toast], commands: &mut Vec<Command>) {
    let Some(next) = toasts.iter().map(|toast| toast.until).min() else { return };
    ctx.request_repaint_after(next.saturating_duration_since(Instant::now()));
    egui::Area::new(egui::Id::unique("toasts"))
        .order(Order::Foreground)
        .anchor(Align2::RIGHT_BOTTOM, egui::vec2(-12.0, -36.0))
        .show(ctx, |ui| {
            for toast in toasts {
                toast_ui(ui, toast, commands);
                ui.add_space(6.0);
            }
        });
}

fn toast_ui(ui: &mut egui::Ui, toast: &Toast, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let (shape, color) =
        if toast.is_error { (Sign::Warning, palette.error) } else { (Sign::Info, palette.accent) };
    Frame::new()
        .fill(palette.raised)
        .stroke(Stroke::new(1.0, color))
        .corner_radius(6)
        .inner_margin(Margin::symmetric(10, 7))
        .shadow(ui.visuals().popup_shadow)
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                sign(ui, shape, color);
                ui.scope(|ui| {
                    ui.set_max_width(440.0);
                    ui.add(egui::Label::new(&toast.text).wrap());
                });
                if toast.is_error && ui.small_button("Copy").on_hover_text("Copy this message").clicked() {
                    commands.push(Command::Copy(toast.text.clone()));
                }
                if ui.small_button("Dismiss").on_hover_text("Take this message away").clicked() {
                    commands.push(Command::DismissToast(toast.id));
                }
            });
        });
}
