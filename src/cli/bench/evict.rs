//! `sinkscope bench evict`: the masked pass against a token loop and against the full prefill.

use super::{made_up_ids, median};
use crate::analysis::AnalysisOptions;
use crate::attention::{AttentionCall, KeyPositions, LocalWindow, attend};
use crate::capture::{Capture, PrefillOptions, plain_prefill, prefill};
use crate::cli::TerminalReporter;
use crate::engine::jobs;
use crate::eviction::{EvictionCase, PinChoice, PolicyName};
use crate::model::LoadedModel;
use crate::model::source::{Locator, ModelRef};
use crate::progress::{CancelToken, Reporter, Silent};
use crate::{Error, Result};
use candle_core::Tensor;
use clap::Args;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `bench evict`.
#[derive(Debug, Clone, Args)]
pub struct EvictBenchArgs {
    /// The model.
    #[arg(long, default_value = "smollm2-135m-q4_1")]
    pub model: String,
    /// Length of the text in tokens.
    #[arg(long, default_value_t = 1024)]
    pub length: usize,
    /// Keys that the cache may hold.
    #[arg(long, default_value_t = 128)]
    pub budget: usize,
    /// Tokens that the token loop is run for; its time is scaled to the masked pass's rows.
    #[arg(long, default_value_t = 128)]
    pub loop_tokens: usize,
    /// Rounds; each runs everything once, medians are reported.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    model: String,
    sha256: String,
    threads: usize,
    rounds: usize,
    n: usize,
    budget: usize,
    /// The plain (unobserved) prefill with the NLL of every row.
    full_prefill_ms: f64,
    /// The masked pass: a window, and the same with the first token pinned.
    window_ms: f64,
    pinned_ms: f64,
    h2o_ms: f64,
    tova_ms: f64,
    /// From the start of a run to the first computed rows of its curve.
    first_points_ms: f64,
    /// One token per forward over a rolling cache of the same engine.
    token_loop_ms_per_token: f64,
    /// How many tokens that was measured on; the ratio below scales it to the masked pass's rows.
    token_loop_measured_tokens: usize,
    rows_after_fill: usize,
    window_over_full_prefill: f64,
    h2o_over_full_prefill: f64,
    tova_over_full_prefill: f64,
    token_loop_over_window: f64,
}

pub(super) fn run(args: &EvictBenchArgs, cancel: &CancelToken) -> Result<()> {
    if args.budget == 0 || args.length < args.budget + 2 {
        let (length, budget) = (args.length, args.budget);
        return Err(Error::Usage(format!("--length {length} never fills a cache of --budget {budget} keys")));
    }
    let reporter = TerminalReporter::default();
    let locator = Locator::from_environment(false);
    let model = jobs::open_model(
        &locator,
        &ModelRef::parse(&args.model),
        crate::model::LoadOptions::default(),
        &reporter,
        cancel,
    )?;
    reporter.finish();
    let ids = made_up_ids(args.length, model.info.spec.vocab);
    let tokens = Arc::new(model.tokenizer.sequence_of_ids(&ids, model.info.spec.vocab)?);
    let options = PrefillOptions::default();
    let capture = prefill(&model.decoder, &model.info, &tokens, options, &Silent, cancel)?.capture;

    let window = EvictionCase::fifo(args.budget, PinChoice::None);
    let pinned = EvictionCase::fifo(args.budget, PinChoice::First(1));
    let h2o = EvictionCase { policy: PolicyName::H2o, ..window.clone() };
    let tova = EvictionCase { policy: PolicyName::Tova, ..window.clone() };
    let rounds = args.rounds.max(1);
    let mut times = [const { Vec::new() }; 7];
    for round in 0..rounds {
        reporter.notice(&format!("round {} of {rounds} …", round + 1));
        let start = Instant::now();
        plain_prefill(&model.decoder, &ids, cancel)?;
        times[0].push(start.elapsed().as_secs_f64() * 1e3);
        for (place, case) in [&window, &pinned, &h2o, &tova].into_iter().enumerate() {
            let (wall_ms, first_points_ms) = time_case(&model, &capture, case, cancel)?;
            times[1 + place].push(wall_ms);
            if place == 0 {
                times[5].push(first_points_ms);
            }
        }
        times[6].push(token_loop_ms(&model, &ids, args.budget, args.loop_tokens, cancel)?);
    }
    let [full, window, pinned, h2o, tova, first, per_token] = times;
    let rows_after_fill = args.length - args.budget - 1;
    let ratio = |a: &[f64], b: &[f64]| median(a.iter().zip(b).map(|(a, b)| a / b).collect());
    let looped: Vec<f64> = per_token.iter().map(|ms| ms * rows_after_fill as f64).collect();
    let figures = Figures {
        model: model.info.name.clone(),
        sha256: model.info.sha256.clone(),
        threads: rayon::current_num_threads(),
        rounds,
        n: args.length,
        budget: args.budget,
        rows_after_fill,
        window_over_full_prefill: ratio(&window, &full),
        h2o_over_full_prefill: ratio(&h2o, &full),
        tova_over_full_prefill: ratio(&tova, &full),
        token_loop_over_window: ratio(&looped, &window),
        full_prefill_ms: median(full),
        window_ms: median(window),
        pinned_ms: median(pinned),
        h2o_ms: median(h2o),
        tova_ms: median(tova),
        first_points_ms: median(first),
        token_loop_ms_per_token: median(per_token),
        token_loop_measured_tokens: args.loop_tokens,
    };
    say!("{}", serde_json::to_string_pretty(&figures).expect("plain numbers"));
    Ok(())
}

