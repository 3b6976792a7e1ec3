//! The open runs as a menu: which one is shown, the others, what they hold.

/// What an open run is called, by its place among those that are not shown: A is the latest.
pub(in crate::app) use crate::text::letter;

use crate::app::command::Command;
use crate::app::format;
use crate::app::shelf::RunsCommand;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::capture::Capture;
use crate::model::tokenizer::{TokenOrigin, TokenSequence};
use crate::widgets::controls;
use egui::{Button, RichText, Ui};

/// Characters of a prompt that a line shows.
const EXCERPT: usize = 34;

/// Draws the button that opens the menu; nothing where only one run is open.
pub(super) fn menu(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(shown) = &state.run else { return };
    let others = state.shelf.runs();
    if others.is_empty() {
        return;
    }
    let palette = Palette::of(ui);
    let button = ui.menu_button(format!("Runs {} ▾", others.len() + 1), |ui| {
        ui.set_min_width(360.0);
        let _ = ui.add(Button::selectable(true, line(&shown.capture))).on_hover_text("Shown now");
        for (place, run) in others.iter().enumerate() {
            entry(ui, place, &run.capture, commands);
        }
        ui.separator();
        ui.horizontal(|ui| {
            if ui.button("Close the others").on_hover_text("Frees what they hold").clicked() {
                commands.push(Command::Runs(RunsCommand::CloseOthers));
                ui.close();
            }
            let held = format!("They hold {}", format::bytes(state.shelf.bytes()));
            ui.label(RichText::new(held).size(11.0).color(palette.weak));
        });
    });
    button.response.on_hover_text("Open runs: show one again, or close it");
}

fn entry(ui: &mut Ui, place: usize, capture: &Capture, commands: &mut Vec<Command>) {
    let id = capture.id;
    let line = lettered_line(place, capture);
    ui.horizontal(|ui| {
        let close = ui.small_button("×").on_hover_text("Close this run");
        controls::name(&close, &format!("Close run {line}"));
        if close.clicked() {
            commands.push(Command::Runs(RunsCommand::Close(id)));
        }
        if ui.add(Button::selectable(false, line)).on_hover_text("Show this run").clicked() {
            commands.push(Command::Runs(RunsCommand::Show(id)));
            ui.close();
        }
    });
}

/// What a run is, in a line: prompt, tokens, model.
pub(super) fn line(capture: &Capture) -> String {
    let model = &capture.model;
    let name = format::shorten(&model.name, 24);
    format!("{} · {} tokens · {name} {}", excerpt(&capture.tokens), capture.len(), model.dtype)
}

/// The same behind the run's letter.
pub(in crate::app) fn lettered_line(place: usize, capture: &Capture) -> String {
    format!("{}  {}", letter(place), line(capture))
}

/// The beginning of a prompt: what a person wrote, where that is known.
fn excerpt(tokens: &TokenSequence) -> String {
    let written = tokens.tokens.iter().filter(|token| token.origin == TokenOrigin::Text);
    let (mut text, mut length, mut behind_blank) = (String::new(), 0, false);
    for token in written {
        for character in token.text().chars() {
            if character.is_whitespace() {
                behind_blank = true;
                continue;
            }
            if std::mem::take(&mut behind_blank) && length > 0 {
                text.push(' ');
                length += 1;
            }
            if length >= EXCERPT {
                return format!("{}…", text.trim_end());
            }
            text.push(character);
            length += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tokenizer::Token;

    fn sequence(pieces: &[(&str, TokenOrigin)]) -> TokenSequence {
        let token = |(text, origin): &(&str, TokenOrigin)| Token {
            id: 0,
            bytes: text.as_bytes().to_vec(),
            origin: *origin,
        };
        TokenSequence { tokens: pieces.iter().map(token).collect(), ..TokenSequence::default() }
    }

    #[test]
    fn an_excerpt_is_what_a_person_wrote_with_single_blanks() {
        let tokens = sequence(&[
            ("<s>", TokenOrigin::Special),
            ("Why", TokenOrigin::Text),
            ("\n\n  ", TokenOrigin::Text),
            ("not", TokenOrigin::Text),
        ]);
        assert_eq!(excerpt(&tokens), "Why not");
    }

    #[test]
    fn a_long_excerpt_ends_after_a_fixed_number_of_characters_whatever_follows() {
        let pieces = [("äb ", TokenOrigin::Text); 400];
        let expected = format!("{}…", "äb ".repeat(11).trim_end().to_owned() + " ä");
        assert_eq!(excerpt(&sequence(&pieces)), expected);
        assert_eq!(excerpt(&sequence(&pieces[..40])), expected);
        let just_fits = [("abcdefghijklmnopq", TokenOrigin::Text); 2];
        assert_eq!(excerpt(&sequence(&just_fits)), "abcdefghijklmnopq".repeat(2));
    }

    #[test]
    fn letters_stop_at_the_last_one() {
        assert_eq!([0, 1, 25, 26].map(letter), ['A', 'B', 'Z', 'Z']);
    }
}
