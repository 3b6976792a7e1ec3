//! One layer under a policy that decides by attention: rows one after the other, KV heads in parallel.

use super::schedule::NEVER;
use super::{AttentionPolicy, ScoreBoard};
use crate::Result;
use crate::attention::{Geometry, Real, RetainedKeys, ScoreRule, with_slice};
use crate::capture::Capture;
use crate::model::ModelSpec;
use crate::model::decoder::LayerOutput;
use crate::progress::CancelToken;
use candle_core::{DType, Device, Tensor, WithDType};
use rayon::prelude::*;
use std::ops::Range;

/// The caches of one layer.
pub(super) struct AttendingLayer {
    geometry: Geometry,
    score: ScoreRule,
    policy: AttentionPolicy,
    caches: Caches,
    /// For each KV head and key the step after which it is gone.
    evicted_at: Vec<Vec<u32>>,
}

/// One cache for each KV head, in the decoder's number type.
enum Caches {
    F32(Vec<RetainedKeys<f32>>),
    F64(Vec<RetainedKeys<f64>>),
}

impl AttendingLayer {
    /// The caches before row `shared_rows`, with the keys and sums of the rows that the full run shares.
    pub(super) fn new(
        spec: &ModelSpec,
        n: usize,
        policy: AttentionPolicy,
        capture: Option<&Capture>,
        layer: usize,
        shared_rows: usize,
        score: ScoreRule,
    ) -> Self {
        let geometry = spec.geometry();
        let caches = match capture {
            // Only an f32 run starts from a capture; a run that starts at row 0 finds its own type.
            Some(capture) => Caches::F32(
                (0..geometry.kv_heads)
                    .into_par_iter()
                    .map(|kv_head| shared_keys(capture, geometry, layer, kv_head, shared_rows))
                    .collect(),
            ),
            None => Caches::F32(Vec::new()),
        };
        let evicted_at = vec![vec![NEVER; n]; geometry.kv_heads];
        Self { geometry, score, policy, caches, evicted_at }
    }

    pub(super) fn into_evictions(self) -> Vec<Vec<u32>> {
        self.evicted_at
    }

    /// Attends the chunk's rows in order; returns the context `[rows, heads · head_dim]`.
    pub(super) fn attend(
        &mut self,
        projected: &LayerOutput,
        rows: Range<usize>,
        cancel: &CancelToken,
    ) -> Result<Tensor> {
        let device = projected.q.device().clone();
        let dtype = projected.q.dtype();
        if dtype == DType::F64 && matches!(&self.caches, Caches::F32(caches) if caches.is_empty()) {
            self.caches = Caches::F64(Vec::new());
        }
        let wanted = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let host = |x: &Tensor| x.to_device(&Device::Cpu)?.to_dtype(wanted);
        let (q, k, v) = (host(&projected.q)?, host(&projected.k)?, host(&projected.v)?);
        let Self { geometry, score, policy, caches, evicted_at } = self;
        let chunk = Chunk { rows, geometry: *geometry, score, policy, cancel };
        let context = match caches {
            Caches::F32(caches) => chunk.run(caches, evicted_at, &q, &k, &v)?,
            Caches::F64(caches) => chunk.run(caches, evicted_at, &q, &k, &v)?,
        };
        Ok(context.to_dtype(dtype)?.to_device(&device)?)
    }
}

/// Keys `0…rows` of the full run with the attention that those rows gave them, over the group's heads.
fn shared_keys(
    capture: &Capture,
    geometry: Geometry,
    layer: usize,
    kv_head: usize,
    rows: usize,
) -> RetainedKeys<f32> {
    let Geometry { kv_heads, head_dim, .. } = geometry;
    let group = geometry.group();
    let mut sums = vec![0.0_f64; rows];
    for head in kv_head * group..(kv_head + 1) * group {
        let head_sums = capture.head_column_sums(layer, head, rows, 0).0;
        sums.iter_mut().zip(head_sums).for_each(|(sum, more)| *sum += more);
    }
    let captured = &capture.layers[layer];
    let mut keys = RetainedKeys::new(head_dim);
    for (key, sum) in sums.into_iter().enumerate() {
        let at = (key * kv_heads + kv_head) * head_dim;
        keys.push(key, &captured.k[at..at + head_dim], &captured.v[at..at + head_dim], sum);
    }
    keys
}

/// A chunk of rows for one layer.
struct Chunk<'a> {
    rows: Range<usize>,
    geometry: Geometry,
    score: &'a ScoreRule,
    policy: &'a AttentionPolicy,
    cancel: &'a CancelToken,
}

