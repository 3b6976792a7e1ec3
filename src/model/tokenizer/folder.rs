//! The tokenizer of a model folder: `tokenizer.json`, or what older models have instead, and the
//! files beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use tokenizers::{ModelWrapper, Tokenizer};

use super::bos::{Bos, Eos};
use super::older::{self, Files, Older};
use super::pieces::{Pieces, Spelling};
use super::prompt::Parts;
use super::vocabulary::is_blank;
use super::{PromptError, PromptTokenizer, one_line};
use crate::model::chat::{ChatTemplate, TemplateSources};

/// Special tokens that templates know by name.
const NAMED_SPECIALS: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"];

impl PromptTokenizer {
    /// Loads `tokenizer.json` of a model folder (else `vocab.json` with `merges.txt`, else
    /// `tokenizer.model`), with what `tokenizer_config.json`, `special_tokens_map.json`,
    /// `generation_config.json`, `config.json` and the files of chat templates say about BOS, EOS
    /// and chats, as far as they are there.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] where there is no tokenizer, or a file is damaged.
    pub fn from_folder(folder: &Path) -> Result<Self, PromptError> {
        load(folder).map_err(|why| PromptError::Tokenizer { why, path: folder.to_owned() })
    }
}

fn load(folder: &Path) -> Result<PromptTokenizer, String> {
    let config = read_json(folder, "tokenizer_config.json")?;
    let map = read_json(folder, "special_tokens_map.json")?;
    let named = named_specials(&config, &map)?;
    let read = read_tokenizer(folder, &config, &named)?;
    let Read { tokenizer, pieces, kind, own, mut assumptions } = read;
    let id_of = |name: &str| named.get(name).and_then(|text| tokenizer.token_to_id(text));
    let bos_id = own.bos.or(id_of("bos_token")).or(bos_of_model(folder)?);
    let eos_id = own.eos.or(id_of("eos_token"));
    // An explicit switch wins over the post-processor, as where GGUF files are made, so that a
    // model reads prompts alike in both forms. (transformers 5 looks at the post-processor only.)
    let bos_switch = switch(&config, "add_bos_token")?;
    let eos_switch = switch(&config, "add_eos_token")?;
    let end = |id: Option<u32>| id.and_then(|id| Some((id, pieces.get(id)?.to_vec())));
    let bos = end(bos_id);
    let bos = Bos { wanted: bos_switch.unwrap_or(own.bos.is_some()) && bos.is_some(), token: bos };
    let eos = Eos { token: end(eos_id).filter(|_| eos_switch.unwrap_or(own.eos.is_some())) };
    if own.of_file {
        assumptions.extend(contradiction(bos_switch, own.bos.is_some(), bos.token.is_some(), "BOS"));
        assumptions.extend(contradiction(eos_switch, own.eos.is_some(), eos_id.is_some(), "EOS"));
    }
    let (template, chosen) = template(folder, &config, named);
    assumptions.extend(chosen);
    PromptTokenizer::new(Parts { tokenizer, pieces, kind, bos, eos, template, assumptions })
        .map_err(|error| one_line(&error.to_string()))
}

/// A tokenizer from whichever file, before its ends and templates are known.
struct Read {
    tokenizer: Tokenizer,
    pieces: Pieces,
    kind: String,
    own: Ends,
    assumptions: Vec<String>,
}

fn read_tokenizer(folder: &Path, config: &Value, named: &BTreeMap<String, String>) -> Result<Read, String> {
    if let Some(bytes) = read(folder, "tokenizer.json")? {
        let tokenizer = parse(&bytes).map_err(|why| format!("tokenizer.json: {why}"))?;
        let (pieces, kind) = (pieces_of(&tokenizer), kind_of(&tokenizer));
        let own = Ends::of_post_processor(&tokenizer);
        let assumptions = own.unlike().into_iter().collect();
        return Ok(Read { tokenizer, pieces, kind, own, assumptions });
    }
    let files = Files {
        vocab: read(folder, "vocab.json")?,
        merges: read(folder, "merges.txt")?,
        sentencepiece: read(folder, "tokenizer.model")?,
        added: read_json(folder, "added_tokens.json")?,
    };
    let Older { tokenizer, pieces, bos, assumption } = older::tokenizer(&files, config, named)?
        .ok_or("there is no tokenizer.json, get it from the model's page")?;
    let pieces = pieces.unwrap_or_else(|| pieces_of(&tokenizer));
    let kind = kind_of(&tokenizer);
    Ok(Read { tokenizer, pieces, kind, own: Ends { bos, ..Ends::default() }, assumptions: vec![assumption] })
}

