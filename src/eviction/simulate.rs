//! A run under eviction, in chunks of rows through all layers, so that its curve streams.
//!
//! Later tokens' keys and values were themselves computed under eviction; running every layer over
//! the chunk under the case's visibility reproduces that exactly. Rows that precede the first eviction equal
//! the full run's, so a run starts from the capture's keys and values.

use super::attending::AttendingLayer;
use super::schedule::Schedule;
use super::{AttentionPolicy, EvictionCase, Pins, Positions, Retention};
use crate::Result;
use crate::attention::{AttentionCall, KeyPositions, VisibilityRule, attend};
use crate::capture::{Capture, full_cache_rule, wide_negative_log_likelihood};
use crate::model::decoder::{Decoder, LayerOutput, RotaryTables};
use crate::progress::CancelToken;
use candle_core::Tensor;
use std::ops::Range;
use std::time::Instant;

/// The first chunk is small, so that the curve starts at once; each next one is twice as large, since
/// every chunk pays for packing all weights.
const FIRST_CHUNK_ROWS: usize = 48;
/// No chunk is larger: between two looks at the cancel token lies one layer of a chunk.
const MOST_CHUNK_ROWS: usize = 512;
/// Rows of logits that exist at a time.
const LOGIT_ROWS: usize = 128;

/// Rows that equal the full run's, taken from its capture.
#[derive(Debug, Clone, Copy)]
pub struct Prefix<'a> {
    /// The full run over the same tokens.
    pub capture: &'a Capture,
}

/// Some rows of the curve, as they are computed.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationPoint {
    /// The first row.
    pub first_row: usize,
    /// NLL in nats from that row on.
    pub nll_nats: Vec<f64>,
}

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct EvictionRun {
    /// What was run.
    pub case: EvictionCase,
    /// Its pins.
    pub pins: Pins,
    /// NLL in nats, `n − 1` values; row `i` scores token `i + 1`.
    pub nll_nats: Vec<f64>,
    /// First row that can differ from the full cache's; `None` when none can.
    pub first_differing_row: Option<usize>,
    /// What the cache held, step by step.
    pub retention: Retention,
    /// Wall time.
    pub wall_ms: f64,
}

impl EvictionRun {
    /// First row over which the run is compared with the full cache.
    #[must_use]
    pub fn first_scored_row(&self) -> usize {
        self.first_differing_row.unwrap_or(self.nll_nats.len()).max(self.pins.scored_from)
    }
}

/// Runs a case over a text. With a prefix the rows that the full run shares are taken from it;
/// without one every row is computed.
///
/// # Errors
/// The case makes no sense, the job is cancelled, or the device fails.
pub fn simulate(
    decoder: &Decoder,
    ids: &[u32],
    case: &EvictionCase,
    pins: &Pins,
    prefix: Option<Prefix<'_>>,
    emit: &mut dyn FnMut(SimulationPoint),
    cancel: &CancelToken,
) -> Result<EvictionRun> {
    let start = Instant::now();
    let n = ids.len();
    case.check(decoder.spec(), n, &pins.tokens)?;
    let budget = case.budget_in(n);
    let first_differing_row = (budget + 1 < n).then_some(budget + 1);
    let policy = AttentionPolicy::of(case, &pins.tokens, n);
    // An attention policy decides after row `budget` for the first time, and must see that row.
    let shared_rows = match (prefix, first_differing_row, &policy) {
        (None, ..) => 0,
        (Some(_), None, None) => n,
        (Some(_), _, Some(_)) => budget.min(n),
        (Some(_), Some(first), None) => first,
    };
    let mut run = Simulation::new(decoder, n, case, pins, policy.as_ref(), prefix, shared_rows)?;
    let shared = prefix.map_or(&[][..], |p| &p.capture.nll_nats[..shared_rows.min(n - 1)]);
    let mut nll_nats: Vec<f64> = shared.iter().map(|&nll| f64::from(nll)).collect();
    if !nll_nats.is_empty() {
        emit(SimulationPoint { first_row: 0, nll_nats: nll_nats.clone() });
    }
    let (mut first, mut chunk_rows) = (shared_rows, FIRST_CHUNK_ROWS);
    while first < n {
        let rows = first..(first + chunk_rows).min(n);
        let hidden = run.layers(&ids[rows.clone()], rows.clone(), cancel)?;
        // The last row scores nothing.
        for first_row in (rows.start..rows.end.min(n - 1)).step_by(LOGIT_ROWS) {
            cancel.check()?;
            let count = LOGIT_ROWS.min(rows.end.min(n - 1) - first_row);
            let logits = decoder.logits(&hidden.narrow(0, first_row - rows.start, count)?)?;
            let chunk = wide_negative_log_likelihood(&logits, &ids[first_row + 1..=first_row + count])?;
            nll_nats.extend_from_slice(&chunk);
            emit(SimulationPoint { first_row, nll_nats: chunk });
        }
        first = rows.end;
        chunk_rows = (2 * chunk_rows).min(MOST_CHUNK_ROWS);
    }
    let retention = run.retention();
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(EvictionRun {
        case: case.clone(),
        pins: pins.clone(),
        nll_nats,
        first_differing_row,
        retention,
        wall_ms,
    })
}

