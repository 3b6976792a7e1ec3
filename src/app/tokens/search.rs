//! Searching the tokens of the shown run.

use crate::analysis::{TokenClass, TokenQuery};
use crate::model::tokenizer::TokenSequence;
use std::ops::Range;

/// A search and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// What was typed.
    pub text: String,
    /// The hits in order, as ranges of tokens.
    pub hits: Vec<Range<usize>>,
    /// The hit that was gone to.
    pub at: Option<usize>,
    /// What is wrong with the query, one line.
    pub wrong: Option<String>,
}

impl Search {
    /// Looks anew, in these tokens.
    pub fn look(&mut self, tokens: &TokenSequence, classes: &[TokenClass]) {
        self.at = None;
        let query = TokenQuery::parse(&self.text);
        self.wrong = query.as_ref().err().map(ToString::to_string);
        self.hits = query.ok().flatten().map(|query| query.hits(tokens, classes)).unwrap_or_default();
    }

    /// Goes to the hit so many further on, round at the ends; the first step goes to the nearest hit
    /// from token `from` on. The token to select.
    pub fn step(&mut self, by: isize, from: usize) -> Option<usize> {
        let count = self.hits.len();
        if count == 0 {
            return None;
        }
        let next = match self.at {
            Some(at) => (at + count).saturating_add_signed(by % count.cast_signed()) % count,
            None if by < 0 => (self.hits.partition_point(|hit| hit.start < from) + count - 1) % count,
            None => self.hits.partition_point(|hit| hit.start < from) % count,
        };
        self.at = Some(next);
        Some(self.hits[next].start)
    }

    /// Whether a token is part of a hit.
    #[must_use]
    pub fn has(&self, token: usize) -> bool {
        let after = self.hits.partition_point(|hit| hit.start <= token);
        // Hits may share a token, so that the last one that starts before it need not be the longest.
        self.hits[..after].iter().rev().take(2).any(|hit| hit.contains(&token))
    }

    /// "3 of 17", "17 hits", "no hit"; nothing where nothing is asked.
    #[must_use]
    pub fn says(&self) -> String {
        match (&self.wrong, self.at, self.hits.len()) {
            _ if self.text.is_empty() => String::new(),
            (Some(_), ..) => "?".to_owned(),
            (None, _, 0) => "no hit".to_owned(),
            (None, Some(at), count) => format!("{} of {count}", at + 1),
            (None, None, 1) => "1 hit".to_owned(),
            (None, None, count) => format!("{count} hits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stepping_starts_at_the_selection_and_goes_round() {
        let mut search = Search { text: "x".into(), hits: vec![2..3, 5..7, 9..10], ..Search::default() };
        assert_eq!(search.says(), "3 hits");
        assert_eq!(search.step(1, 4), Some(5));
        assert_eq!(search.says(), "2 of 3");
        assert_eq!(search.step(1, 0), Some(9));
        assert_eq!(search.step(1, 0), Some(2), "round at the end");
        assert_eq!(search.step(-1, 0), Some(9), "and at the start");
        search.at = None;
        assert_eq!(search.step(-1, 4), Some(2));
        search.at = None;
        assert_eq!(search.step(1, 10), Some(2), "nothing behind: from the start");
        assert!(search.has(6) && !search.has(7) && !search.has(0));
    }

    #[test]
    fn no_hit_and_no_sense_are_said() {
        let mut search = Search { text: "x".into(), ..Search::default() };
        assert_eq!((search.says().as_str(), search.step(1, 0)), ("no hit", None));
        search.wrong = Some("Not a regular expression".into());
        assert_eq!(search.says(), "?");
    }
}