fn parse(bytes: &[u8]) -> Result<Tokenizer, String> {
    // `tokenizers` panics on some files that are cut short,
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).map_err(|error| error.to_string())?;
    // and on merges that make tokens which the vocabulary lacks.
    let mut tokenizer = std::panic::catch_unwind(|| Tokenizer::from_bytes(bytes))
        .map_err(|_| {
            "its vocabulary and merges contradict each other, or a part of it is damaged".to_owned()
        })?
        .map_err(|error| one_line(&error.to_string()))?;
    // Before anything is encoded: a file may ask to cut or pad every text.
    tokenizer.with_truncation(None).map_err(|error| one_line(&error.to_string()))?;
    tokenizer.with_padding(None);
    if tokenizer.get_vocab_size(true) == 0 {
        return Err("the vocabulary is empty".to_owned());
    }
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

/// A JSON object, or null where there is no such file.
fn read_json(folder: &Path, name: &str) -> Result<Value, String> {
    let Some(bytes) = read(folder, name)? else { return Ok(Value::Null) };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| format!("{name}: {error}"))?;
    if value.is_object() { Ok(value) } else { Err(format!("{name}: no object")) }
}

fn named_specials(config: &Value, map: &Value) -> Result<BTreeMap<String, String>, String> {
    let mut named = BTreeMap::new();
    for name in NAMED_SPECIALS {
        for (file, values) in [("tokenizer_config.json", config), ("special_tokens_map.json", map)] {
            let value = &values[name];
            let text = value.as_str().or(value["content"].as_str());
            if text.is_none() && !value.is_null() {
                return Err(format!("{file}: {name} is no text"));
            }
            if let Some(text) = text {
                named.entry(name.to_owned()).or_insert_with(|| text.to_owned());
            }
        }
    }
    Ok(named)
}

/// A switch of tokenizer_config.json, where it has it.
fn switch(config: &Value, name: &str) -> Result<Option<bool>, String> {
    match &config[name] {
        Value::Null => Ok(None),
        Value::Bool(on) => Ok(Some(*on)),
        _ => Err(format!("tokenizer_config.json: {name} is neither true nor false")),
    }
}

fn contradiction(switch: Option<bool>, adds: bool, known: bool, what: &str) -> Option<String> {
    let (wants, does) = match (switch, adds) {
        (Some(true), false) if known => (format!("wants {what}"), "adds none"),
        (Some(false), true) => (format!("wants no {what}"), "adds one"),
        _ => return None,
    };
    Some(format!("tokenizer_config.json {wants} and tokenizer.json {does}: the former is followed"))
}

fn pieces_of(tokenizer: &Tokenizer) -> Pieces {
    let added = tokenizer.get_added_tokens_decoder();
    // Runs of blanks are added to some vocabularies, and are content all the same.
    let special: BTreeSet<u32> = added
        .iter()
        .filter(|(_, token)| token.special || !is_blank(&token.content))
        .map(|(&id, _)| id)
        .collect();
    let vocabulary = tokenizer.get_vocab(true);
    let vocabulary = vocabulary.iter().map(|(text, &id)| (text.as_str(), id));
    Pieces::new(vocabulary, special, spelling_of(tokenizer)).with_unknown(unknown_of(tokenizer))
}

