//! The tokenizer of a GGUF file: byte-level BPE rebuilt from its metadata.
//!
//! The file names its pre-tokenizer (`tokenizer.ggml.pre`) but does not carry it, so each rule is
//! written down here as it stands in the `tokenizer.json` of the models that it was named after.

use std::collections::BTreeMap;
use std::path::Path;

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer};

use super::bos::Bos;
use super::pieces::{Pieces, Spelling};
use super::prompt::Parts;
use super::{PromptError, PromptTokenizer, one_line};
use crate::model::chat::ChatTemplate;
use crate::model::gguf::{GgufHeader, GgufValue};

/// `(?i:…)` contractions, letters with one leading sign, single digits, signs, line breaks.
const QWEN2_SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The same with up to three digits together.
const LLAMA3_SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// ggml's token types, as far as they matter here.
mod token_type {
    pub(super) const UNKNOWN: u64 = 2;
    pub(super) const CONTROL: u64 = 3;
    pub(super) const USER_DEFINED: u64 = 4;
}

/// How text is cut before the merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreRule {
    Gpt2,
    /// Every digit alone, then GPT-2's rule.
    SmolLm,
    Qwen2,
    Llama3,
}

impl PreRule {
    const KNOWN: &str = "smollm, gpt2, llama-bpe, qwen2 and their kin";

    /// The rule of a `tokenizer.ggml.pre`; names that share a rule are those that llama.cpp joins.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "default" | "gpt2" | "gpt-2" | "phi-2" | "mpt" | "olmo" | "jais" | "trillion" => Self::Gpt2,
            "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" | "exaone" | "minerva-7b" => {
                Self::SmolLm
            }
            "qwen2" | "deepseek-r1-qwen" | "stablelm2" | "megrez" | "hunyuan" => Self::Qwen2,
            "llama-bpe" | "llama3" | "llama-v3" | "dbrx" | "smaug-bpe" | "falcon3" => Self::Llama3,
            _ => return None,
        })
    }

    fn pre_tokenizer(self) -> Result<PreTokenizerWrapper, tokenizers::Error> {
        let split = |regex: &str| {
            Split::new(SplitPattern::Regex(regex.to_owned()), SplitDelimiterBehavior::Isolated, false)
        };
        let bytes = |use_regex| PreTokenizerWrapper::from(ByteLevel::new(false, true, use_regex));
        let steps = match self {
            Self::Gpt2 => return Ok(bytes(true)),
            Self::SmolLm => vec![Digits::new(true).into(), bytes(true)],
            Self::Qwen2 => vec![split(QWEN2_SPLIT)?.into(), bytes(false)],
            Self::Llama3 => vec![split(LLAMA3_SPLIT)?.into(), bytes(false)],
        };
        Ok(Sequence::new(steps).into())
    }
}

impl PromptTokenizer {
    /// Rebuilds the tokenizer from the metadata of a GGUF file; `path` only names it in errors.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] where metadata is missing, contradictory, or of a kind or
    /// pre-tokenizer that is not known here.
    pub fn from_gguf(header: &GgufHeader, path: &Path) -> Result<Self, PromptError> {
        Metadata { header }.tokenizer().map_err(|why| PromptError::Tokenizer { why, path: path.to_owned() })
    }
}

/// The tokenizer's part of a GGUF header.
struct Metadata<'a> {
    header: &'a GgufHeader,
}

impl<'a> Metadata<'a> {
    fn tokenizer(&self) -> Result<PromptTokenizer, String> {
        self.check_kind()?;
        let tokens = self.strings("tokenizer.ggml.tokens")?;
        let (rule, assumptions) = self.pre_rule()?;
        let special = self.special_ids(&tokens)?;
        let tokenizer = self.bpe(&tokens, &special, rule).map_err(|error| one_line(&error.to_string()))?;
        let pieces = Pieces::new(ids(&tokens), special.keys().copied().collect(), Spelling::ByteLevel);
        let bos_id = self.token_id("bos", &tokens)?;
        // llama.cpp lets the rule decide where the file does not say.
        let add_bos = self.header.bool("tokenizer.ggml.add_bos_token").unwrap_or(rule == PreRule::Llama3);
        let bos = Bos {
            token: bos_id.and_then(|id| Some((id, pieces.get(id)?.to_vec()))),
            wanted: add_bos && bos_id.is_some(),
        };
        let template = match self.header.str("tokenizer.chat_template") {
            Some(source) => Some(ChatTemplate::new(source, self.special_texts(&tokens)?)),
            None => None,
        };
        PromptTokenizer::new(Parts { tokenizer, pieces, bos, template, assumptions })
            .map_err(|error| one_line(&error.to_string()))
    }

    fn check_kind(&self) -> Result<(), String> {
        match self.header.str("tokenizer.ggml.model") {
            Some("gpt2") => Ok(()),
            Some(kind @ ("llama" | "gemma" | "gemma4")) => Err(format!(
                "SentencePiece tokenizers ({kind}) in GGUF files are not supported yet, open the model's folder with tokenizer.json instead"
            )),
            Some(kind) => Err(format!("tokenizer kind {kind} is not supported (gpt2 is)")),
            None => Err("the file has no tokenizer (tokenizer.ggml.model is missing)".to_owned()),
        }
    }

