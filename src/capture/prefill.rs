//! The capturing prefill: the model runs over the prompt once, layer by layer, and is observed.

use super::{Capture, Checks, LayerCapture};
use crate::Result;
use crate::analysis::FAR_DELTA;
use crate::attention::{
    AttentionCall, Causal, KeyPositions, LocalWindow, ScoreRule, Statistics, VisibilityRule, attend,
    slice_type,
};
use crate::model::decoder::{Decoder, LayerOutput};
use crate::model::tokenizer::TokenSequence;
use crate::model::{ModelInfo, ModelSpec};
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use candle_core::{D, DType, IndexOp, Tensor};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Rows that the projections and the MLP take at a time.
const CHUNK_ROWS: usize = 512;
/// Rows of logits that exist at a time: the LM head's output is the widest tensor of a small model.
const LOGIT_ROWS: usize = 128;

/// Smaller ids are left to captures that tests build.
static NEXT_CAPTURE: AtomicU64 = AtomicU64::new(1 << 20);

/// An id that no other capture of this process has.
pub(crate) fn next_capture_id() -> u64 {
    NEXT_CAPTURE.fetch_add(1, Ordering::Relaxed)
}

/// Wall time of a prefill, in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrefillTiming {
    /// Embedding and all layers.
    pub layers_ms: f64,
    /// Final norm, LM head and the NLL of every token.
    pub head_ms: f64,
}

/// What a prefill does beside computing the NLL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrefillOptions {
    /// Whether the logits of every row are kept, `[n, vocab]`.
    pub keep_logits: bool,
}

/// A capture, and what was asked for beside it.
#[derive(Debug)]
pub struct Prefilled {
    /// The capture.
    pub capture: Capture,
    /// Logits `[n, vocab]` in f32, when asked for.
    pub logits: Option<Tensor>,
    /// Where the time went.
    pub timing: PrefillTiming,
}

/// The visibility rule of a layer when nothing is evicted.
#[must_use]
pub fn full_cache_rule(spec: &ModelSpec, layer: usize) -> Box<dyn VisibilityRule> {
    match spec.windows[layer] {
        Some(width) => Box::new(LocalWindow { width }),
        None => Box::new(Causal),
    }
}

/// Runs the decoder over the tokens and captures every layer.
///
/// # Errors
/// The job is cancelled, or the device fails.
pub fn prefill(
    decoder: &Decoder,
    model: &Arc<ModelInfo>,
    tokens: &Arc<TokenSequence>,
    options: PrefillOptions,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> Result<Prefilled> {
    let start = Instant::now();
    let mut layers = Vec::with_capacity(decoder.spec().layers);
    let mut checks = Checks::default();
    let hidden = run_layers(decoder, &tokens.ids(), Some(FAR_DELTA), reporter, cancel, |observed| {
        checks = checks.merged(observed.statistics.checks);
        layers.push(capture_layer(observed)?);
        Ok(())
    })?;
    let layers_ms = elapsed_ms(start);
    let start = Instant::now();
    let (nll_nats, logits) = score(decoder, &hidden, &tokens.ids(), options.keep_logits, cancel)?;
    let timing = PrefillTiming { layers_ms, head_ms: elapsed_ms(start) };
    let capture = Capture {
        id: next_capture_id(),
        model: Arc::clone(model),
        tokens: Arc::clone(tokens),
        layers,
        nll_nats,
        checks,
        prefill_ms: timing.layers_ms + timing.head_ms,
    };
    Ok(Prefilled { capture, logits, timing })
}

/// The same run with nothing observed and nothing kept: what observation costs is measured against it.
///
/// # Errors
/// The job is cancelled, or the device fails.
pub fn plain_prefill(
    decoder: &Decoder,
    ids: &[u32],
    cancel: &CancelToken,
) -> Result<(Vec<f32>, PrefillTiming)> {
    let start = Instant::now();
    let hidden = run_layers(decoder, ids, None, &crate::progress::Silent, cancel, |_| Ok(()))?;
    let layers_ms = elapsed_ms(start);
    let start = Instant::now();
    let (nll_nats, _) = score(decoder, &hidden, ids, false, cancel)?;
    Ok((nll_nats, PrefillTiming { layers_ms, head_ms: elapsed_ms(start) }))
}

/// One layer as it ran. The tensors are reused by the next layer: what is kept is copied.
struct ObservedLayer<'a> {
    projected: &'a LayerOutput,
    score: &'a ScoreRule,
    statistics: Statistics,
    /// Residual stream behind the layer, `[n, hidden]`.
    hidden: &'a Tensor,
}

