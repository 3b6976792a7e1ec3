//! Fuzzy search over what can be done now.

use super::more::more;
use super::{ACTIONS, Place};
use crate::app::command::Command;
use crate::app::state::AppState;
use egui::KeyboardShortcut;

/// An action that was found.
#[derive(Debug)]
pub struct Found {
    /// What it does.
    pub words: String,
    /// Where it belongs.
    pub place: Place,
    /// Its keys, where it has some.
    pub keys: Option<KeyboardShortcut>,
    /// What it sends.
    pub command: Command,
}

/// What can be done now and matches, the best match first; all of it, in the table's order, for an empty query.
#[must_use]
pub fn found(state: &AppState, query: &str) -> Vec<Found> {
    let rows = ACTIONS.iter().filter_map(|action| {
        let command = (action.command)(state)?;
        let keys = action.keys.first().copied();
        Some(Found { words: action.words.to_owned(), place: action.place, keys, command })
    });
    let others = more(state, query).into_iter().map(|(place, words, command)| Found {
        words,
        place,
        keys: None,
        command,
    });
    let mut scored: Vec<(i32, Found)> = rows
        .chain(others)
        .filter(|found| {
            !matches!(found.command, Command::Guide(crate::app::guide::GuideCommand::ShowPalette(_)))
        })
        .filter_map(|found| Some((score(&found.words, query)?, found)))
        .collect();
    // Stable: equal ones stay in the table's order.
    scored.sort_by_key(|(score, _)| -score);
    scored.into_iter().map(|(_, found)| found).collect()
}

/// How well words match a query: every word of the query must be found, its letters in order. Letters at
/// the beginning of a word and letters that follow each other count more.
fn score(words: &str, query: &str) -> Option<i32> {
    let words: Vec<char> = words.to_lowercase().chars().collect();
    let mut total = 0;
    for part in query.to_lowercase().split_whitespace() {
        total += part_score(&words, part)?;
    }
    // Of two that match alike, the shorter one says less else.
    Some(if total == 0 { 0 } else { total * 16 - i32::try_from(words.len()).unwrap_or(i32::MAX) })
}

/// The best place for a part: from each letter that it may begin with, letter by letter.
fn part_score(words: &[char], part: &str) -> Option<i32> {
    let first = part.chars().next()?;
    let starts = (0..words.len()).filter(|&at| words[at] == first);
    starts.filter_map(|start| score_from(words, start, part)).max()
}

fn score_from(words: &[char], start: usize, part: &str) -> Option<i32> {
    let (mut at, mut total, mut last) = (start, 0, None);
    for letter in part.chars() {
        let found = (at..words.len()).find(|&i| words[i] == letter)?;
        let begins = found == 0 || !words[found - 1].is_alphanumeric();
        let follows = last.is_some_and(|last| last + 1 == found);
        total += 1 + if begins { 6 } else { 0 } + if follows { 4 } else { 0 };
        last = Some(found);
        at = found + 1;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of the table in the order in which a query finds them.
    fn ranked(query: &str) -> Vec<&'static str> {
        let mut all: Vec<_> =
            ACTIONS.iter().filter_map(|action| Some((score(action.words, query)?, action.words))).collect();
        all.sort_by_key(|(score, _)| -score);
        all.into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn initials_and_parts_find_what_is_meant_first() {
        for (query, meant) in [
            ("run", "Run the prompt"),
            ("evic", "Show eviction"),
            ("ns", "Next sink"),
            ("sel no", "Select no token"),
            ("smaller bud", "Smaller budget"),
            ("hub", "Open from the Hub…"),
            ("NEXT HEAD", "Next head"),
            ("cnc", "Cancel the running job"),
        ] {
            assert_eq!(ranked(query).first(), Some(&meant), "{query}: {:?}", &ranked(query));
        }
    }

    #[test]
    fn what_does_not_match_is_left_out_and_an_empty_query_leaves_nothing_out() {
        assert!(ranked("zzz").is_empty());
        assert!(!ranked("budget").contains(&"Run the prompt"));
        assert_eq!(ranked("").len(), ACTIONS.len());
        assert_eq!(ranked(" ")[0], ACTIONS[0].words, "in the table's order");
    }
}
