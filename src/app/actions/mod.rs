//! What can be done, as one table: the palette offers its rows, the sheet lists their keys, and the
//! keyboard is read by them.

mod find;
mod more;
mod table;

use super::command::Command;
use super::state::AppState;
use egui::{Key, KeyboardShortcut, Modifiers};

pub use find::{Found, found};
pub use table::ACTIONS;

/// Where an action belongs; the sheet has a section for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Model and prompt, run and cancel.
    Run,
    /// The views and what they show.
    View,
    /// Tokens and their selection.
    Tokens,
    /// The head shown large.
    Heads,
    /// The eviction view.
    Eviction,
    /// The window itself.
    Window,
}

impl Place {
    /// All of them, in the order of the sheet.
    pub const ALL: [Self; 6] =
        [Self::Run, Self::View, Self::Tokens, Self::Heads, Self::Eviction, Self::Window];

    /// The heading of its section.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "Model and prompt",
            Self::View => "Views",
            Self::Tokens => "Tokens",
            Self::Heads => "Heads and patterns",
            Self::Eviction => "Eviction",
            Self::Window => "Window",
        }
    }
}

/// When the keys of an action are listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// Always, also while a dialog is open.
    Always,
    /// Unless a dialog is open; also while a text is written.
    Writing,
    /// Unless a dialog is open or a text is written.
    Reading,
    /// As `Reading`, and only while no control has the keyboard: a slider or a matrix needs these keys itself.
    Unfocused,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Action {
    /// What it does, as the palette and the sheet say it.
    pub words: &'static str,
    /// Where it belongs.
    pub place: Place,
    /// Its keys; the first is the one that is shown.
    pub keys: &'static [KeyboardShortcut],
    /// When they are listened to.
    pub listens: Listens,
    /// The command; `None` where it makes no sense now.
    pub command: fn(&AppState) -> Option<Command>,
}

/// Keys that a part of the window reads itself; the sheet lists them too.
pub const KEYS_OF_PARTS: [(Place, &str, &str); 11] = [
    (Place::Heads, "Click, or arrows in the grid", "Focus a head"),
    (Place::Heads, "Wheel, or + and −", "Zoom the pattern"),
    (Place::Heads, "Drag", "Move the pattern"),
    (Place::Heads, "Shift-drag", "Zoom to a box"),
    (Place::Heads, "Double-click, or 0", "Show the whole pattern"),
    (Place::Heads, "Arrows in the pattern", "Move the cell whose weight is shown"),
    (Place::Tokens, "Ctrl-click, Shift-click", "Select several tokens"),
    (Place::Tokens, "Ctrl+C", "Copy text of the selected tokens"),
    (Place::View, "Drag the dashed line", "Set the threshold of sinks"),
    (Place::Window, "Drag the edge of a panel", "Resize it, or close it"),
    (Place::Window, "Tab, Shift+Tab", "Next control, previous control"),
];

const fn command(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn command_shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

const fn plain(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn alt(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

/// Keys as they are labelled on a keyboard.
#[must_use]
pub fn keys_text(ctx: &egui::Context, keys: &KeyboardShortcut) -> String {
    let mut text = ctx.format_shortcut(keys);
    for (name, label) in [
        ("OpenBracket", "["),
        ("CloseBracket", "]"),
        ("Questionmark", "?"),
        ("Escape", "Esc"),
        ("Equals", "="),
        ("Minus", "−"),
        ("Plus", "+"),
        ("Left", "←"),
        ("Right", "→"),
    ] {
        if let Some(start) = text.strip_suffix(name) {
            text = format!("{start}{label}");
        }
    }
    text
}

/// What the keys of this frame ask for; the keys are used up.
pub(super) fn read_keys(ctx: &egui::Context, state: &AppState, commands: &mut Vec<Command>) {
    let writing = ctx.text_edit_focused();
    let focused = ctx.memory(|memory| memory.focused().is_some());
    let dialog = state.has_dialog();
    let listens = |action: &Action| match action.listens {
        Listens::Always => true,
        Listens::Writing => !dialog,
        Listens::Reading => !dialog && !writing,
        Listens::Unfocused => !dialog && !writing && !focused,
    };
    ctx.input_mut(|input| {
        if !input.events.iter().any(|event| matches!(event, egui::Event::Key { pressed: true, .. })) {
            return;
        }
        // The more particular shortcut first: `Ctrl+Z` alone would match with Shift too.
        for particular in [true, false] {
            for action in ACTIONS.iter().filter(|action| listens(action)) {
                for keys in action.keys.iter().filter(|keys| is_particular(**keys) == particular) {
                    if !input.events.iter().any(|event| is(event, *keys)) {
                        continue;
                    }
                    let command = (action.command)(state);
                    // Alt+Left is never a plain Left, also where there is nothing to go back to.
                    if particular || command.is_some() {
                        input.consume_shortcut(keys);
                    }
                    commands.extend(command);
                }
            }
        }
    });
}

/// Whether keys without Shift and Alt would match these too.
fn is_particular(keys: KeyboardShortcut) -> bool {
    keys.modifiers.shift || keys.modifiers.alt
}

/// Whether an event presses these keys.
fn is(event: &egui::Event, keys: KeyboardShortcut) -> bool {
    matches!(event, egui::Event::Key { key, pressed: true, modifiers, .. }
        if *key == keys.logical_key && modifiers.matches_logically(keys.modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_that_are_possible_at_once_share_keys() {
        for (i, one) in ACTIONS.iter().enumerate() {
            for other in &ACTIONS[i + 1..] {
                let shared = one.keys.iter().find(|keys| other.keys.contains(keys));
                // Escape cancels the job first and deselects when there is none.
                let excused = shared.is_none_or(|keys| keys.logical_key == Key::Escape);
                assert!(excused, "{} and {} share {shared:?}", one.words, other.words);
            }
        }
    }

    #[test]
    fn words_are_unique_short_and_in_sentence_case() {
        for (i, action) in ACTIONS.iter().enumerate() {
            assert!(ACTIONS[..i].iter().all(|other| other.words != action.words), "{}", action.words);
            let first = action.words.chars().next().expect("words");
            assert!(first.is_uppercase() && action.words.len() <= 44, "{}", action.words);
            assert!(!action.words.ends_with('.'), "{}", action.words);
        }
    }

    #[test]
    fn keys_without_a_modifier_are_never_taken_from_a_text() {
        for action in ACTIONS {
            // F3 types nothing.
            let types = |keys: &&KeyboardShortcut| {
                !keys.modifiers.command && !matches!(keys.logical_key, Key::Escape | Key::F3)
            };
            if action.keys.iter().any(|keys| types(&keys)) {
                assert!(
                    matches!(action.listens, Listens::Reading | Listens::Unfocused),
                    "{} would swallow what is typed",
                    action.words
                );
            }
        }
    }
}
