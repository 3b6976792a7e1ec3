//! The tokenizer of a model folder: `tokenizer.json` and the files beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use tokenizers::Tokenizer;

use super::bos::Bos;
use super::pieces::{Pieces, Spelling};
use super::prompt::Parts;
use super::{PromptError, PromptTokenizer, one_line};
use crate::model::chat::ChatTemplate;

/// Special tokens that templates know by name.
const NAMED_SPECIALS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"];

impl PromptTokenizer {
    /// Loads `tokenizer.json` of a model folder, with what `tokenizer_config.json`,
    /// `special_tokens_map.json`, `generation_config.json`, `config.json` and
    /// `chat_template.jinja` say about BOS and chats, as far as they are there.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] where `tokenizer.json` is missing, or a file is damaged.
    pub fn from_folder(folder: &Path) -> Result<Self, PromptError> {
        load(folder).map_err(|why| PromptError::Tokenizer { why, path: folder.to_owned() })
    }
}

fn load(folder: &Path) -> Result<PromptTokenizer, String> {
    let tokenizer = read_tokenizer(folder)?;
    let config = read_json(folder, "tokenizer_config.json")?;
    let named = named_specials(&config, &read_json(folder, "special_tokens_map.json")?);
    let pieces = pieces_of(&tokenizer);
    let own_bos = bos_of_post_processor(&tokenizer);
    let bos_id = named
        .get("bos_token")
        .and_then(|text| tokenizer.token_to_id(text))
        .or(own_bos)
        .or(bos_of_model(folder)?)
        .filter(|&id| pieces.get(id).is_some());
    // The explicit switch wins over the post-processor, as where GGUF files are made, so that a
    // model reads prompts alike in both forms. (transformers 5 looks at the post-processor only.)
    let switch = config["add_bos_token"].as_bool();
    let add_bos = switch.unwrap_or(own_bos.is_some());
    let bos = Bos {
        token: bos_id.and_then(|id| Some((id, pieces.get(id)?.to_vec()))),
        wanted: add_bos && bos_id.is_some(),
    };
    let template = template_source(folder, &config)?.map(|source| ChatTemplate::new(&source, named));
    let assumptions = match (switch, own_bos) {
        (Some(true), None) if bos.wanted => vec![contradiction("wants BOS", "adds none")],
        (Some(false), Some(_)) => vec![contradiction("wants no BOS", "adds one")],
        _ => Vec::new(),
    };
    PromptTokenizer::new(Parts { tokenizer, pieces, bos, template, assumptions })
        .map_err(|error| one_line(&error.to_string()))
}

fn contradiction(switch: &str, post_processor: &str) -> String {
    format!("tokenizer_config.json {switch} and tokenizer.json {post_processor}: the former is followed")
}

fn read_tokenizer(folder: &Path) -> Result<Tokenizer, String> {
    let bytes = read(folder, "tokenizer.json")?.ok_or_else(|| {
        if folder.join("tokenizer.model").exists() {
            "there is a tokenizer.model but no tokenizer.json, get the tokenizer.json from the model's page"
        } else {
            "there is no tokenizer.json, get it from the model's page"
        }
    })?;
    // `tokenizers` panics on merges that make tokens which the vocabulary lacks.
    let mut tokenizer = std::panic::catch_unwind(|| Tokenizer::from_bytes(bytes))
        .map_err(|_| "tokenizer.json: its vocabulary and merges contradict each other".to_owned())?
        .map_err(|error| format!("tokenizer.json: {}", one_line(&error.to_string())))?;
    // Before anything is encoded: a file may ask to cut or pad every text.
    tokenizer.with_truncation(None).map_err(|error| one_line(&error.to_string()))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// A file's bytes, or `None` where there is no such file.
fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
    match std::fs::read(folder.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// A JSON file, or null where there is no such file.
fn read_json(folder: &Path, name: &str) -> Result<Value, String> {
    let Some(bytes) = read(folder, name)? else { return Ok(Value::Null) };
    serde_json::from_slice(&bytes).map_err(|error| format!("{name}: {error}"))
}

fn named_specials(config: &Value, map: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().or(value["content"].as_str()).map(str::to_owned);
    NAMED_SPECIALS
        .iter()
        .filter_map(|&name| Some((name.to_owned(), text(&config[name]).or_else(|| text(&map[name]))?)))
        .collect()
}

fn pieces_of(tokenizer: &Tokenizer) -> Pieces {
    let special: BTreeSet<u32> = tokenizer.get_added_tokens_decoder().keys().copied().collect();
    let vocabulary = tokenizer.get_vocab(true);
    let vocabulary = vocabulary.iter().map(|(text, &id)| (text.as_str(), id));
    Pieces::new(vocabulary, special, spelling_of(tokenizer))
}

/// How the vocabulary spells bytes: the decoder and the pre-tokenizer tell.
fn spelling_of(tokenizer: &Tokenizer) -> Spelling {
    let decoder = serde_json::to_string(&tokenizer.get_decoder()).unwrap_or_default();
    let pre_tokenizer = serde_json::to_string(&tokenizer.get_pre_tokenizer()).unwrap_or_default();
    let either = |word| decoder.contains(word) || pre_tokenizer.contains(word);
    if either("\"ByteLevel\"") {
        Spelling::ByteLevel
    } else if either("▁") {
        Spelling::SentencePiece
    } else {
        Spelling::Plain
    }
}

/// The token that the tokenizer's own post-processor puts in front.
fn bos_of_post_processor(tokenizer: &Tokenizer) -> Option<u32> {
    let bare = tokenizer.encode("a", false).ok()?;
    let full = tokenizer.encode("a", true).ok()?;
    let first = *full.get_ids().first()?;
    let added = full.get_special_tokens_mask().first() == Some(&1);
    (added && bare.get_ids().first() != Some(&first)).then_some(first)
}

/// BOS as the model's own files give it, for tokenizers that name none.
fn bos_of_model(folder: &Path) -> Result<Option<u32>, String> {
    for name in ["generation_config.json", "config.json"] {
        let id = read_json(folder, name)?["bos_token_id"].as_u64();
        if let Some(id) = id.and_then(|id| u32::try_from(id).ok()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The chat template: its own file first, else the tokenizer's configuration, where a list of
/// templates has one named "default".
fn template_source(folder: &Path, config: &Value) -> Result<Option<String>, String> {
    if let Some(bytes) = read(folder, "chat_template.jinja")? {
        return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let template = &config["chat_template"];
    let default = template
        .as_array()
        .and_then(|list| list.iter().find(|entry| entry["name"] == "default"))
        .map(|entry| &entry["template"]);
    Ok(template.as_str().or(default.and_then(Value::as_str)).map(str::to_owned))
}
