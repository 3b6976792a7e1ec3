//! Messages in the corner: one line each; errors stay longer and carry details and a button that copies both.

use super::command::Command;
use super::run::Run;
use super::theme::Palette;
use crate::model::ModelInfo;
use crate::widgets::controls::{Sign, name, sign};
use egui::{Align2, Frame, Margin, Order, RichText, ScrollArea, Stroke};
use std::fmt::Write as _;
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
    /// What a report of the failure needs beside it.
    pub details: Option<String>,
    /// Whether the details are shown; the message stays as long.
    pub details_shown: bool,
    until: Instant,
}

/// While the pointer is on a message it stays at least this long.
const HELD: Duration = Duration::from_secs(3);

impl Toast {
    /// As many are shown at once.
    pub const MOST: usize = 4;

    /// A message that begins to be shown now.
    #[must_use]
    pub fn new(id: u64, is_error: bool, text: String) -> Self {
        let shown = Duration::from_secs(if is_error { 20 } else { 4 });
        Self { id, is_error, text, details: None, details_shown: false, until: Instant::now() + shown }
    }

    /// With something to unfold.
    #[must_use]
    pub fn with_details(self, details: String) -> Self {
        Self { details: Some(details), ..self }
    }

    /// Whether it was shown long enough.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.details_shown && Instant::now() >= self.until
    }

    /// Message and details, as they are copied.
    #[must_use]
    pub fn in_full(&self) -> String {
        let details = self.details.as_ref().map(|details| format!("\n{details}"));
        format!("{}{}", self.text, details.unwrap_or_default())
    }

    pub(super) fn show_details(&mut self, show: bool) {
        self.details_shown = show && self.details.is_some();
        self.hold();
    }

    pub(super) fn hold(&mut self) {
        self.until = self.until.max(Instant::now() + HELD);
    }

    fn is_about_to_go(&self) -> bool {
        self.until.saturating_duration_since(Instant::now()) < HELD / 2
    }
}

/// What a report of a failure needs: its causes, the version, the model, the length of the text.
pub(super) fn details(why: &dyn std::error::Error, model: Option<&ModelInfo>, run: Option<&Run>) -> String {
    let mut text = String::new();
    let (mut last, mut cause) = (why.to_string(), why.source());
    while let Some(why) = cause {
        let said = why.to_string();
        // An error that says what its cause says adds nothing.
        if said != last {
            let _ = writeln!(text, "Cause: {said}");
        }
        (last, cause) = (said, why.source());
    }
    let system = (std::env::consts::OS, std::env::consts::ARCH);
    let _ = write!(text, "Sinkscope {} on {} {}", env!("CARGO_PKG_VERSION"), system.0, system.1);
    if let Some(model) = model {
        let _ = write!(text, "\nModel: {} ({}, {}, {})", model.name, model.source, model.device, model.dtype);
    }
    if let Some(run) = run {
        let _ = write!(text, "\nShown run: {} tokens", run.capture.len());
    }
    text
}

/// Draws the messages in the lower right corner, the newest at the bottom.
pub fn ui(ctx: &egui::Context, toasts: &[Toast], commands: &mut Vec<Command>) {
    let passing = toasts.iter().filter(|toast| !toast.details_shown);
    if let Some(next) = passing.map(|toast| toast.until).min() {
        ctx.request_repaint_after(next.saturating_duration_since(Instant::now()));
    }
    if toasts.is_empty() {
        return;
    }
    egui::Area::new(egui::Id::unique("toasts"))
        .order(Order::Foreground)
        .anchor(Align2::RIGHT_BOTTOM, egui::vec2(-12.0, -36.0))
        .show(ctx, |ui| {
            for toast in toasts {
                ui.push_id(toast.id, |ui| toast_ui(ui, toast, commands));
                ui.add_space(6.0);
            }
        });
}

fn toast_ui(ui: &mut egui::Ui, toast: &Toast, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let (shape, color) =
        if toast.is_error { (Sign::Warning, palette.error) } else { (Sign::Info, palette.accent) };
    let frame = Frame::new()
        .fill(palette.raised)
        .stroke(Stroke::new(1.0, color))
        .corner_radius(6)
        .inner_margin(Margin::symmetric(10, 7))
        .shadow(ui.visuals().popup_shadow);
    let shown = frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            sign(ui, shape, color);
            ui.scope(|ui| {
                ui.set_max_width(400.0);
                ui.add(egui::Label::new(&toast.text).wrap());
            });
            buttons(ui, toast, commands);
        });
        if let Some(details) = toast.details.as_ref().filter(|_| toast.details_shown) {
            ui.set_max_width(520.0);
            ScrollArea::vertical().max_height(160.0).show(ui, |ui| {
                let text = RichText::new(details).monospace().size(11.0).color(palette.weak);
                ui.add(egui::Label::new(text).wrap().selectable(true));
            });
        }
    });
    // Nobody should have to read against the clock.
    if toast.is_about_to_go() && shown.response.contains_pointer() {
        commands.push(Command::HoldToast(toast.id));
    }
}

fn buttons(ui: &mut egui::Ui, toast: &Toast, commands: &mut Vec<Command>) {
    if toast.details.is_some() {
        let tip = if toast.details_shown { "Hide the details" } else { "Show causes, version and model" };
        let details = ui.add(egui::Button::selectable(toast.details_shown, "Details").small());
        if details.on_hover_text(tip).clicked() {
            commands.push(Command::ShowDetails(toast.id, !toast.details_shown));
        }
    }
    if toast.is_error {
        let tip =
            if toast.details.is_some() { "Copy this message and its details" } else { "Copy this message" };
        if ui.small_button("Copy").on_hover_text(tip).clicked() {
            commands.push(Command::Copy(toast.in_full()));
        }
    }
    let dismiss = ui.small_button("Dismiss");
    name(&dismiss, "Dismiss");
    if dismiss.on_hover_text("Take this message away").clicked() {
        commands.push(Command::DismissToast(toast.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("Can't read the model")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("the header ends at byte 12")]
    struct Inner;

    #[test]
    fn a_failure_is_copied_with_its_causes_and_the_version() {
        let why = Outer(Inner);
        let toast = Toast::new(1, true, why.to_string()).with_details(details(&why, None, None));
        let lines: Vec<String> = toast.in_full().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "Can't read the model");
        assert_eq!(lines[1], "Cause: the header ends at byte 12");
        assert!(lines[2].starts_with(concat!("Sinkscope ", env!("CARGO_PKG_VERSION"))), "{lines:?}");
    }

    #[test]
    fn details_keep_a_message_on_show() {
        let mut toast = Toast::new(1, true, "x".to_owned());
        toast.until = Instant::now();
        assert!(toast.is_over());
        toast.show_details(true);
        assert!(!toast.details_shown, "there are none");
        toast.details = Some("y".to_owned());
        toast.until = Instant::now();
        toast.show_details(true);
        toast.until = Instant::now();
        assert!(!toast.is_over(), "while they are read");
        toast.show_details(false);
        assert!(!toast.is_over(), "and a moment longer");
    }
}