/// The id that stands for text which the vocabulary can't spell.
fn unknown_of(tokenizer: &Tokenizer) -> Option<u32> {
    let model = serde_json::to_value(tokenizer.get_model()).ok()?;
    let by_text = model["unk_token"].as_str().and_then(|text| tokenizer.token_to_id(text));
    by_text.or_else(|| u32::try_from(model["unk_id"].as_u64()?).ok())
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

fn kind_of(tokenizer: &Tokenizer) -> String {
    let model = match tokenizer.get_model() {
        ModelWrapper::BPE(_) => "BPE",
        ModelWrapper::Unigram(_) => "unigram",
        ModelWrapper::WordPiece(_) => "WordPiece",
        ModelWrapper::WordLevel(_) => "word level",
    };
    match spelling_of(tokenizer) {
        Spelling::ByteLevel => format!("byte-level {model}"),
        Spelling::SentencePiece => format!("SentencePiece {model}"),
        Spelling::Plain => model.to_owned(),
    }
}

/// What a tokenizer by itself puts around a text.
#[derive(Debug, Default)]
struct Ends {
    /// Whether tokenizer.json says so; else the kind of tokenizer does.
    of_file: bool,
    bos: Option<u32>,
    eos: Option<u32>,
    in_front: usize,
    behind: usize,
}

impl Ends {
    fn of_post_processor(tokenizer: &Tokenizer) -> Self {
        let ids = |with_ends| {
            let encoding = tokenizer.encode("a", with_ends).ok()?;
            Some(encoding.get_ids().to_vec())
        };
        let none = Self { of_file: true, ..Self::default() };
        let (Some(bare), Some(full)) = (ids(false), ids(true)) else { return none };
        let at = full.windows(bare.len().max(1)).position(|window| window == bare);
        let Some(at) = at else { return none };
        let (front, behind) = (&full[..at], &full[at + bare.len()..]);
        Self {
            bos: front.first().copied(),
            eos: behind.last().copied(),
            in_front: front.len(),
            behind: behind.len(),
            ..none
        }
    }

    /// A line about tokens beyond BOS and EOS.
    fn unlike(&self) -> Option<String> {
        let most = self.in_front.max(self.behind);
        (most > 1).then(|| {
            format!(
                "tokenizer.json puts {most} tokens on one side of a text: only BOS and EOS are added here"
            )
        })
    }
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

/// A chat template, or why it can't be used; and what was assumed in choosing it.
type ChosenTemplate = (Option<Result<ChatTemplate, PromptError>>, Option<String>);

/// The chat template, compiled. A broken one leaves plain prompts alone.
fn template(folder: &Path, config: &Value, named: BTreeMap<String, String>) -> ChosenTemplate {
    let sources = match template_sources(folder, config) {
        Ok(sources) => sources,
        Err(why) => return (Some(Err(PromptError::Template { why, line: None })), None),
    };
    let Some((source, assumed)) = sources.choose() else { return (None, None) };
    (Some(ChatTemplate::new(&source, named)), assumed)
}

/// The first of `chat_template.jinja`, `tokenizer_config.json` and `chat_template.json` that has one.
fn template_sources(folder: &Path, config: &Value) -> Result<TemplateSources, String> {
    let file = "chat_template.jinja";
    if let Some(bytes) = read(folder, file)? {
        let text = String::from_utf8(bytes).map_err(|error| {
            format!("{file} is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())
        })?;
        return Ok(TemplateSources { main: Some(text), ..TemplateSources::default() });
    }
    let of_config = sources_in("tokenizer_config.json", &config["chat_template"])?;
    if of_config.main.is_some() || !of_config.named.is_empty() {
        return Ok(of_config);
    }
    let file = "chat_template.json";
    sources_in(file, &read_json(folder, file)?["chat_template"])
}

/// A template as text, or several as a list of names and texts or an object.
fn sources_in(file: &str, value: &Value) -> Result<TemplateSources, String> {
    let mut sources = TemplateSources::default();
    let named = |name: Option<&str>, text: &Value| {
        let pair = name.zip(text.as_str()).map(|(name, text)| (name.to_owned(), text.to_owned()));
        pair.ok_or_else(|| format!("{file}: chat_template has an entry without a name or a text"))
    };
    match value {
        Value::Null => {}
        Value::String(text) => sources.main = Some(text.clone()),
        Value::Array(list) => {
            for entry in list {
                sources.named.extend([named(entry["name"].as_str(), &entry["template"])?]);
            }
        }
        Value::Object(map) => {
            for (name, text) in map {
                sources.named.extend([named(Some(name), text)?]);
            }
        }
        _ => return Err(format!("{file}: chat_template is no text")),
    }
    Ok(sources)
}
