//! The strip's tools: search, and the selections before and after the current one.

use crate::app::command::Command;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::tokens::{TokensCommand, keys::search_field};
use crate::widgets::controls;
use egui::{Button, Key, Response, RichText, TextEdit, Ui, vec2};

const FIELD_WIDTH: f32 = 128.0;
/// Room for the count, so that nothing moves when it changes.
const COUNT_WIDTH: f32 = 66.0;
const SYNTAX: &str = "Find tokens (Ctrl+F); Enter or F3 goes on, with Shift back\n\
    text: upper and lower case are the same\n\
    /regular expression/\n\
    id:120   class:delimiter   #120 (a position)";

/// Draws the tools from right to left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let mut push = |command| commands.push(Command::Tokens(command));
    let search = &state.tokens.search;
    let any = !search.hits.is_empty();
    if arrow(ui, any, "▼", "Next hit", "Next hit (F3)").clicked() {
        push(TokensCommand::Step(1));
    }
    if arrow(ui, any, "▲", "Previous hit", "Previous hit (Shift+F3)").clicked() {
        push(TokensCommand::Step(-1));
    }
    count(ui, state);
    field(ui, state, &mut push);
    let history = &state.tokens.history;
    let (back, forward) = (history.can_go_back(), history.can_go_forward());
    if arrow(ui, forward, "→", "Selection forward", "Forward to the selection left (Alt+Right)").clicked() {
        push(TokensCommand::Forward);
    }
    if arrow(ui, back, "←", "Selection back", "Back to the selection before (Alt+Left)").clicked() {
        push(TokensCommand::Back);
    }
}

fn arrow(ui: &mut Ui, enabled: bool, sign: &str, name: &str, tip: &str) -> Response {
    let button =
        ui.add_enabled(enabled, Button::new(sign).small()).on_hover_text(tip).on_disabled_hover_text(tip);
    controls::name(&button, name);
    button
}

fn count(ui: &mut Ui, state: &AppState) {
    let palette = Palette::of(ui);
    let search = &state.tokens.search;
    let color = if search.wrong.is_some() { palette.error } else { palette.weak };
    let says = search.says();
    if says.is_empty() {
        ui.allocate_space(vec2(COUNT_WIDTH, 16.0));
        return;
    }
    let text = RichText::new(says).size(11.0).color(color);
    let label = ui.add_sized(vec2(COUNT_WIDTH, 16.0), egui::Label::new(text).truncate());
    if let Some(wrong) = &search.wrong {
        label.on_hover_text(wrong);
    }
}

fn field(ui: &mut Ui, state: &AppState, push: &mut impl FnMut(TokensCommand)) {
    let palette = Palette::of(ui);
    let search = &state.tokens.search;
    let mut text = search.text.clone();
    let mut edit = TextEdit::singleline(&mut text).id(search_field()).hint_text("Find tokens");
    if search.wrong.is_some() {
        edit = edit.text_color(palette.error);
    }
    let response = ui.add_sized(vec2(FIELD_WIDTH, 20.0), edit);
    controls::name(&response, "Find tokens");
    if response.changed() {
        push(TokensCommand::Find(text));
    }
    let enter = ui.input(|input| input.key_pressed(Key::Enter).then_some(input.modifiers.shift));
    if let Some(backwards) = enter.filter(|_| response.lost_focus()) {
        push(TokensCommand::Step(if backwards { -1 } else { 1 }));
        response.request_focus();
    }
    response.on_hover_text(search.wrong.as_deref().unwrap_or(SYNTAX));
}
