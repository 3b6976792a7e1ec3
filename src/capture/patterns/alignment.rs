//! Which tokens of two texts belong together.

use crate::model::tokenizer::TokenSequence;
use similar::{Algorithm, DiffOp};
use std::time::{Duration, Instant};

/// How two texts are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, clap::ValueEnum)]
pub enum AlignBy {
    /// Position with position.
    #[default]
    Position,
    /// Equal stretches of tokens with each other, found by a diff of the tokens' bytes.
    Tokens,
}

/// What an axis says of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryLabel {
    /// Its token; both where they differ.
    pub token: String,
    /// Its position; both where they differ.
    pub position: String,
}

/// The positions of two texts side by side: each entry has a position in one of them or in both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alignment {
    /// In order; what is in one text only comes between what is in both.
    pub pairs: Vec<(Option<usize>, Option<usize>)>,
}

impl Alignment {
    /// Texts so different that a diff takes longer are aligned less well, never for longer.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// A text of `n` tokens with itself.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        Self { pairs: (0..n).map(|position| (Some(position), Some(position))).collect() }
    }

    /// Aligns two texts.
    #[must_use]
    pub fn of(a: &TokenSequence, b: &TokenSequence, by: AlignBy) -> Self {
        match by {
            AlignBy::Position => {
                let at = |position, n| (position < n).then_some(position);
                let longest = a.len().max(b.len());
                Self { pairs: (0..longest).map(|p| (at(p, a.len()), at(p, b.len()))).collect() }
            }
            AlignBy::Tokens => Self::by_tokens(a, b),
        }
    }

    fn by_tokens(a: &TokenSequence, b: &TokenSequence) -> Self {
        // Ids of two models mean different tokens; bytes do not.
        let bytes = |tokens: &TokenSequence| -> Vec<Vec<u8>> {
            tokens.tokens.iter().map(|token| token.bytes.clone()).collect()
        };
        let (a, b) = (bytes(a), bytes(b));
        let deadline = Some(Instant::now() + Self::PATIENCE);
        let operations = similar::capture_diff_slices_deadline(Algorithm::Myers, &a, &b, deadline);
        let mut pairs = Vec::with_capacity(a.len().max(b.len()));
        for operation in operations {
            let (old, new) = (operation.old_range(), operation.new_range());
            if let DiffOp::Equal { .. } = operation {
                pairs.extend(old.zip(new).map(|(a, b)| (Some(a), Some(b))));
            } else {
                pairs.extend(old.map(|a| (Some(a), None)));
                pairs.extend(new.map(|b| (None, Some(b))));
            }
        }
        Self { pairs }
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether both texts are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Entries that are in both texts.
    #[must_use]
    pub fn aligned(&self) -> usize {
        self.pairs.iter().filter(|(a, b)| a.is_some() && b.is_some()).count()
    }

    /// What an axis says of each entry: its token, and its position. `+` and `−` mark what is in the first or
    /// in the second text only.
    #[must_use]
    pub fn labels(&self, a: &TokenSequence, b: &TokenSequence) -> Vec<EntryLabel> {
        let label = |pair: &(Option<usize>, Option<usize>)| match *pair {
            (Some(first), Some(second)) => {
                let (here, there) = (a.tokens[first].label(), b.tokens[second].label());
                EntryLabel {
                    token: if here == there { here } else { format!("{here}|{there}") },
                    position: if first == second { first.to_string() } else { format!("{first}|{second}") },
                }
            }
            (Some(first), None) => EntryLabel {
                token: format!("+{}", a.tokens[first].label()),
                position: format!("{first}|–"),
            },
            (None, Some(second)) => EntryLabel {
                token: format!("−{}", b.tokens[second].label()),
                position: format!("–|{second}"),
            },
            (None, None) => EntryLabel { token: String::new(), position: String::new() },
        };
        self.pairs.iter().map(label).collect()
    }

    /// For each of `n` positions of the first text its position in the second; `None` where it is not in it.
    #[must_use]
    pub fn places(&self, n: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; n];
        for (first, second) in self.pairs.iter().filter_map(|&(a, b)| Some((a?, b?))) {
            places[first] = Some(second);
        }
        places
    }

    /// The entry of a position of the first text.
    #[must_use]
    pub fn entry_of(&self, position: usize) -> Option<usize> {
        // Positions ascend along the entries; those of the second text alone lie in between.
        self.pairs.iter().position(|&(a, _)| a == Some(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tokenizer::{Token, TokenOrigin};
    use proptest::prelude::*;

    fn text(words: &str) -> TokenSequence {
        let token = |word: &str| Token { id: 0, bytes: word.as_bytes().to_vec(), origin: TokenOrigin::Text };
        TokenSequence { tokens: words.split_whitespace().map(token).collect(), ..TokenSequence::default() }
    }

    #[test]
    fn positions_are_aligned_until_the_shorter_text_ends() {
        let aligned = Alignment::of(&text("a b"), &text("a b c"), AlignBy::Position);
        assert_eq!(aligned.pairs, [(Some(0), Some(0)), (Some(1), Some(1)), (None, Some(2))]);
        assert_eq!(aligned.aligned(), 2);
    }

    #[test]
    fn a_token_in_front_shifts_all_others() {
        let aligned = Alignment::of(&text("the cat sat"), &text("<s> the cat sat"), AlignBy::Tokens);
        assert_eq!(
            aligned.pairs,
            [(None, Some(0)), (Some(0), Some(1)), (Some(1), Some(2)), (Some(2), Some(3))]
        );
        assert_eq!((aligned.entry_of(0), aligned.entry_of(2), aligned.entry_of(3)), (Some(1), Some(3), None));
    }

    #[test]
    fn a_replaced_stretch_is_in_neither() {
        let aligned = Alignment::of(&text("a red fox runs"), &text("a blue old fox runs"), AlignBy::Tokens);
        assert_eq!(aligned.aligned(), 3);
        assert_eq!(aligned.pairs[1..4], [(Some(1), None), (None, Some(1)), (None, Some(2))]);
    }

    proptest! {
        #[test]
        fn every_position_of_both_texts_appears_once_and_in_order(
            a in proptest::collection::vec(0_u8..4, 0..40), b in proptest::collection::vec(0_u8..4, 0..40),
            by_tokens: bool,
        ) {
            let sequence = |words: &[u8]| text(&words.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
            let by = if by_tokens { AlignBy::Tokens } else { AlignBy::Position };
            let aligned = Alignment::of(&sequence(&a), &sequence(&b), by);
            let firsts: Vec<usize> = aligned.pairs.iter().filter_map(|pair| pair.0).collect();
            let seconds: Vec<usize> = aligned.pairs.iter().filter_map(|pair| pair.1).collect();
            prop_assert_eq!(firsts, (0..a.len()).collect::<Vec<_>>());
            prop_assert_eq!(seconds, (0..b.len()).collect::<Vec<_>>());
            if by_tokens {
                for pair in &aligned.pairs {
                    if let (Some(x), Some(y)) = *pair {
                        prop_assert_eq!(a[x], b[y]);
                    }
                }
            }
        }
    }

    #[test]
    fn entries_say_what_is_in_one_text_only() {
        let (a, b) = (text("the cat sat"), text("<s> the dog sat"));
        let pairs =
            vec![(None, Some(0)), (Some(0), Some(1)), (Some(1), None), (None, Some(2)), (Some(2), Some(3))];
        let labels = Alignment { pairs }.labels(&a, &b);
        let tokens: Vec<&str> = labels.iter().map(|label| label.token.as_str()).collect();
        let positions: Vec<&str> = labels.iter().map(|label| label.position.as_str()).collect();
        assert_eq!(tokens, ["−<s>", "the", "+cat", "−dog", "sat"]);
        assert_eq!(positions, ["–|0", "0|1", "1|–", "–|2", "2|3"]);
    }
}
