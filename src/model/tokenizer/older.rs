//! Tokenizers of folders without `tokenizer.json`: GPT-2's pair of files, and SentencePiece models.

use std::collections::BTreeMap;

use serde_json::Value;
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{AddedToken, Tokenizer};

use super::one_line;
use super::pieces::Pieces;
use super::rules::Rule;
use super::sentencepiece::Algorithm;
use super::sentencepiece_file;
use super::vocabulary::{Kind, Piece, lacking_merge};

/// What a folder may have instead of `tokenizer.json`.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) vocab: Option<Vec<u8>>,
    pub(super) merges: Option<Vec<u8>>,
    pub(super) sentencepiece: Option<Vec<u8>>,
    /// `added_tokens.json`: text → id.
    pub(super) added: Value,
}

/// The tokenizer of an older folder.
pub(super) struct Older {
    pub(super) tokenizer: Tokenizer,
    /// Where they need no reading from the tokenizer.
    pub(super) pieces: Option<Pieces>,
    /// BOS, where tokenizers of this kind want it unless their configuration says otherwise.
    pub(super) bos: Option<u32>,
    pub(super) assumption: String,
}

/// Builds the tokenizer of an older folder; `None` where there is none.
///
/// # Errors
/// One line, with the file that is damaged.
pub(super) fn tokenizer(
    files: &Files,
    config: &Value,
    named: &BTreeMap<String, String>,
) -> Result<Option<Older>, String> {
    let added = added_tokens(config, &files.added)?;
    if let (Some(vocab), Some(merges)) = (&files.vocab, &files.merges) {
        return byte_level(vocab, merges, config, &added, named).map(Some);
    }
    if let Some(model) = &files.sentencepiece {
        return sentencepiece(model, &added).map(Some);
    }
    Ok(None)
}

/// A token that was added after training.
struct Added {
    id: usize,
    content: String,
    special: bool,
}

/// The added tokens of `tokenizer_config.json` and `added_tokens.json`, by id.
fn added_tokens(config: &Value, added: &Value) -> Result<Vec<Added>, String> {
    let mut tokens = BTreeMap::new();
    for (content, id) in added.as_object().into_iter().flatten() {
        let id = id.as_u64().and_then(|id| usize::try_from(id).ok());
        let id = id.ok_or_else(|| format!("added_tokens.json: the id of {content} is no id"))?;
        tokens.insert(id, Added { id, content: content.clone(), special: true });
    }
    for (id, token) in config["added_tokens_decoder"].as_object().into_iter().flatten() {
        let wrong = || format!("tokenizer_config.json: added token {id} has no id or no text");
        let number: usize = id.parse().map_err(|_| wrong())?;
        let content = token["content"].as_str().ok_or_else(wrong)?.to_owned();
        let special = token["special"].as_bool().unwrap_or(false);
        tokens.insert(number, Added { id: number, content, special });
    }
    Ok(tokens.into_values().collect())
}

/// GPT-2's files: a vocabulary of byte-level pieces and the merges in order.
fn byte_level(
    vocab: &[u8],
    merges: &[u8],
    config: &Value,
    added: &[Added],
    named: &BTreeMap<String, String>,
) -> Result<Older, String> {
    let vocab: BTreeMap<String, u32> =
        serde_json::from_slice(vocab).map_err(|error| format!("vocab.json: {error}"))?;
    if vocab.is_empty() {
        return Err("vocab.json: the vocabulary is empty".to_owned());
    }
    let vocab: Vocab = vocab.into_iter().collect();
    let merges = merges_of(merges).map_err(|why| format!("merges.txt: {why}"))?;
    if let Some(why) = lacking_merge(&merges, |text| vocab.contains_key(text)) {
        return Err(format!("merges.txt: {why}"));
    }
    let rule = match config["tokenizer_class"].as_str() {
        Some("Qwen2Tokenizer" | "Qwen2TokenizerFast") => Rule::named("qwen2"),
        _ => None,
    };
    let rule = rule.unwrap_or(Rule::gpt2());
    let mut specials: Vec<AddedToken> =
        added.iter().map(|token| added_token(&token.content, token.special)).collect();
    specials
        .extend(named.values().filter(|text| vocab.contains_key(*text)).map(|text| added_token(text, true)));
    let build = || -> Result<Tokenizer, tokenizers::Error> {
        let mut tokenizer = Tokenizer::new(BPE::builder().vocab_and_merges(vocab, merges).build()?);
        tokenizer.with_pre_tokenizer(Some(rule.pre_tokenizer()?));
        tokenizer.with_decoder(Some(ByteLevel::default()));
        if rule.composes {
            tokenizer.with_normalizer(Some(tokenizers::normalizers::NFC))?;
        }
        tokenizer.add_tokens(specials)?;
        Ok(tokenizer)
    };
    let tokenizer = build().map_err(|error| one_line(&error.to_string()))?;
    let assumption = format!(
        "There is no tokenizer.json: vocab.json and merges.txt are read by the rule of {}",
        rule.name()
    );
    Ok(Older { tokenizer, pieces: None, bos: None, assumption })
}

fn added_token(text: &str, special: bool) -> AddedToken {
    AddedToken { content: text.to_owned(), special, normalized: false, ..AddedToken::default() }
}

/// Two pieces a line, after a line with the version.
fn merges_of(file: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text = std::str::from_utf8(file)
        .map_err(|error| format!("not UTF-8 text (byte {})", error.valid_up_to()))?;
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.starts_with("#version") && !line.is_empty());
    let pairs = lines.map(|(at, line)| {
        let pair = line.split_once(' ').filter(|(_, right)| !right.contains(' '));
        let (left, right) = pair.ok_or_else(|| format!("line {} is no pair", at + 1))?;
        Ok((left.to_owned(), right.to_owned()))
    });
    pairs.collect()
}

/// A SentencePiece model with the tokens that were added to it.
fn sentencepiece(model: &[u8], added: &[Added]) -> Result<Older, String> {
    let mut model = sentencepiece_file::parse(model).map_err(|why| format!("tokenizer.model: {why}"))?;
    for token in added {
        let kind = if token.special { Kind::Control } else { Kind::UserDefined };
        let piece = Piece { text: token.content.clone(), score: 0.0, kind, strips_right: false };
        let size = model.pieces.len();
        match model.pieces.get_mut(token.id) {
            // The unknown stays what it is.
            Some(own) if own.kind == Kind::Unknown => {}
            Some(own) => *own = Piece { score: own.score, ..piece },
            None if token.id == size => model.pieces.push(piece),
            None => return Err(format!("the added token {} leaves a gap before its id", token.content)),
        }
    }
    // Llama's and Gemma's classes add BOS by default; T5's has none.
    let scored = matches!(model.algorithm, Algorithm::ScoredMerges);
    let (tokenizer, pieces) = model.build()?;
    let bos = ["<s>", "<bos>"].into_iter().find_map(|text| tokenizer.token_to_id(text)).filter(|_| scored);
    let assumption = "There is no tokenizer.json: tokenizer.model is read".to_owned();
    Ok(Older { tokenizer, pieces: Some(pieces), bos, assumption })
}
