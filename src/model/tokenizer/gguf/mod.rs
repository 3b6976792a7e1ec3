//! The tokenizer of a GGUF file, rebuilt from its metadata.

mod metadata;

use std::path::Path;

use tokenizers::Tokenizer;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NFC;

use self::metadata::Metadata;
use super::bos::{Bos, Eos};
use super::pieces::{Pieces, Spelling};
use super::prompt::Parts;
use super::rules::Rule;
use super::sentencepiece::{Algorithm, SentencePiece};
use super::vocabulary::{Kind, Piece, lacking_merge};
use super::{PromptError, PromptTokenizer, one_line};
use crate::model::gguf::GgufHeader;

impl PromptTokenizer {
    /// Rebuilds the tokenizer from the metadata of a GGUF file; `path` only names it in errors.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] where metadata is missing, contradictory, or of a kind or
    /// pre-tokenizer that is not known here.
    pub fn from_gguf(header: &GgufHeader, path: &Path) -> Result<Self, PromptError> {
        load(Metadata { header }).map_err(|why| PromptError::Tokenizer { why, path: path.to_owned() })
    }
}

/// A tokenizer without its ends and its template.
struct Rebuilt {
    tokenizer: Tokenizer,
    pieces: Pieces,
    kind: String,
    assumptions: Vec<String>,
    /// Whether BOS and EOS are wanted where the file does not say; llama.cpp lets the kind decide.
    adds_bos: bool,
    adds_eos: bool,
}

fn load(metadata: Metadata) -> Result<PromptTokenizer, String> {
    let pieces = metadata.vocabulary()?;
    let rebuilt = match metadata.kind()? {
        "gpt2" => byte_level(metadata, &pieces)?,
        "llama" => scored(metadata, pieces)?,
        "gemma4" => merged(metadata, pieces)?,
        "t5" => unigram(metadata, pieces)?,
        other => {
            return Err(format!("tokenizer kind {other} is not supported (gpt2, llama, gemma4 and t5 are)"));
        }
    };
    let Rebuilt { tokenizer, pieces, kind, mut assumptions, adds_bos, adds_eos } = rebuilt;
    let end = |id: Option<u32>| id.and_then(|id| Some((id, pieces.get(id)?.to_vec())));
    let bos = end(metadata.token_id("bos")?);
    let eos = end(metadata.token_id("eos")?);
    let bos = Bos { wanted: metadata.flag("add_bos_token").unwrap_or(adds_bos) && bos.is_some(), token: bos };
    let eos = Eos { token: eos.filter(|_| metadata.flag("add_eos_token").unwrap_or(adds_eos)) };
    let (template, chosen) = metadata.template()?;
    assumptions.extend(chosen);
    PromptTokenizer::new(Parts { tokenizer, pieces, kind, bos, eos, template, assumptions })
        .map_err(|error| one_line(&error.to_string()))
}

/// BPE on bytes (`gpt2`), cut by the rule that the file names.
fn byte_level(metadata: Metadata, vocabulary: &[Piece]) -> Result<Rebuilt, String> {
    let (rule, assumptions) = pre_rule(metadata)?;
    let tokenizer =
        byte_level_bpe(metadata, vocabulary, rule).map_err(|error| one_line(&error.to_string()))?;
    let special =
        vocabulary.iter().zip(0..).filter(|(piece, _)| piece.is_special()).map(|(_, id)| id).collect();
    let texts = vocabulary.iter().zip(0u32..).map(|(piece, id)| (piece.text.as_str(), id));
    let pieces = Pieces::new(texts, special, Spelling::ByteLevel);
    let kind = format!("byte-level BPE ({})", rule.name());
    Ok(Rebuilt { tokenizer, pieces, kind, assumptions, adds_bos: rule.adds_bos, adds_eos: false })
}