/// One layer's keys and values so far, `[n, kv_heads, head_dim]`, filled from the front.
struct LayerStore {
    k: Tensor,
    v: Tensor,
}

struct Simulation<'a> {
    decoder: &'a Decoder,
    tables: RotaryTables,
    stores: Vec<LayerStore>,
    /// What position-only policies see; attention policies have none.
    schedule: Option<Schedule>,
    /// The caches of attention policies, for each global layer.
    attending: Vec<Option<AttendingLayer>>,
    slots: bool,
}

impl<'a> Simulation<'a> {
    fn new(
        decoder: &'a Decoder,
        n: usize,
        case: &EvictionCase,
        pins: &Pins,
        policy: Option<&AttentionPolicy>,
        prefix: Option<Prefix<'_>>,
        shared_rows: usize,
    ) -> Result<Self> {
        let spec = decoder.spec();
        let schedule = policy.is_none().then(|| Schedule::of(case, &pins.tokens, n));
        let shape = (n, spec.kv_heads, spec.head_dim);
        let (dtype, device) = (decoder.dtype(), decoder.device());
        let mut stores = Vec::new();
        for layer in 0..spec.layers {
            let (k, v) = (Tensor::zeros(shape, dtype, device)?, Tensor::zeros(shape, dtype, device)?);
            if let Some(Prefix { capture }) = prefix {
                let width = spec.kv_heads * spec.head_dim;
                for (store, captured) in [(&k, &capture.layers[layer].k), (&v, &capture.layers[layer].v)] {
                    let rows = (shared_rows, spec.kv_heads, spec.head_dim);
                    let shared = Tensor::from_slice(&captured[..shared_rows * width], rows, device)?;
                    if shared_rows > 0 {
                        store.slice_set(&shared.to_dtype(dtype)?, 0, 0)?;
                    }
                }
            }
            stores.push(LayerStore { k, v });
        }
        let attending = (0..spec.layers).map(|layer| {
            let policy = policy.filter(|_| spec.windows[layer].is_none())?.clone();
            let (capture, score) = (prefix.map(|p| p.capture), decoder.score_rule(layer).clone());
            Some(AttendingLayer::new(spec, n, policy, capture, layer, shared_rows, score))
        });
        Ok(Self {
            decoder,
            tables: decoder.rotary_tables(n)?,
            stores,
            attending: attending.collect(),
            schedule,
            slots: case.positions == Positions::Slot,
        })
    }

    /// Runs a chunk of rows through all layers; returns the residual stream behind the last.
    fn layers(&mut self, ids: &[u32], rows: Range<usize>, cancel: &CancelToken) -> Result<Tensor> {
        let mut hidden = self.decoder.embed(ids, rows.start)?;
        for layer in 0..self.decoder.spec().layers {
            cancel.check()?;
            let (decoder, tables) = (self.decoder, &self.tables);
            let (store, schedule, slots) = (&self.stores[layer], self.schedule.as_ref(), self.slots);
            let attending = self.attending[layer].as_mut();
            hidden = decoder.layer(layer, &hidden, rows.start, tables, |projected| {
                if let Some(attending) = attending {
                    return attending.attend(projected, rows.clone(), cancel);
                }
                let LayerOutput { q, k, v } = projected;
                store.k.slice_set(&k.contiguous()?, 0, rows.start)?;
                store.v.slice_set(&v.contiguous()?, 0, rows.start)?;
                let spec = decoder.spec();
                let local = spec.windows[layer].map(|_| full_cache_rule(spec, layer));
                let rule: &dyn VisibilityRule = match (&local, schedule) {
                    (None, Some(schedule)) => schedule,
                    (Some(local), _) => &**local,
                    (None, None) => unreachable!("a global layer has a schedule or caches"),
                };
                let call = AttentionCall {
                    q,
                    k: &store.k.narrow(0, 0, rows.end)?,
                    v: &store.v.narrow(0, 0, rows.end)?,
                    geometry: spec.geometry(),
                    score: decoder.score_rule(layer),
                    rule,
                    first_query: rows.start,
                    layer,
                    positions: if slots && local.is_none() {
                        KeyPositions::Slots { rotation: tables.of_layer(layer) }
                    } else {
                        KeyPositions::Text
                    },
                };
                Ok(attend(&call, None, cancel)?.context)
            })?;
        }
        Ok(hidden)
    }

    fn retention(self) -> Retention {
        match self.schedule {
            Some(schedule) => Retention::Shared(schedule),
            None => Retention::PerHead(
                self.attending.into_iter().flatten().map(AttendingLayer::into_evictions).collect(),
            ),
        }
    }
}
