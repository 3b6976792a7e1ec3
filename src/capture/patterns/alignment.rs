//! Which tokens of two texts belong together.

use crate::model::tokenizer::TokenSequence;
use similar::{Algorithm, DiffOp};
use std::time::{Duration, Instant};

/// How two texts are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AlignBy {
    /// Position with position.
    #[default]
    Position,
    /// Equal stretches of tokens with each other, found by a diff of the tokens' bytes.
    Tokens,
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
}
