//! The tokenizer of a model, as prompts need it.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokenizers::{PostProcessorWrapper, Tokenizer};

use super::align::{RawToken, align};
use super::bos::{Bos, Eos, Writer};
use super::pieces::Pieces;
use super::{BosChoice, PromptError, Token, TokenOrigin, TokenSequence, one_line};
use crate::model::chat::{ChatMessage, ChatTemplate, content_spans};

/// A model's tokenizer with its BOS rule and chat template.
pub struct PromptTokenizer {
    /// Behind a lock, because reading specials or not is a switch of the tokenizer itself.
    tokenizer: Mutex<Tokenizer>,
    pieces: Pieces,
    kind: String,
    bos: Bos,
    eos: Eos,
    template: Option<Result<ChatTemplate, PromptError>>,
    assumptions: Vec<String>,
    /// Rows of the model's embedding, once they are known.
    rows: OnceLock<usize>,
}

/// What the loaders hand over.
pub(super) struct Parts {
    pub(super) tokenizer: Tokenizer,
    pub(super) pieces: Pieces,
    /// In words, for a person.
    pub(super) kind: String,
    pub(super) bos: Bos,
    pub(super) eos: Eos,
    pub(super) template: Option<Result<ChatTemplate, PromptError>>,
    pub(super) assumptions: Vec<String>,
}

/// A text as tokens, with the bytes of the text that each of them covers.
struct Encoded {
    tokens: Vec<Token>,
    spans: Vec<Range<usize>>,
    warnings: Vec<String>,
}