    fn pre_rule(&self) -> Result<(PreRule, Vec<String>), String> {
        let assumed =
            |what: &str| vec![format!("{what}: GPT-2's rule is assumed, rare text may be split differently")];
        match self.header.str("tokenizer.ggml.pre") {
            None => Ok((PreRule::Gpt2, assumed("The file does not name its pre-tokenizer"))),
            Some(name) => {
                let known = PreRule::KNOWN;
                let rule = PreRule::named(name)
                    .ok_or_else(|| format!("pre-tokenizer {name} is not known ({known} are)"))?;
                let notes = if name == "default" {
                    assumed("The file only says \"default\" of its pre-tokenizer")
                } else {
                    Vec::new()
                };
                Ok((rule, notes))
            }
        }
    }

    /// Specials and added tokens: id → whether it is special in the tokenizer's sense, that is
    /// read only on demand.
    fn special_ids(&self, tokens: &[&str]) -> Result<BTreeMap<u32, bool>, String> {
        let mut special = BTreeMap::new();
        if let Some(types) = self.header.array("tokenizer.ggml.token_type") {
            if types.len() != tokens.len() {
                return Err(format!("{} token types for {} tokens", types.len(), tokens.len()));
            }
            for ((_, id), kind) in ids(tokens).zip(types) {
                match kind.as_u64() {
                    Some(token_type::UNKNOWN | token_type::CONTROL) => special.insert(id, true),
                    Some(token_type::USER_DEFINED) => special.insert(id, false),
                    _ => None,
                };
            }
        } else {
            for name in ["bos", "eos", "unknown", "padding"] {
                special.extend(self.token_id(name, tokens)?.map(|id| (id, true)));
            }
        }
        Ok(special)
    }

    fn bpe(
        &self,
        tokens: &[&str],
        special: &BTreeMap<u32, bool>,
        rule: PreRule,
    ) -> Result<Tokenizer, tokenizers::Error> {
        let mut vocab = Vocab::default();
        for (text, id) in ids(tokens) {
            vocab.entry(text.to_owned()).or_insert(id);
        }
        let merges = self.merges()?;
        // The builder of `tokenizers` panics on a product that is longer than every token.
        let lost = merges
            .iter()
            .map(|(left, right)| format!("{left}{right}"))
            .find(|text| !vocab.contains_key(text));
        if let Some(text) = lost {
            return Err(format!("the vocabulary lacks {text}, which a merge makes").into());
        }
        let bpe =
            BPE::builder().vocab_and_merges(vocab, merges).ignore_merges(rule == PreRule::Llama3).build()?;
        let mut tokenizer = Tokenizer::new(bpe);
        tokenizer.with_pre_tokenizer(Some(rule.pre_tokenizer()?));
        if rule == PreRule::Qwen2 {
            tokenizer.with_normalizer(Some(NFC))?;
        }
        let added = special.iter().map(|(&id, &special)| AddedToken {
            content: tokens[id as usize].to_owned(),
            special,
            normalized: false,
            ..AddedToken::default()
        });
        tokenizer.add_tokens(added)?;
        Ok(tokenizer)
    }

    fn merges(&self) -> Result<Vec<(String, String)>, String> {
        let merges = self.strings("tokenizer.ggml.merges")?;
        let pairs = merges.iter().map(|merge| {
            let (left, right) =
                merge.split_once(' ').ok_or_else(|| format!("merge \"{merge}\" is no pair"))?;
            Ok((left.to_owned(), right.to_owned()))
        });
        pairs.collect()
    }

    fn strings(&self, key: &str) -> Result<Vec<&'a str>, String> {
        let values = self.header.array(key).ok_or_else(|| format!("{key} is missing"))?;
        let texts = values.iter().map(GgufValue::as_str).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| format!("{key} is no list of texts"))
    }

    /// The id that `tokenizer.ggml.<name>_token_id` gives.
    fn token_id(&self, name: &str, tokens: &[&str]) -> Result<Option<u32>, String> {
        let key = format!("tokenizer.ggml.{name}_token_id");
        let Some(id) = self.header.u64(&key) else { return Ok(None) };
        match u32::try_from(id) {
            Ok(id) if (id as usize) < tokens.len() => Ok(Some(id)),
            _ => Err(format!("{key} is {id}, outside the vocabulary of {}", tokens.len())),
        }
    }

    /// The special tokens that templates ask for by name.
    fn special_texts(&self, tokens: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let mut texts = BTreeMap::new();
        for (key, name) in [("bos", "bos"), ("eos", "eos"), ("unknown", "unk"), ("padding", "pad")] {
            if let Some(id) = self.token_id(key, tokens)? {
                texts.insert(format!("{name}_token"), tokens[id as usize].to_owned());
            }
        }
        Ok(texts)
    }
}

/// Each text with its id.
fn ids<'t, 'a>(tokens: &'t [&'a str]) -> impl Iterator<Item = (&'a str, u32)> + use<'t, 'a> {
    tokens.iter().copied().zip(0u32..)
}
