//! The tokenizer's part of a GGUF header, checked.

use std::collections::BTreeMap;

use crate::model::chat::{ChatTemplate, TemplateSources};
use crate::model::gguf::{GgufHeader, GgufValue};
use crate::model::tokenizer::PromptError;
use crate::model::tokenizer::vocabulary::{Kind, Piece};

/// A chat template, or why it can't be used; and what was assumed in choosing it.
type ChosenTemplate = (Option<Result<ChatTemplate, PromptError>>, Option<String>);

/// Special tokens that the file names: as it does, and as templates do.
const NAMED: [(&str, &str); 5] =
    [("bos", "bos"), ("eos", "eos"), ("unknown", "unk"), ("padding", "pad"), ("seperator", "sep")];

/// A view of the header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metadata<'a> {
    pub(super) header: &'a GgufHeader,
}

impl<'a> Metadata<'a> {
    /// `tokenizer.ggml.model`.
    pub(super) fn kind(self) -> Result<&'a str, String> {
        let missing = "the file has no tokenizer (tokenizer.ggml.model is missing)";
        self.header.str("tokenizer.ggml.model").ok_or_else(|| missing.to_owned())
    }

    /// A switch among the tokenizer's keys.
    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.header.bool(&format!("tokenizer.ggml.{name}"))
    }

    /// All tokens with their scores and kinds, as far as the file gives these.
    pub(super) fn vocabulary(self) -> Result<Vec<Piece>, String> {
        self.kind()?;
        let tokens = self.strings("tokenizer.ggml.tokens")?;
        if tokens.is_empty() {
            return Err("the vocabulary is empty".to_owned());
        }
        let scores = self.column("tokenizer.ggml.scores", "scores", tokens.len(), GgufValue::as_f64)?;
        let kinds =
            self.column("tokenizer.ggml.token_type", "token types", tokens.len(), GgufValue::as_u64)?;
        let mut pieces: Vec<Piece> = tokens
            .iter()
            .enumerate()
            .map(|(id, &text)| Piece {
                text: text.to_owned(),
                score: scores.as_ref().map_or(0.0, |scores| scores[id]),
                kind: kinds.as_ref().map_or_else(|| Kind::of_text(text), |kinds| Kind::numbered(kinds[id])),
                strips_right: false,
            })
            .collect();
        for (name, _) in NAMED {
            let Some(id) = self.token_id(name)? else { continue };
            let piece = &mut pieces[id as usize];
            if kinds.is_none() && piece.kind == Kind::Normal {
                piece.kind = if name == "unknown" { Kind::Unknown } else { Kind::Control };
            }
        }
        self.strip_right(&mut pieces);
        Ok(pieces)
    }

    /// The markers of Phi-3 swallow blanks, which GGUF files can't say: llama.cpp knows it too.
    fn strip_right(self, pieces: &mut [Piece]) {
        const BARE: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];
        let phi3 = self.header.str("general.architecture") == Some("phi3");
        if phi3 && self.header.str("tokenizer.ggml.model") == Some("llama") {
            for piece in pieces.iter_mut() {
                piece.strips_right = piece.is_special() && !BARE.contains(&piece.text.as_str());
            }
        }
    }

    /// One number for each token, or `None` where the file has none.
    fn column<T>(
        self,
        key: &str,
        what: &str,
        tokens: usize,
        read: fn(&GgufValue) -> Option<T>,
    ) -> Result<Option<Vec<T>>, String> {
        let Some(value) = self.header.metadata.get(key) else { return Ok(None) };
        let numbers = value.as_array().map(|values| values.iter().map(read).collect::<Option<Vec<T>>>());
        let numbers = numbers.flatten().ok_or_else(|| format!("{key} is no list of numbers"))?;
        if numbers.len() == tokens {
            Ok(Some(numbers))
        } else {
            Err(format!("{} {what} for {tokens} tokens", numbers.len()))
        }
    }

    /// `tokenizer.ggml.merges`, best first.
    pub(super) fn merges(self) -> Result<Vec<(String, String)>, String> {
        let merges = self.strings("tokenizer.ggml.merges")?;
        let pairs = merges.iter().map(|merge| {
            // The first part may itself start with a space.
            let at = merge.char_indices().skip(1).find(|&(_, c)| c == ' ').map(|(at, _)| at);
            let at = at.ok_or_else(|| format!("merge \"{merge}\" is no pair"))?;
            Ok((merge[..at].to_owned(), merge[at + 1..].to_owned()))
        });
        pairs.collect()
    }

    /// The compiled rules of normalisation; empty where the file has none.
    pub(super) fn charsmap(self) -> Result<Vec<u8>, String> {
        let key = "tokenizer.ggml.precompiled_charsmap";
        let Some(value) = self.header.metadata.get(key) else { return Ok(Vec::new()) };
        let byte = |value: &GgufValue| match value {
            // Some writers store bytes as signed ones.
            GgufValue::Signed(byte) => i8::try_from(*byte).ok().map(i8::cast_unsigned),
            other => other.as_u64().and_then(|byte| u8::try_from(byte).ok()),
        };
        let bytes = value.as_array().and_then(|values| values.iter().map(byte).collect());
        bytes.ok_or_else(|| format!("{key} is no list of bytes"))
    }

    fn strings(self, key: &str) -> Result<Vec<&'a str>, String> {
        let values = self.header.array(key).ok_or_else(|| format!("{key} is missing"))?;
        let texts = values.iter().map(GgufValue::as_str).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| format!("{key} is no list of texts"))
    }

    /// The id that `tokenizer.ggml.<name>_token_id` gives.
    pub(super) fn token_id(self, name: &str) -> Result<Option<u32>, String> {
        let key = format!("tokenizer.ggml.{name}_token_id");
        let Some(value) = self.header.metadata.get(&key) else { return Ok(None) };
        let id = value.as_u64().ok_or_else(|| format!("{key} is no id"))?;
        let tokens = self.header.array("tokenizer.ggml.tokens").map_or(0, <[GgufValue]>::len);
        match u32::try_from(id) {
            Ok(id) if (id as usize) < tokens => Ok(Some(id)),
            _ => Err(format!("{key} is {id}, outside the vocabulary of {tokens}")),
        }
    }

    /// The chat template, compiled.
    pub(super) fn template(self) -> Result<ChosenTemplate, String> {
        let mut sources = TemplateSources::default();
        for (key, value) in &self.header.metadata {
            let Some(name) = key.strip_prefix("tokenizer.chat_template") else { continue };
            let Some(source) = value.as_str() else { continue };
            match name.strip_prefix('.') {
                None if name.is_empty() => sources.main = Some(source.to_owned()),
                Some(name) => drop(sources.named.insert(name.to_owned(), source.to_owned())),
                None => {}
            }
        }
        let specials = self.special_texts()?;
        let Some((source, assumed)) = sources.choose() else { return Ok((None, None)) };
        Ok((Some(ChatTemplate::new(&source, specials)), assumed))
    }

    /// The special tokens that templates ask for by name.
    fn special_texts(self) -> Result<BTreeMap<String, String>, String> {
        let tokens = self.strings("tokenizer.ggml.tokens")?;
        let mut texts = BTreeMap::new();
        for (key, name) in NAMED {
            if let Some(id) = self.token_id(key)? {
                texts.insert(format!("{name}_token"), tokens[id as usize].to_owned());
            }
        }
        Ok(texts)
    }
}