impl PromptTokenizer {
    pub(super) fn new(parts: Parts) -> Result<Self, tokenizers::Error> {
        let Parts { mut tokenizer, pieces, kind, bos, eos, template, assumptions } = parts;
        // BOS is placed here, prompts are whole, and trimmed offsets would lose blanks.
        tokenizer.with_truncation(None)?;
        tokenizer.with_padding(None);
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Self {
            tokenizer: Mutex::new(tokenizer),
            pieces,
            kind,
            bos,
            eos,
            template,
            assumptions,
            rows: OnceLock::new(),
        })
    }

    /// What kind of tokenizer it is, in words: `byte-level BPE (llama-bpe)`, `SentencePiece BPE`, …
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Number of ids, gaps included: one more than the largest id.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.pieces.len()
    }

    /// The model's BOS id, where it has one.
    #[must_use]
    pub fn bos_id(&self) -> Option<u32> {
        self.bos.id()
    }

    /// Whether the model's metadata wants BOS in front of plain text.
    #[must_use]
    pub fn adds_bos(&self) -> bool {
        self.bos.wanted
    }

    /// Whether the model's metadata wants EOS behind plain text.
    #[must_use]
    pub fn adds_eos(&self) -> bool {
        self.eos.token.is_some()
    }

    /// Whether the model comes with a chat template; it may still be one that can't be used.
    #[must_use]
    pub fn has_chat_template(&self) -> bool {
        self.template.is_some()
    }

    /// Why chats can't be rendered: the model has no template, or a broken one. `None` where they can.
    #[must_use]
    pub fn template_problem(&self) -> Option<PromptError> {
        self.template().err()
    }

    /// What the files did not say and was assumed, each one line.
    #[must_use]
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// Whether an id is a special or added token.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        self.pieces.is_special(id)
    }

    /// Checks that ids have rows in the model's embedding of `model_vocab` rows. More rows than ids
    /// are padding, and fine. Special and added tokens may lack a row (Gemma 3's token for images,
    /// in its models for text): prompts that hold one are refused from then on.
    ///
    /// # Errors
    /// [`PromptError::VocabularyMismatch`].
    pub fn check_vocabulary(&self, model_vocab: usize) -> Result<(), PromptError> {
        if self.pieces.ordinary_len() > model_vocab {
            return Err(PromptError::VocabularyMismatch { tokenizer: self.vocab_size(), model: model_vocab });
        }
        self.rows.get_or_init(|| model_vocab);
        Ok(())
    }

    /// Tokenises plain text. Specials typed in it are read as such only with `parse_specials`.
    ///
    /// # Errors
    /// The text is empty, BOS is asked of a model without one, or the tokenizer gives up.
    pub fn encode_text(
        &self,
        text: &str,
        parse_specials: bool,
        bos: BosChoice,
    ) -> Result<TokenSequence, PromptError> {
        if text.is_empty() {
            return Err(PromptError::Empty);
        }
        let mut encoded = self.encode(text, parse_specials)?;
        if !parse_specials && let Some(special) = self.unread_special(text, &encoded.tokens) {
            encoded.warnings.push(format!("The prompt contains {special}: it is read as plain text"));
        }
        self.finish(encoded, Writer::User, bos)
    }

    /// Renders a chat with the model's template and tokenises it. Specials are read wherever they
    /// stand, as `transformers` does; those that a message contains give a warning.
    ///
    /// A token that holds any byte of a message's content is [`TokenOrigin::Text`]; the other
    /// ones that are not special are [`TokenOrigin::Template`].
    ///
    /// # Errors
    /// There is no message or no template, the template refuses the messages, or as
    /// [`PromptTokenizer::encode_text`].
    pub fn encode_chat(
        &self,
        messages: &[ChatMessage],
        bos: BosChoice,
    ) -> Result<TokenSequence, PromptError> {
        let rendered = self.render_chat(messages)?;
        if rendered.is_empty() {
            return Err(PromptError::Empty);
        }
        let contents = content_spans(self.template()?, messages, &rendered);
        let mut encoded = self.encode(&rendered, true)?;
        for (token, span) in encoded.tokens.iter_mut().zip(&encoded.spans) {
            let typed = contents.iter().any(|content| span.start < content.end && content.start < span.end);
            match token.origin {
                TokenOrigin::Special if typed => {
                    encoded
                        .warnings
                        .push(format!("A message contains {}: it was read as a special token", token.text()));
                }
                TokenOrigin::Special => {}
                _ if typed => token.origin = TokenOrigin::Text,
                _ => token.origin = TokenOrigin::Template,
            }
        }
        encoded.warnings.dedup();
        self.finish(encoded, Writer::Template, bos)
    }

    /// Token ids exactly as given, checked against the model's embedding of `model_vocab` rows.
    ///
    /// # Errors
    /// The list is empty, or an id has no row.
    pub fn sequence_of_ids(&self, ids: &[u32], model_vocab: usize) -> Result<TokenSequence, PromptError> {
        if ids.is_empty() {
            return Err(PromptError::Empty);
        }
        check_rows(ids.iter().copied(), model_vocab)?;
        let tokens: Vec<Token> = ids
            .iter()
            .map(|&id| {
                let bytes = match self.pieces.get(id) {
                    Some(bytes) => bytes.to_vec(),
                    None => format!("<id:{id}>").into_bytes(),
                };
                Token { id, bytes, origin: self.origin(id) }
            })
            .collect();
        let mut warnings = self.bos.warnings(&tokens);
        let unknown = ids.iter().filter(|&&id| self.pieces.get(id).is_none()).count();
        if unknown > 0 {
            warnings.push(format!("The tokenizer has no text for {unknown} of the ids: shown as <id:…>"));
        }
        Ok(TokenSequence { tokens, bos_id: self.bos_id(), warnings })
    }

    /// The text that the model sees of a chat, specials included. The template is asked for the
    /// start of an answer unless the last turn is the assistant's own.
    ///
    /// # Errors
    /// There is no message or no template, or the template refuses the messages.
    pub fn render_chat(&self, messages: &[ChatMessage]) -> Result<String, PromptError> {
        if messages.is_empty() {
            return Err(PromptError::EmptyChat);
        }
        self.template()?.render(messages)
    }

    fn template(&self) -> Result<&ChatTemplate, PromptError> {
        let template = self.template.as_ref().ok_or(PromptError::NoTemplate)?;
        template.as_ref().map_err(Clone::clone)
    }

    /// A special token that stands in the text but not among its tokens.
    fn unread_special(&self, text: &str, tokens: &[Token]) -> Option<&str> {
        let special = self.pieces.special_in(text)?;
        let read = tokens
            .iter()
            .any(|token| token.origin == TokenOrigin::Special && token.bytes == special.as_bytes());
        (!read).then_some(special)
    }

    fn origin(&self, id: u32) -> TokenOrigin {
        if self.pieces.is_special(id) { TokenOrigin::Special } else { TokenOrigin::Text }
    }

    fn encode(&self, text: &str, parse_specials: bool) -> Result<Encoded, PromptError> {
        let encoding = {
            let mut tokenizer = self.tokenizer.lock().unwrap_or_else(PoisonError::into_inner);
            tokenizer.set_encode_special_tokens(!parse_specials);
            // Some damaged rules of normalisation only show here, as a panic of their reader.
            catch_unwind(AssertUnwindSafe(|| tokenizer.encode(text, false)))
                .map_err(|_| PromptError::Encode("the tokenizer is damaged".to_owned()))?
                .map_err(|error| PromptError::Encode(one_line(&error.to_string())))?
        };
        let ids = encoding.get_ids();
        let spans: Vec<Range<usize>> = encoding.get_offsets().iter().map(|&(from, to)| from..to).collect();
        let raw: Vec<RawToken> = ids
            .iter()
            .zip(&spans)
            .map(|(&id, span)| RawToken {
                piece: self.pieces.get(id).unwrap_or_default(),
                span: span.clone(),
                special: self.pieces.is_special(id),
            })
            .collect();
        let aligned = align(text.as_bytes(), &raw, |byte| self.pieces.lacks(byte));
        let mut warnings = Vec::new();
        if aligned.dropped_bytes > 0 {
            warnings.push(format!(
                "The model's vocabulary has no token for {} bytes of the prompt: the model does not see them",
                aligned.dropped_bytes
            ));
        }
        if aligned.rewritten > 0 {
            warnings.push(format!(
                "The model's tokenizer rewrites the text of {} tokens (Unicode normalisation): shown as typed",
                aligned.rewritten
            ));
        }
        let unknown = |id: u32, bytes: &[u8]| {
            self.pieces.is_unknown(id) && self.pieces.get(id).is_none_or(|piece| piece != bytes)
        };
        let tokens = ids.iter().zip(aligned.bytes).map(|(&id, bytes)| {
            let origin = if unknown(id, &bytes) { TokenOrigin::Text } else { self.origin(id) };
            Token { id, bytes, origin }
        });
        let tokens: Vec<Token> = tokens.collect();
        let unknown = tokens.iter().filter(|token| unknown(token.id, &token.bytes)).count();
        if unknown > 0 {
            warnings.push(format!(
                "The model's vocabulary has no piece for the text of {unknown} tokens: the model sees none of it"
            ));
        }
        Ok(Encoded { tokens, spans, warnings })
    }

    fn finish(&self, encoded: Encoded, writer: Writer, bos: BosChoice) -> Result<TokenSequence, PromptError> {
        let Encoded { mut tokens, mut warnings, .. } = encoded;
        if tokens.is_empty() {
            return Err(PromptError::Encode("the model's vocabulary has no token for any of it".to_owned()));
        }
        warnings.extend(self.bos.place(&mut tokens, writer, bos)?);
        warnings.extend(self.eos.place(&mut tokens, writer));
        if let Some(&rows) = self.rows.get() {
            check_rows(tokens.iter().map(|token| token.id), rows)?;
        }
        Ok(TokenSequence { tokens, bos_id: self.bos_id(), warnings })
    }
}

fn check_rows(ids: impl Iterator<Item = u32>, rows: usize) -> Result<(), PromptError> {
    match ids.enumerate().find(|&(_, id)| id as usize >= rows) {
        Some((index, id)) => Err(PromptError::IdOutsideVocabulary { id, index, vocab: rows }),
        None => Ok(()),
    }
}

impl fmt::Debug for PromptTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptTokenizer")
            .field("vocab_size", &self.vocab_size())
            .field("bos", &self.bos)
            .field("has_chat_template", &self.has_chat_template())
            .finish_non_exhaustive()
    }
}