/// Wall time of a run, and of its first computed rows (the shared rows come at once).
fn time_case(
    model: &LoadedModel,
    capture: &Capture,
    case: &EvictionCase,
    cancel: &CancelToken,
) -> Result<(f64, f64)> {
    let start = Instant::now();
    let mut first_points_ms = None;
    let mut emit = |point: crate::eviction::SimulationPoint| {
        if point.first_row > 0 {
            first_points_ms.get_or_insert_with(|| start.elapsed().as_secs_f64() * 1e3);
        }
    };
    jobs::evict(model, capture, case, &AnalysisOptions::default(), &mut emit, cancel)?;
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok((wall_ms, first_points_ms.unwrap_or(wall_ms)))
}

/// Milliseconds a token when each is a forward of its own over a cache of the last `budget` keys.
/// Measured after the cache has filled; filling it is not timed.
fn token_loop_ms(
    model: &LoadedModel,
    ids: &[u32],
    budget: usize,
    measured: usize,
    cancel: &CancelToken,
) -> Result<f64> {
    let (decoder, spec) = (&model.decoder, model.decoder.spec());
    let tables = decoder.rotary_tables(ids.len())?;
    let mut caches: Vec<Option<(Tensor, Tensor)>> = vec![None; spec.layers];
    let mut start = Instant::now();
    let steps = (budget + measured).min(ids.len());
    for (position, &id) in ids[..steps].iter().enumerate() {
        if position == budget {
            start = Instant::now();
        }
        let mut hidden = decoder.embed(&[id], position)?;
        for (layer, cache) in caches.iter_mut().enumerate() {
            hidden = decoder.layer(layer, &hidden, position, &tables, |projected| {
                let extend = |old: Option<&Tensor>, new: &Tensor| match old {
                    Some(old) => Tensor::cat(&[old, new], 0),
                    None => Ok(new.clone()),
                };
                let (k, v) = (
                    extend(cache.as_ref().map(|(k, _)| k), &projected.k)?,
                    extend(cache.as_ref().map(|(_, v)| v), &projected.v)?,
                );
                let held = k.dim(0)?;
                let call = AttentionCall {
                    q: &projected.q,
                    k: &k,
                    v: &v,
                    geometry: spec.geometry(),
                    score: decoder.score_rule(layer),
                    rule: &LocalWindow { width: held },
                    first_query: held - 1,
                    layer,
                    positions: KeyPositions::Text,
                };
                let context = attend(&call, None, cancel)?.context;
                let kept = held.min(budget);
                *cache = Some((k.narrow(0, held - kept, kept)?, v.narrow(0, held - kept, kept)?));
                Ok(context)
            })?;
        }
        std::hint::black_box(decoder.logits(&hidden)?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e3 / (steps - budget.min(steps)).max(1) as f64)
}
