//! What a job does, synchronously: the thread and the command line both call these.

use super::{MemoryPlan, PromptInput};
use crate::analysis::AnalysisOptions;
use crate::capture::{Capture, PrefillOptions, Prefilled, format_bytes, plan_memory, prefill};
use crate::eviction::{EvictionCase, EvictionRun, Prefix, SimulationPoint, simulate};
use crate::model::source::{Locator, ModelRef};
use crate::model::tokenizer::{BosChoice, PromptTokenizer, TokenSequence};
use crate::model::{LoadOptions, LoadedModel, ModelError, ModelSpec, load_model};
use crate::progress::{CancelToken, Reporter};
use crate::{Error, Result};
use std::sync::Arc;

/// Finds, fetches and loads a model.
///
/// # Errors
/// It can't be had or loaded, or the job is cancelled.
pub fn open_model(
    locator: &Locator,
    model: &ModelRef,
    options: LoadOptions,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> Result<LoadedModel> {
    let located = locator.locate(model, reporter, cancel)?;
    load_model(&located, options, reporter, cancel)
}

/// Turns a prompt into tokens that the model can run.
///
/// # Errors
/// The prompt is empty, does not fit the vocabulary, or can't be rendered.
pub fn tokenize(
    tokenizer: &PromptTokenizer,
    spec: &ModelSpec,
    prompt: &PromptInput,
    bos: BosChoice,
) -> Result<TokenSequence> {
    let mut tokens = match prompt {
        PromptInput::Text { text, parse_specials } => tokenizer.encode_text(text, *parse_specials, bos)?,
        PromptInput::Chat(messages) => tokenizer.encode_chat(messages, bos)?,
        PromptInput::Ids(ids) => tokenizer.sequence_of_ids(ids, spec.vocab)?,
    };
    if tokens.len() > spec.context {
        // Rotary positions go on; what the model makes of them is the experiment's business.
        tokens.warnings.push(format!(
            "The prompt has {} tokens, the model was trained for {}: expect its perplexity to explode",
            tokens.len(),
            spec.context
        ));
    }
    Ok(tokens)
}

/// The memory that a run needs, refused when the machine does not have it.
///
/// # Errors
/// The prediction exceeds what is available.
pub fn check_memory(model: &LoadedModel, n: usize) -> Result<MemoryPlan> {
    check_memory_with(model, n, 0)
}

/// The same, where `spare_bytes` more are given back when they are needed.
///
/// # Errors
/// The prediction exceeds what is available and spare.
pub fn check_memory_with(model: &LoadedModel, n: usize, spare_bytes: u64) -> Result<MemoryPlan> {
    let plan = plan_memory(&model.info.spec, model.info.weight_bytes, n);
    fitting(plan, n, spare_bytes)
}

fn fitting(plan: MemoryPlan, n: usize, spare_bytes: u64) -> Result<MemoryPlan> {
    if plan.missing_bytes() > spare_bytes {
        return Err(Error::Model(ModelError::PromptTooLarge {
            tokens: n,
            needed: format_bytes(plan.capture_bytes + plan.scratch_bytes),
            available: format_bytes(plan.available_bytes.saturating_add(spare_bytes)),
        }));
    }
    Ok(plan)
}

/// Runs the prompt and captures its attention.
///
/// # Errors
/// The job is cancelled, or the device fails.
pub fn analyze(
    model: &LoadedModel,
    tokens: &Arc<TokenSequence>,
    options: PrefillOptions,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> Result<Prefilled> {
    let done = prefill(&model.decoder, &model.info, tokens, options, reporter, cancel)?;
    if done.capture.nll_nats.iter().any(|nll| !nll.is_finite()) {
        let remedy =
            if model.info.dtype == "f32" { "the weights may be damaged" } else { "keep them as f32 or bf16" };
        reporter.notice(&format!(
            "Warning: the model's output is not finite with its weights as {}: {remedy}",
            model.info.dtype
        ));
    }
    Ok(done)
}

/// Simulates a cache over a captured text.
///
/// # Errors
/// The case makes no sense for this text, the capture is another model's, or the job is cancelled.
pub fn evict(
    model: &LoadedModel,
    capture: &Capture,
    case: &EvictionCase,
    detector: &AnalysisOptions,
    emit: &mut dyn FnMut(SimulationPoint),
    cancel: &CancelToken,
) -> Result<EvictionRun> {
    if !Arc::ptr_eq(&model.info, &capture.model) {
        return Err(ModelError::OtherModel.into());
    }
    let pins = case.resolve_pins(capture, detector)?;
    let ids = capture.tokens.ids();
    simulate(&model.decoder, &ids, case, &pins, Some(Prefix { capture }), emit, cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_give_back_counts_as_available() {
        let plan =
            MemoryPlan { weight_bytes: 1 << 40, capture_bytes: 60, scratch_bytes: 50, available_bytes: 100 };
        assert_eq!(plan.missing_bytes(), 10);
        assert!(fitting(plan, 7, 10).is_ok());
        let refused = fitting(plan, 7, 9).expect_err("a byte too many");
        assert_eq!(
            refused.to_string(),
            "A run of 7 tokens needs 110 B, but only 109 B of memory are available: shorten the prompt"
        );
        let plenty = MemoryPlan { available_bytes: u64::MAX, ..plan };
        assert!(fitting(plenty, 7, 1 << 30).is_ok());
        assert_eq!(plenty.missing_bytes(), 0);
    }
}
