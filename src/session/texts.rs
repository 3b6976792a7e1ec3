//! The JSON members: prompt, tokens, model, runs.

use crate::capture::Checks;
use crate::engine::PromptInput;
use crate::eviction::EvictionCase;
use crate::model::ModelInfo;
use crate::model::chat::ChatMessage;
use crate::model::tokenizer::{BosChoice, Token, TokenOrigin, TokenSequence};
use serde::{Deserialize, Serialize};

/// Names of the JSON members.
pub(super) const MODEL: &str = "model.json";
pub(super) const PROMPT: &str = "prompt.json";
pub(super) const TOKENS: &str = "tokens.json";
pub(super) const RUN: &str = "run.json";
pub(super) const EVICTIONS: &str = "evictions.json";
pub(super) const VIEW: &str = "view.json";

#[derive(Serialize, Deserialize)]
pub(super) struct ModelText {
    /// As `--model` takes it.
    pub(super) reference: Option<String>,
    pub(super) info: ModelInfo,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PromptText {
    pub(super) bos: BosChoice,
    pub(super) prompt: PromptInputText,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PromptInputText {
    Text { text: String, parse_specials: bool },
    Chat(Vec<ChatMessage>),
    TokenIds(Vec<u32>),
}

impl From<&PromptInput> for PromptInputText {
    fn from(input: &PromptInput) -> Self {
        match input.clone() {
            PromptInput::Text { text, parse_specials } => Self::Text { text, parse_specials },
            PromptInput::Chat(turns) => Self::Chat(turns),
            PromptInput::Ids(ids) => Self::TokenIds(ids),
        }
    }
}

impl From<PromptInputText> for PromptInput {
    fn from(text: PromptInputText) -> Self {
        match text {
            PromptInputText::Text { text, parse_specials } => Self::Text { text, parse_specials },
            PromptInputText::Chat(turns) => Self::Chat(turns),
            PromptInputText::TokenIds(ids) => Self::Ids(ids),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct TokensText {
    pub(super) bos_id: Option<u32>,
    pub(super) warnings: Vec<String>,
    pub(super) tokens: Vec<TokenText>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TokenText {
    id: u32,
    origin: TokenOrigin,
    #[serde(flatten)]
    content: Content,
}

/// What a token stands for: text, or the bytes of a part of a character.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&TokenSequence> for TokensText {
    fn from(sequence: &TokenSequence) -> Self {
        let token = |token: &Token| TokenText {
            id: token.id,
            origin: token.origin,
            content: String::from_utf8(token.bytes.clone())
                .map_or_else(|error| Content::Bytes(error.into_bytes()), Content::Text),
        };
        Self {
            bos_id: sequence.bos_id,
            warnings: sequence.warnings.clone(),
            tokens: sequence.tokens.iter().map(token).collect(),
        }
    }
}

impl From<TokensText> for TokenSequence {
    fn from(text: TokensText) -> Self {
        let token = |token: TokenText| Token {
            id: token.id,
            origin: token.origin,
            bytes: match token.content {
                Content::Text(text) => text.into_bytes(),
                Content::Bytes(bytes) => bytes,
            },
        };
        Self {
            bos_id: text.bos_id,
            warnings: text.warnings,
            tokens: text.tokens.into_iter().map(token).collect(),
        }
    }
}

/// What the run measured beside its arrays. Floats are texts: JSON has no NaN.
#[derive(Serialize, Deserialize)]
pub(super) struct RunText {
    #[serde(with = "exact")]
    pub(super) prefill_ms: f64,
    #[serde(with = "exact")]
    max_row_sum_error: f64,
    #[serde(with = "exact")]
    causal_leak: f64,
    nan_count: u64,
    first_nan: Option<(usize, usize, usize)>,
}

impl RunText {
    pub(super) fn of(checks: &Checks, prefill_ms: f64) -> Self {
        let Checks { max_row_sum_error, causal_leak, nan_count, first_nan } = *checks;
        Self { prefill_ms, max_row_sum_error, causal_leak, nan_count, first_nan }
    }

    pub(super) fn checks(&self) -> Checks {
        Checks {
            max_row_sum_error: self.max_row_sum_error,
            causal_leak: self.causal_leak,
            nan_count: self.nan_count,
            first_nan: self.first_nan,
        }
    }
}

/// An eviction without its arrays.
#[derive(Serialize, Deserialize)]
pub(super) struct EvictionText {
    pub(super) case: EvictionCase,
    pub(super) pins: Vec<usize>,
    pub(super) scored_from: usize,
    pub(super) first_differing_row: Option<usize>,
    #[serde(with = "exact")]
    pub(super) wall_ms: f64,
}

/// A float as text, every bit of it.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
