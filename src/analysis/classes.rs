//! What a token is: from the tokenizer's metadata and the chat template, and only between
//! delimiters and content from its text.

use crate::model::tokenizer::{Token, TokenOrigin, TokenSequence};
use regex::Regex;
use std::sync::LazyLock;

/// What a token is, from the tokenizer's metadata and the chat template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenClass {
    /// The model's BOS at index 0.
    Bos,
    /// Index 0 that is not BOS.
    Positional,
    /// Special or added token, or put there by the chat template.
    Structural,
    /// Newline or punctuation.
    Delimiter,
    /// Anything else.
    Content,
    /// A learned sink logit (gpt-oss).
    Virtual,
}

impl TokenClass {
    /// All of them, in the order of this type.
    pub const ALL: [Self; 6] =
        [Self::Bos, Self::Positional, Self::Structural, Self::Delimiter, Self::Content, Self::Virtual];

    /// The name that tables, files and searches use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bos => "bos",
            Self::Positional => "positional",
            Self::Structural => "structural",
            Self::Delimiter => "delimiter",
            Self::Content => "content",
            Self::Virtual => "virtual",
        }
    }

    /// The letter of its badge.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::Bos => "B",
            Self::Positional => "P",
            Self::Structural => "S",
            Self::Delimiter => "D",
            Self::Content => "C",
            Self::Virtual => "V",
        }
    }

    /// What it means, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Bos => "the model's BOS at index 0",
            Self::Positional => "index 0 without BOS: its position makes it the first sink",
            Self::Structural => "special token, or put there by the chat template",
            Self::Delimiter => "newline or punctuation",
            Self::Content => "ordinary text",
            Self::Virtual => "a sink logit that the model learned: never evicted, and not in z",
        }
    }

    /// The class of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// The class of each token of a prompt.
#[must_use]
pub fn classify(tokens: &TokenSequence) -> Vec<TokenClass> {
    let class = |(index, token): (usize, &Token)| match (index, token.origin) {
        (0, _) if tokens.starts_with_bos() => TokenClass::Bos,
        (0, _) => TokenClass::Positional,
        (_, TokenOrigin::Special | TokenOrigin::Template) => TokenClass::Structural,
        (_, TokenOrigin::Text) if is_delimiter(&token.bytes) => TokenClass::Delimiter,
        (_, TokenOrigin::Text) => TokenClass::Content,
    };
    tokens.tokens.iter().enumerate().map(class).collect()
}

/// Whether a token is nothing but newlines and punctuation, spaces beside them allowed.
/// A part of a split character is not.
fn is_delimiter(bytes: &[u8]) -> bool {
    static DELIMITER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*[\n\r\p{P}[[:punct:]]][\s\p{P}[[:punct:]]]*$").expect("a valid pattern")
    });
    std::str::from_utf8(bytes).is_ok_and(|text| DELIMITER.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(id: u32, text: &str, origin: TokenOrigin) -> Token {
        Token { id, bytes: text.as_bytes().to_vec(), origin }
    }

    #[test]
    fn delimiters_are_newlines_and_punctuation_only() {
        for text in ["\n", "\n\n", " \n", ".", " ,", "...", "\r\n", "—", "。", "),\n", "}"] {
            assert!(is_delimiter(text.as_bytes()), "{text:?}");
        }
        for text in ["", " ", "    ", "\t", "a", "the.", " ( a", "1", "한", "'s"] {
            assert!(!is_delimiter(text.as_bytes()), "{text:?}");
        }
        assert!(!is_delimiter(&[0xE3, 0x80]), "half of an ideographic full stop");
    }

    #[test]
    fn classes_follow_origin_and_position() {
        use TokenClass::{Bos, Content, Delimiter, Positional, Structural};
        use TokenOrigin::{Special, Template, Text};
        let tokens = vec![
            token(1, "<s>", Special),
            token(1, "<s>", Special),
            token(5, "user", Template),
            token(6, "\n", Template),
            token(6, "\n", Text),
            token(7, "<s>", Text),
        ];
        let mut sequence = TokenSequence { tokens, bos_id: Some(1), warnings: Vec::new() };
        assert_eq!(classify(&sequence), [Bos, Structural, Structural, Structural, Delimiter, Content]);
        sequence.bos_id = None;
        assert_eq!(classify(&sequence)[0], Positional, "a special token that is not this model's BOS");
        sequence.tokens.remove(0);
        sequence.tokens.remove(0);
        assert_eq!(classify(&sequence)[0], Positional, "index 0, whatever stands there");
    }
}
