//! The kernel over candle tensors: slices on the CPU, candle ops elsewhere.
//!
//! This is no `CustomOp`: one of those returns a single tensor and can't be cancelled half way,
//! while the kernel also returns statistics and looks at the cancel token between blocks.

use super::device::attend_with_candle_ops;
use super::steps::slice_type;
use super::{
    AttentionInput, ColumnSums, Geometry, Observer, Real, RowChecks, ScoreRule, SlotRotation, Slots,
    VisibilityRule, attend_slices,
};
use crate::Result;
use crate::capture::Checks;
use crate::model::decoder::RotaryTable;
use crate::progress::CancelToken;
use candle_core::{CpuStorage, DType, Device, Storage, Tensor, WithDType};

/// One call of the kernel.
#[derive(Clone, Copy)]
pub struct AttentionCall<'a> {
    /// Rotated queries `[queries, heads, head_dim]`.
    pub q: &'a Tensor,
    /// Rotated keys `[keys, kv_heads, head_dim]`.
    pub k: &'a Tensor,
    /// Values `[keys, kv_heads, head_dim]`.
    pub v: &'a Tensor,
    /// Head counts and width.
    pub geometry: Geometry,
    /// From `q · k` to a score.
    pub score: &'a ScoreRule,
    /// Which keys a query sees.
    pub rule: &'a dyn VisibilityRule,
    /// Position of the first query.
    pub first_query: usize,
    /// Number of the layer, to name the place of a NaN.
    pub layer: usize,
    /// What a key's position is counted in.
    pub positions: KeyPositions<'a>,
}

/// What a key's position is counted in.
#[derive(Debug, Clone, Copy)]
pub enum KeyPositions<'a> {
    /// Its place in the text.
    Text,
    /// Its slot in the cache: gaps close up.
    Slots {
        /// The layer's rotary embedding, where it has one.
        rotation: Option<&'a RotaryTable>,
    },
}

/// What the weights of one layer added up to, on the host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// Log-sum-exp of each row, `[heads, queries]`.
    pub lse: Vec<f32>,
    /// Entropy of each row in nats, `[heads, queries]`.
    pub entropy_nats: Vec<f32>,
    /// `Σ_{t ≥ j} A[t, j]`, `[heads, keys]`.
    pub column_sums: Vec<f32>,
    /// `Σ_{t ≥ j + Δ} A[t, j]`, `[heads, keys]`.
    pub far_column_sums: Vec<f32>,
    /// Row sums, leak, NaN.
    pub checks: Checks,
}

/// Attention's result.
#[derive(Debug)]
pub struct Attended {
    /// Weights · values, `[queries, heads · head_dim]`.
    pub context: Tensor,
    /// What was observed; `None` when nothing was asked for.
    pub statistics: Option<Statistics>,
}

/// Runs the kernel on the device that holds the tensors. With `observe_far_delta` every weight is
/// observed and the statistics are returned; without it the same steps run unobserved.
///
/// # Errors
/// A cancelled token, or a failure of the device.
pub fn attend(
    call: &AttentionCall<'_>,
    observe_far_delta: Option<usize>,
    cancel: &CancelToken,
) -> Result<Attended> {
    match slice_type(call.q) {
        Some(DType::F32) => attend_on_cpu::<f32>(call, observe_far_delta, cancel),
        Some(DType::F64) => attend_on_cpu::<f64>(call, observe_far_delta, cancel),
        _ => attend_with_candle_ops(call, observe_far_delta, cancel),
    }
}

fn attend_on_cpu<T: Real + WithDType>(
    call: &AttentionCall<'_>,
    observe_far_delta: Option<usize>,
    cancel: &CancelToken,
) -> Result<Attended> {
    let (queries, heads, head_dim) = call.q.dims3()?;
    let keys = call.k.dim(0)?;
    let sums = observe_far_delta.map(|delta| ColumnSums::new(heads, keys, delta));
    let checks = observe_far_delta.map(|_| RowChecks::new(call.layer));
    let mut observers: Vec<&dyn Observer<T>> = Vec::new();
    observers.extend(sums.as_ref().map(|o| o as &dyn Observer<T>));
    observers.extend(checks.as_ref().map(|o| o as &dyn Observer<T>));

    let (context, rows) = with_slice(call.q, |q| {
        with_slice(call.k, |k| {
            with_slice(call.v, |v| {
                let AttentionCall { geometry, score, first_query, .. } = *call;
                let input = AttentionInput { q, k, v, geometry, score, first_query, slots: None };
                let run =
                    |input: &AttentionInput<'_, T>| Ok(attend_slices(input, call.rule, &observers, cancel)?);
                match call.positions {
                    KeyPositions::Text => run(&input),
                    KeyPositions::Slots { rotation: None } => {
                        run(&AttentionInput { slots: Some(Slots { rotation: None }), ..input })
                    }
                    KeyPositions::Slots { rotation: Some(table) } => with_slice(table.cos(), |cos| {
                        with_slice(table.sin(), |sin| {
                            let rotation = Some(SlotRotation { cos, sin, pairs: table.pairs() });
                            run(&AttentionInput { slots: Some(Slots { rotation }), ..input })
                        })
                    }),
                }
            })
        })
    })?;
    let narrow = |values: Vec<T>| values.into_iter().map(|x| x.wide() as f32).collect::<Vec<_>>();
    let statistics = sums.zip(checks).map(|(sums, checks)| {
        let (column_sums, far_column_sums) = sums.into_sums();
        let (lse, entropy_nats) = (narrow(rows.lse), narrow(rows.entropy_nats));
        Statistics { lse, entropy_nats, column_sums, far_column_sums, checks: checks.into_checks() }
    });
    let context = Tensor::from_vec(context, (queries, heads * head_dim), &Device::Cpu)?;
    Ok(Attended { context, statistics })
}

/// Lends the elements of a CPU tensor, row-major.
pub(crate) fn with_slice<T: WithDType, R>(
    tensor: &Tensor,
    work: impl FnOnce(&[T]) -> Result<R>,
) -> Result<R> {
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else {
        return Err(candle_core::Error::Msg("a CPU tensor was expected".to_owned()).into());
    };
    let elements: &[T] = CpuStorage::as_slice(storage)?;
    let start = layout.start_offset();
    work(&elements[start..start + layout.shape().elem_count()])
}