/// Everything but attention runs in chunks of rows, in tensors that all layers share: what a chunk
/// needs stays in the cache, and the system is not asked for fresh memory in every layer.
fn run_layers(
    decoder: &Decoder,
    ids: &[u32],
    observe_far_delta: Option<usize>,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
    mut each: impl FnMut(ObservedLayer<'_>) -> Result<()>,
) -> Result<Tensor> {
    let (spec, n) = (decoder.spec(), ids.len());
    let tables = decoder.rotary_tables(n)?;
    let hidden = decoder.embed(ids, 0)?;
    let zeros = |heads| Tensor::zeros((n, heads, spec.head_dim), decoder.dtype(), decoder.device());
    let projected = LayerOutput { q: zeros(spec.heads)?, k: zeros(spec.kv_heads)?, v: zeros(spec.kv_heads)? };
    let chunks = || (0..n).step_by(CHUNK_ROWS).map(|first| (first, CHUNK_ROWS.min(n - first)));
    for layer in 0..spec.layers {
        for (first, rows) in chunks() {
            cancel.check()?;
            let part = decoder.project(layer, &hidden.narrow(0, first, rows)?, first, &tables)?;
            projected.q.slice_set(&part.q, 0, first)?;
            projected.k.slice_set(&part.k, 0, first)?;
            projected.v.slice_set(&part.v, 0, first)?;
        }
        let call = AttentionCall {
            q: &projected.q,
            k: &projected.k,
            v: &projected.v,
            geometry: spec.geometry(),
            score: decoder.score_rule(layer),
            rule: &*full_cache_rule(spec, layer),
            first_query: 0,
            layer,
            positions: KeyPositions::Text,
        };
        let attended = attend(&call, observe_far_delta, cancel)?;
        for (first, rows) in chunks() {
            cancel.check()?;
            let context = attended.context.narrow(0, first, rows)?;
            let behind = decoder.finish(layer, &hidden.narrow(0, first, rows)?, &context)?;
            hidden.slice_set(&behind, 0, first)?;
        }
        if let Some(statistics) = attended.statistics {
            let score = decoder.score_rule(layer);
            each(ObservedLayer { projected: &projected, score, statistics, hidden: &hidden })?;
        }
        reporter.progress(Progress {
            stage: "Running the prompt".to_owned(),
            done: layer as u64 + 1,
            total: Some(spec.layers as u64),
            unit: ProgressUnit::Layers,
        });
    }
    Ok(hidden)
}

fn capture_layer(observed: ObservedLayer<'_>) -> Result<LayerCapture> {
    let ObservedLayer { projected, score, statistics, hidden } = observed;
    let hidden_max_abs = host(&hidden.abs()?.max(D::Minus1)?)?;
    // `[n, kv_heads, head_dim]` to one norm per head and token, `[kv_heads, n]`.
    let head_norms = |x: &Tensor| host(&norms(x)?.t()?);
    Ok(LayerCapture {
        score: score.clone(),
        hidden_norm: host(&norms(hidden)?)?,
        hidden_max_abs,
        key_norm: head_norms(&projected.k)?,
        value_norm: head_norms(&projected.v)?,
        q: host(&projected.q)?,
        k: host(&projected.k)?,
        v: host(&projected.v)?,
        lse: statistics.lse,
        column_sums: statistics.column_sums,
        far_column_sums: statistics.far_column_sums,
        row_entropy_nats: statistics.entropy_nats,
    })
}

/// Euclidean norm over the last dimension.
fn norms(x: &Tensor) -> Result<Tensor> {
    Ok(x.sqr()?.sum(D::Minus1)?.sqrt()?)
}

/// All elements on the host in f32, row-major.
fn host(x: &Tensor) -> Result<Vec<f32>> {
    Ok(x.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?)
}

/// NLL of rows `0 … n − 2` in nats, and all logits when they are to be kept.
fn score(
    decoder: &Decoder,
    hidden: &Tensor,
    ids: &[u32],
    keep_logits: bool,
    cancel: &CancelToken,
) -> Result<(Vec<f32>, Option<Tensor>)> {
    let n = ids.len();
    let scored = if keep_logits { n } else { n - 1 };
    let mut nll_nats = Vec::with_capacity(n);
    let mut kept = Vec::new();
    for first in (0..scored).step_by(LOGIT_ROWS) {
        cancel.check()?;
        let rows = first..(first + LOGIT_ROWS).min(scored);
        let logits = decoder.logits(&hidden.i(rows.clone())?)?.to_dtype(DType::F32)?;
        let next = &ids[first + 1..(rows.end + 1).min(n)];
        nll_nats.extend(negative_log_likelihood(&logits, next)?);
        if keep_logits {
            kept.push(logits);
        }
    }
    let logits = if keep_logits { Some(Tensor::cat(&kept, 0)?) } else { None };
    Ok((nll_nats, logits))
}

/// `lse(row) − row[next]` for each row that has a next token, in f32 as the field does it.
fn negative_log_likelihood(logits: &Tensor, next: &[u32]) -> Result<Vec<f32>> {
    if slice_type(logits).is_none() {
        let logits = logits.narrow(0, 0, next.len())?;
        let ids = Tensor::new(next, logits.device())?.unsqueeze(1)?;
        let lse = logits.log_sum_exp(D::Minus1)?;
        return host(&(lse - logits.gather(&ids, 1)?.squeeze(1)?)?);
    }
    let (logits, vocab) = (&logits.to_dtype(DType::F32)?, logits.dim(1)?);
    crate::attention::with_slice(logits, |logits: &[f32]| {
        let rows = logits.par_chunks_exact(vocab).zip(next);
        Ok(rows.map(|(row, &id)| crate::attention::log_sum_exp(row) - row[id as usize]).collect())
    })
}

/// The same in the decoder's own type where that is f64, for references that f32 would blur.
pub(crate) fn wide_negative_log_likelihood(logits: &Tensor, next: &[u32]) -> Result<Vec<f64>> {
    if logits.dtype() != DType::F64 {
        return Ok(negative_log_likelihood(logits, next)?.into_iter().map(f64::from).collect());
    }
    let rows = logits.to_vec2::<f64>()?.into_iter().zip(next).map(|(row, &id)| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        max + row.iter().map(|logit| (logit - max).exp()).sum::<f64>().ln() - row[id as usize]
    });
    Ok(rows.collect())
}

fn elapsed_ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