impl Chunk<'_> {
    fn run<T: Real + WithDType>(
        &self,
        caches: &mut Vec<RetainedKeys<T>>,
        evicted_at: &mut [Vec<u32>],
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
    ) -> Result<Tensor> {
        let Geometry { heads, kv_heads, head_dim } = self.geometry;
        if caches.is_empty() {
            caches.resize_with(kv_heads, || RetainedKeys::new(head_dim));
        }
        // `[kv_heads, rows, group · head_dim]`: one KV head's context is one slice.
        let width = self.geometry.group() * head_dim;
        let mut context = vec![<T as Default>::default(); kv_heads * self.rows.len() * width];
        with_slice(q, |q: &[T]| {
            with_slice(k, |k: &[T]| {
                with_slice(v, |v: &[T]| {
                    let inputs = Inputs { q, k, v };
                    if self.policy.sums_per_kv_head() {
                        self.each_kv_head(caches, evicted_at, &inputs, &mut context)
                    } else {
                        self.each_row(caches, evicted_at, &inputs, &mut context)
                    }
                })
            })
        })?;
        let context = Tensor::from_vec(context, (kv_heads, self.rows.len(), width), &Device::Cpu)?;
        Ok(context.transpose(0, 1)?.contiguous()?.reshape((self.rows.len(), heads * head_dim))?)
    }

    /// H2O and lowest attention: the heads know nothing of each other.
    fn each_kv_head<T: Real>(
        &self,
        caches: &mut [RetainedKeys<T>],
        evicted_at: &mut [Vec<u32>],
        inputs: &Inputs<'_, T>,
        context: &mut [T],
    ) -> Result<()> {
        let width = self.geometry.group() * self.geometry.head_dim;
        let heads =
            caches.par_iter_mut().zip(evicted_at).zip(context.par_chunks_mut(self.rows.len() * width));
        heads.enumerate().try_for_each(|(kv_head, ((cache, evicted_at), context))| {
            self.cancel.check()?;
            for (index, context) in context.chunks_exact_mut(width).enumerate() {
                let query = self.rows.start + index;
                inputs.step(self, cache, kv_head, index, context);
                let board = ScoreBoard { positions: cache.positions(), scores: cache.sums() };
                if let Some(place) = self.policy.victim(board, query) {
                    evicted_at[cache.positions()[place]] = query as u32;
                    cache.evict(place);
                }
            }
            Ok(())
        })
    }

    /// TOVA: the layer's heads decide together, row by row.
    fn each_row<T: Real>(
        &self,
        caches: &mut [RetainedKeys<T>],
        evicted_at: &mut [Vec<u32>],
        inputs: &Inputs<'_, T>,
        context: &mut [T],
    ) -> Result<()> {
        let width = self.geometry.group() * self.geometry.head_dim;
        let rows = self.rows.len();
        for (index, query) in self.rows.clone().enumerate() {
            self.cancel.check()?;
            let mut weights = Vec::new();
            for (kv_head, cache) in caches.iter_mut().enumerate() {
                let context = &mut context[(kv_head * rows + index) * width..][..width];
                let row = inputs.step(self, cache, kv_head, index, context);
                weights.resize(row.len(), 0.0);
                weights.iter_mut().zip(row).for_each(|(sum, weight): (&mut f64, _)| *sum += weight);
            }
            // All caches hold the same keys in the same order: they were filled and emptied together.
            let board = ScoreBoard { positions: caches[0].positions(), scores: &weights };
            if let Some(place) = self.policy.victim(board, query) {
                let key = caches[0].positions()[place];
                evicted_at.iter_mut().for_each(|evicted_at| evicted_at[key] = query as u32);
                caches.iter_mut().for_each(|cache| cache.evict(place));
            }
        }
        Ok(())
    }
}

/// The chunk's projections on the host.
struct Inputs<'a, T> {
    /// `[rows, heads, head_dim]`.
    q: &'a [T],
    /// `[rows, kv_heads, head_dim]`.
    k: &'a [T],
    /// `[rows, kv_heads, head_dim]`.
    v: &'a [T],
}

impl<T: Real> Inputs<'_, T> {
    /// Adds the row's own key and attends; returns the weights summed over the group.
    fn step(
        &self,
        chunk: &Chunk<'_>,
        cache: &mut RetainedKeys<T>,
        kv_head: usize,
        index: usize,
        context: &mut [T],
    ) -> Vec<f64> {
        let Geometry { heads, kv_heads, head_dim } = chunk.geometry;
        let at = (index * kv_heads + kv_head) * head_dim;
        let position = chunk.rows.start + index;
        cache.push(position, &self.k[at..at + head_dim], &self.v[at..at + head_dim], 0.0);
        let group = chunk.geometry.group();
        let q = (index * heads + kv_head * group) * head_dim;
        cache.attend(&self.q[q..q + group * head_dim], chunk.score, kv_head * group, position, context)
    }
}
