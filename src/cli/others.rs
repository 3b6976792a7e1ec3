//! Other runs to compare with, as JSON on the command line or in a file.

use super::analyze::{Finished, run_prompt_input};
use super::arguments::{BosArg, DetectorArgs};
use super::render::RenderArgs;
use super::{Context, TerminalReporter};
use crate::analysis::Analysis;
use crate::capture::{Capture, PrefillOptions};
use crate::engine::PromptInput;
use crate::engine::jobs::{analyze, check_memory, tokenize};
use crate::model::chat::ChatMessage;
use crate::model::placement::{DeviceChoice, Precision};
use crate::model::tokenizer::BosChoice;
use crate::model::{LoadOptions, LoadedModel, ModelError};
use crate::progress::CancelToken;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One run to compare with. Exactly one of the three prompts is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherRun {
    /// The model as `--model` takes it; without it the command's own, kept as it is kept there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How its weights are kept, where it is another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<Precision>,
    /// What computes it, where it is another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Whether it starts with BOS.
    #[serde(default)]
    pub bos: BosChoice,
    /// A plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether specials that are typed in it are read as such.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parse_specials: bool,
    /// A chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<Vec<ChatMessage>>,
    /// Token ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_ids: Option<Vec<u32>>,
}

/// A finished run to compare with.
pub(super) struct OtherFinished {
    pub(super) capture: Capture,
    pub(super) analysis: Analysis,
}

impl OtherRun {
    fn input(&self) -> std::result::Result<PromptInput, String> {
        match (&self.prompt, &self.chat, &self.token_ids) {
            (Some(text), None, None) => {
                Ok(PromptInput::Text { text: text.clone(), parse_specials: self.parse_specials })
            }
            (None, Some(turns), None) if !turns.is_empty() => Ok(PromptInput::Chat(turns.clone())),
            (None, None, Some(ids)) if !ids.is_empty() => Ok(PromptInput::Ids(ids.clone())),
            _ => Err("needs exactly one of \"prompt\", \"chat\" and \"token_ids\", with something in it"
                .to_owned()),
        }
    }

    fn load(&self) -> std::result::Result<LoadOptions, String> {
        let device = match &self.device {
            None => DeviceChoice::Auto,
            Some(name) => name.parse().map_err(|why| format!("device: {why}"))?,
        };
        Ok(LoadOptions { precision: self.dtype, device })
    }
}

/// The other runs that `render` is told of, checked as far as that goes without their models.
///
/// # Errors
/// The file can't be read, or is no list of runs; the message says which run and why.
pub(super) fn read(args: &RenderArgs) -> Result<Vec<OtherRun>> {
    let Some(path) = &args.others else { return Ok(Vec::new()) };
    let (json, place) = if let Some(json) = args.inline_others() {
        (json.as_bytes().to_vec(), String::new())
    } else {
        let json = std::fs::read(path).map_err(|error| ModelError::read(&error, path))?;
        (json, format!(": {}", path.display()))
    };
    let usage = |why: String| Error::Usage(format!("Can't use the other runs: {why}{place}"));
    let runs: Vec<OtherRun> = serde_json::from_slice(&json).map_err(|why| usage(why.to_string()))?;
    if runs.is_empty() {
        return Err(usage("the list is empty".to_owned()));
    }
    for (index, run) in runs.iter().enumerate() {
        run.input().and(run.load().map(|_| ())).map_err(|why| usage(format!("run {index} {why}")))?;
    }
    Ok(runs)
}

/// Runs them, one after the other.
///
/// # Errors
/// A model can't be had, or a run fails.
pub(super) fn run_all(
    runs: &[OtherRun],
    finished: &Finished,
    context: Context,
    detector: &DetectorArgs,
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<Vec<OtherFinished>> {
    let run = |other: &OtherRun| {
        let prompt = other.input().map_err(Error::Usage)?;
        let Some(model) = &other.model else {
            return with_model(&finished.model, &prompt, other.bos, detector, reporter, cancel);
        };
        let context = Context { load: other.load().map_err(Error::Usage)?, ..context };
        let options = PrefillOptions::default();
        let bos = BosArg::from(other.bos);
        let finished = run_prompt_input(model, context, &prompt, bos, detector, options, reporter, cancel)?;
        Ok(OtherFinished { capture: finished.prefilled.capture, analysis: finished.analysis })
    };
    runs.iter().map(run).collect()
}

fn with_model(
    model: &LoadedModel,
    prompt: &PromptInput,
    bos: BosChoice,
    detector: &DetectorArgs,
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<OtherFinished> {
    let tokens = Arc::new(tokenize(&model.tokenizer, &model.info.spec, prompt, bos)?);
    check_memory(model, tokens.len())?;
    let prefilled = analyze(model, &tokens, PrefillOptions::default(), reporter, cancel)?;
    reporter.finish();
    let analysis = Analysis::of(&prefilled.capture, detector.options(&model.info.spec)?);
    Ok(OtherFinished { capture: prefilled.capture, analysis })
}
