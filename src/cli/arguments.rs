//! Arguments that several commands share, as typed, and what they mean.

use super::bench::BenchArgs;
use super::models::ModelsArgs;
use crate::analysis::{AnalysisOptions, DEFAULT_THRESHOLD, ProfileKind, Selection};
use crate::engine::PromptInput;
use crate::model::chat::ChatMessage;
use crate::model::placement::{DeviceChoice, Precision};
use crate::model::tokenizer::{BosChoice, PromptError};
use crate::model::{LoadOptions, ModelSpec};
use crate::{Error, Result};
use clap::{Args, Parser, Subcommand};
use std::path::{Path, PathBuf};

/// See attention sinks, and what a KV cache loses when it evicts them.
///
/// Without a command the window opens with the default model; where there is no display the same
/// job runs headless and leaves its results in `sinkscope-out/`.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Arguments {
    /// What to do; the window opens when it is left out.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The model that the window opens: a GGUF file, a folder, a Hub repository, or `default`.
    #[arg(long, default_value = "default")]
    pub model: String,
    /// Never use the network.
    #[arg(long, global = true)]
    pub offline: bool,
    /// How weights are kept in memory; without it f32 where that fits, else a narrower one.
    #[arg(long, global = true, value_enum, value_name = "PRECISION")]
    pub dtype: Option<Precision>,
    /// What to compute on: `auto`, `cpu`, `cuda:0` or `metal`.
    #[arg(long, global = true, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceChoice,
}

impl Arguments {
    /// What holds for every command.
    #[must_use]
    pub fn context(&self) -> super::Context {
        let load = LoadOptions { precision: self.dtype, device: self.device };
        super::Context { offline: self.offline, load }
    }
}

/// The headless commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a prompt and report its attention sinks.
    Analyze(super::analyze::AnalyzeArgs),
    /// Simulate KV caches over a prompt and report the perplexity that they leave.
    Evict(super::evict::EvictArgs),
    /// Write a view as PNG or SVG, or the numbers behind it.
    Render(super::draw::DrawArgs),
    /// List, fetch and find models.
    Models(ModelsArgs),
    /// Measure this program on this machine; JSON on stdout.
    Bench(BenchArgs),
}

/// A model and a prompt.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// A GGUF file, a folder with config.json, a Hub repository, or `default`.
    #[arg(long, default_value = "default", value_name = "PATH|REPO")]
    pub model: String,
    #[command(flatten)]
    pub prompt: PromptArgs,
    /// Whether the prompt starts with BOS; `auto` follows the model's metadata.
    #[arg(long, value_enum, default_value = "auto")]
    pub bos: BosArg,
    /// Read specials that are typed in plain text (`<s>`, `<|im_start|>`) as such.
    #[arg(long)]
    pub parse_specials: bool,
}

/// Exactly one prompt.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct PromptArgs {
    /// The prompt as plain text.
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// A UTF-8 text file with the prompt.
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// A JSON file `[{"role", "content"}, …]`, or that JSON itself, rendered with the model's chat template.
    #[arg(long, value_name = "FILE|JSON")]
    pub chat: Option<PathBuf>,
    /// A JSON file with an array of ids, or an object with `input_ids`, or such an array itself; run exactly as given.
    #[arg(long, value_name = "FILE|JSON")]
    pub token_ids: Option<PathBuf>,
}

/// The three ways to treat BOS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BosArg {
    /// As the model's metadata says.
    Auto,
    /// Exactly one.
    Yes,
    /// None.
    No,
}

impl From<BosArg> for BosChoice {
    fn from(arg: BosArg) -> Self {
        match arg {
            BosArg::Auto => Self::Auto,
            BosArg::Yes => Self::Yes,
            BosArg::No => Self::No,
        }
    }
}

impl From<BosChoice> for BosArg {
    fn from(choice: BosChoice) -> Self {
        match choice {
            BosChoice::Auto => Self::Auto,
            BosChoice::Yes => Self::Yes,
            BosChoice::No => Self::No,
        }
    }
}

/// What the detector looks at.
#[derive(Debug, Clone, Args)]
pub struct DetectorArgs {
    /// The profile that the detector looks at.
    #[arg(long, value_enum, default_value = "far_lift")]
    pub profile: ProfileArg,
    /// Layers: `all`, `global` (without local ones), or a list such as `0-5,7`.
    #[arg(long, default_value = "all")]
    pub layers: String,
    /// Heads: `all`, or a list such as `0,3-5`, of every one of those layers.
    #[arg(long, default_value = "all")]
    pub heads: String,
    /// A key is a sink when its z exceeds this.
    #[arg(long, default_value_t = DEFAULT_THRESHOLD)]
    pub threshold: f64,
}

/// Names of the profiles on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ProfileArg {
    /// Mass against uniform attention, far queries only.
    FarLift,
    /// Share of all attention.
    Share,
    /// Mean weight from the queries that see the key.
    Alpha,
    /// Mass against uniform attention.
    Lift,
}

