//! The attention patterns: the grid of heads, and one head large.

use crate::app::{AppState, Command};
use crate::capture::Capture;
use std::sync::Arc;

/// What the attention view can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum AttentionCommand {}

/// The attention view's own state: options, cached tiles.
#[derive(Debug, Default)]
pub struct AttentionState {}

impl AttentionState {
    /// Carries out one command.
    pub fn handle(&mut self, command: AttentionCommand) {
        match command {}
    }

    /// Once a frame, before drawing.
    pub fn frame(&mut self, ctx: &egui::Context, capture: Option<&Arc<Capture>>, focus: (usize, usize)) {
        let _ = (ctx, capture, focus);
    }
}

/// Draws the view into all the space that is left.
pub fn ui(ui: &mut egui::Ui, state: &AppState, commands: &mut Vec<Command>) {
    let _ = (state, commands);
    ui.label("Attention");
}