fn pre_rule(metadata: Metadata) -> Result<(&'static Rule, Vec<String>), String> {
    let assumed =
        |what: &str| vec![format!("{what}: GPT-2's rule is assumed, rare text may be split differently")];
    let Some(name) = metadata.header.str("tokenizer.ggml.pre") else {
        return Ok((Rule::gpt2(), assumed("The file does not name its pre-tokenizer")));
    };
    let unknown = || format!("pre-tokenizer {name} is not known (those of {} are)", Rule::known());
    let rule = Rule::named(name).ok_or_else(unknown)?;
    let vague = name == "default";
    Ok((
        rule,
        if vague { assumed("The file only says \"default\" of its pre-tokenizer") } else { Vec::new() },
    ))
}

fn byte_level_bpe(
    metadata: Metadata,
    vocabulary: &[Piece],
    rule: &Rule,
) -> Result<Tokenizer, tokenizers::Error> {
    let mut vocab = Vocab::default();
    for (piece, id) in vocabulary.iter().zip(0u32..) {
        vocab.entry(piece.text.clone()).or_insert(id);
    }
    let merges = metadata.merges()?;
    if let Some(why) = lacking_merge(&merges, |text| vocab.contains_key(text)) {
        return Err(why.into());
    }
    let bpe = BPE::builder().vocab_and_merges(vocab, merges).ignore_merges(rule.ignores_merges).build()?;
    let mut tokenizer = Tokenizer::new(bpe);
    tokenizer.with_pre_tokenizer(Some(rule.pre_tokenizer()?));
    if rule.composes {
        tokenizer.with_normalizer(Some(NFC))?;
    }
    tokenizer.add_tokens(vocabulary.iter().filter_map(Piece::added))?;
    Ok(tokenizer)
}

/// SentencePiece's BPE: merges by score, bytes for what no piece covers (`llama`).
fn scored(metadata: Metadata, pieces: Vec<Piece>) -> Result<Rebuilt, String> {
    let kept = pieces.iter().filter(|piece| piece.kind == Kind::Normal);
    let mut scores: Vec<f64> = kept.map(|piece| piece.score).collect();
    scores.dedup();
    let assumptions = if metadata.header.array("tokenizer.ggml.scores").is_none() {
        return Err("tokenizer.ggml.scores is missing".to_owned());
    } else if scores.len() == 1 {
        vec![
            "The file ranks no piece of its vocabulary above another: words may be split differently"
                .to_owned(),
        ]
    } else {
        Vec::new()
    };
    let model = SentencePiece {
        pieces,
        algorithm: Algorithm::ScoredMerges,
        space_in_front: metadata.flag("add_space_prefix").unwrap_or(true),
        trims_spaces: false,
        charsmap: Vec::new(),
    };
    let (tokenizer, pieces) = model.build()?;
    let kind = "SentencePiece BPE".to_owned();
    Ok(Rebuilt { tokenizer, pieces, kind, assumptions, adds_bos: true, adds_eos: false })
}

/// The same with merges listed (`gemma4`).
fn merged(metadata: Metadata, pieces: Vec<Piece>) -> Result<Rebuilt, String> {
    let model = SentencePiece {
        pieces,
        algorithm: Algorithm::Merges(metadata.merges()?),
        space_in_front: metadata.flag("add_space_prefix").unwrap_or(false),
        trims_spaces: false,
        charsmap: Vec::new(),
    };
    let (tokenizer, pieces) = model.build()?;
    let kind = "SentencePiece BPE".to_owned();
    Ok(Rebuilt { tokenizer, pieces, kind, assumptions: Vec::new(), adds_bos: true, adds_eos: false })
}

/// SentencePiece's unigram model (`t5`).
fn unigram(metadata: Metadata, pieces: Vec<Piece>) -> Result<Rebuilt, String> {
    if metadata.header.array("tokenizer.ggml.scores").is_none() {
        return Err("tokenizer.ggml.scores is missing".to_owned());
    }
    let model = SentencePiece {
        pieces,
        algorithm: Algorithm::Unigram,
        space_in_front: metadata.flag("add_space_prefix").unwrap_or(false),
        trims_spaces: metadata.flag("remove_extra_whitespaces").unwrap_or(false),
        charsmap: metadata.charsmap()?,
    };
    let (tokenizer, pieces) = model.build()?;
    let kind = "SentencePiece unigram".to_owned();
    Ok(Rebuilt { tokenizer, pieces, kind, assumptions: Vec::new(), adds_bos: false, adds_eos: true })
}
