//! A tokenised prompt: ids, the exact bytes that each token stands for, and where it came from.

use std::fmt::Write as _;

/// Where a token of the prompt came from. Token classes are derived from this, never from a list of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TokenOrigin {
    /// Special or added token of the tokenizer (BOS, EOS, chat markers, …).
    Special,
    /// Put there by the chat template: role names, newlines between turns.
    Template,
    /// Typed by the user, or given as an id that is not special.
    Text,
}

/// One token of a prompt. It is identified by its position, never by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Id in the model's vocabulary.
    pub id: u32,
    /// The exact bytes that this token contributes to the text; may be part of a UTF-8 character,
    /// or nothing (a space that the tokenizer put in front). The bytes of all tokens of a prompt,
    /// joined, are BOS (where it was added) and the text.
    pub bytes: Vec<u8>,
    /// Where it came from.
    pub origin: TokenOrigin,
}

impl Token {
    /// The token as text that a reader can tell apart: valid UTF-8 as it is, split characters as a
    /// hex group such as `<E4 B8>`. Lossless: [`Token::bytes`] holds what it stands for.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for chunk in self.bytes.utf8_chunks() {
            out.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                let hex: Vec<String> = chunk.invalid().iter().map(|b| format!("{b:02X}")).collect();
                let _ = write!(out, "<{}>", hex.join(" "));
            }
        }
        out
    }

    /// [`Token::text`] with visible whitespace: `·` for a space, `↵` for a newline, `⇥` for a tab.
    #[must_use]
    pub fn label(&self) -> String {
        self.text()
            .chars()
            .map(|c| match c {
                ' ' => '·',
                '\n' => '↵',
                '\r' => '␍',
                '\t' => '⇥',
                other => other,
            })
            .collect()
    }
}

/// A prompt as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenSequence {
    /// The tokens in order.
    pub tokens: Vec<Token>,
    /// The model's BOS id, where it has one (also when the prompt does not start with it).
    pub bos_id: Option<u32>,
    /// Warnings about the prompt, each one line: two BOS, none where the model expects one, …
    pub warnings: Vec<String>,
}

impl TokenSequence {
    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The ids in order.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.tokens.iter().map(|t| t.id).collect()
    }

    /// Whether the model's BOS stands at index 0.
    #[must_use]
    pub fn starts_with_bos(&self) -> bool {
        self.bos_id.is_some() && self.tokens.first().map(|t| t.id) == self.bos_id
    }
}