impl From<ProfileArg> for ProfileKind {
    fn from(arg: ProfileArg) -> Self {
        match arg {
            ProfileArg::FarLift => Self::FarLift,
            ProfileArg::Share => Self::Share,
            ProfileArg::Alpha => Self::Alpha,
            ProfileArg::Lift => Self::Lift,
        }
    }
}

impl DetectorArgs {
    /// The detector's options for a model.
    ///
    /// # Errors
    /// The layers are not a list of layers of this model, or the threshold is not a positive number.
    pub fn options(&self, spec: &ModelSpec) -> Result<AnalysisOptions> {
        if !(self.threshold > 0.0 && self.threshold.is_finite()) {
            return Err(Error::Usage(format!("--threshold {} is not positive", self.threshold)));
        }
        let layers = match self.layers.as_str() {
            "all" => None,
            "global" => Some((0..spec.layers).filter(|&layer| spec.windows[layer].is_none()).collect()),
            list => Some(parse_indices("layer", list, spec.layers)?),
        };
        let heads = match self.heads.as_str() {
            "all" => None,
            list => Some(parse_indices("head", list, spec.heads)?),
        };
        let selection = Selection { layers, heads };
        Ok(AnalysisOptions { profile: self.profile.into(), selection, threshold: Some(self.threshold) })
    }
}

/// Reads `0-5,7` as indices below `count`, ascending and unique.
fn parse_indices(what: &str, list: &str, count: usize) -> Result<Vec<usize>> {
    let mut indices = std::collections::BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let parse = |text: &str| text.trim().parse::<usize>().ok().filter(|&index| index < count);
        match (parse(first), parse(last)) {
            (Some(first), Some(last)) if first <= last => indices.extend(first..=last),
            _ => {
                let last = count.saturating_sub(1);
                let why = format!("--{what}s {list}: {part:?} is no {what}; the model has 0-{last}");
                return Err(Error::Usage(why));
            }
        }
    }
    Ok(indices.into_iter().collect())
}

/// Reads `0:0,3:4` or `all` as pairs of layer and head.
pub(super) fn parse_heads(list: &str, spec: &ModelSpec) -> Result<Vec<(usize, usize)>> {
    if list == "all" {
        let heads = (0..spec.layers).flat_map(|layer| (0..spec.heads).map(move |head| (layer, head)));
        return Ok(heads.collect());
    }
    let parse = |part: &str| {
        let (layer, head) = part.split_once(':')?;
        let pair = (layer.trim().parse::<usize>().ok()?, head.trim().parse::<usize>().ok()?);
        (pair.0 < spec.layers && pair.1 < spec.heads).then_some(pair)
    };
    let pairs = list.split(',').map(|part| {
        parse(part).ok_or_else(|| {
            Error::Usage(format!(
                "--patterns {list}: {part:?} is no LAYER:HEAD; the model has layers 0-{} and heads 0-{}",
                spec.layers - 1,
                spec.heads - 1
            ))
        })
    });
    pairs.collect()
}

/// The text of an argument that is JSON itself: it begins with `[` or `{`, as no path does that does not want to
/// be mistaken (`./[1].json`).
pub(super) fn inline_json(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.starts_with(['[', '{']))
}

impl PromptArgs {
    /// Reads the prompt.
    ///
    /// # Errors
    /// A file can't be read or does not hold what it should.
    pub fn read(&self, parse_specials: bool) -> Result<PromptInput> {
        if let Some(text) = &self.prompt {
            return Ok(PromptInput::Text { text: text.clone(), parse_specials });
        }
        if let Some(path) = &self.prompt_file {
            let text = crate::model::tokenizer::read_prompt_file(path)?;
            return Ok(PromptInput::Text { text, parse_specials });
        }
        if let Some(json) = self.chat.as_deref().and_then(inline_json) {
            let turns: Vec<ChatMessage> = serde_json::from_str(json)
                .map_err(|why| Error::Usage(format!("--chat is no chat: {why}")))?;
            return if turns.is_empty() {
                Err(PromptError::EmptyChat.into())
            } else {
                Ok(PromptInput::Chat(turns))
            };
        }
        if let Some(path) = &self.chat {
            return Ok(PromptInput::Chat(crate::model::tokenizer::read_chat_file(path)?));
        }
        let path = self.token_ids.as_ref().expect("clap requires one of the four");
        if let Some(json) = inline_json(path) {
            let ids: Vec<u32> = serde_json::from_str(json)
                .map_err(|why| Error::Usage(format!("--token-ids is no list of ids: {why}")))?;
            return if ids.is_empty() { Err(PromptError::Empty.into()) } else { Ok(PromptInput::Ids(ids)) };
        }
        Ok(PromptInput::Ids(crate::model::tokenizer::read_token_ids_file(path)?))
    }
}
