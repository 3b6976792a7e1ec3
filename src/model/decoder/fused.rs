//! Element-wise steps that candle would run on one thread, fused and in parallel on the CPU.

use crate::Result;
use crate::attention::{Real, slice_type, vectorized, with_slice};
use crate::model::spec::Activation;
use candle_core::{DType, Device, Tensor, WithDType};
use rayon::prelude::*;

/// Rows that one task takes at least.
const ROWS_PER_TASK: usize = 8;

/// `act(gate) · up` for `[n, 2 · width]` whose rows hold the gate, then the up projection.
pub(super) fn gated(activation: Activation, gate_up: &Tensor) -> Result<Tensor> {
    match slice_type(gate_up) {
        Some(DType::F32) => gated_on_cpu::<f32>(activation, gate_up),
        Some(DType::F64) => gated_on_cpu::<f64>(activation, gate_up),
        _ => gated_with_candle_ops(activation, gate_up),
    }
}

/// `act(x)`, without a gate.
pub(super) fn activate(activation: Activation, x: &Tensor) -> Result<Tensor> {
    Ok(match activation {
        Activation::Silu => x.silu()?,
        Activation::Gelu => x.gelu_erf()?,
        Activation::GeluTanh => x.gelu()?,
        Activation::Relu => x.relu()?,
    })
}

fn gated_with_candle_ops(activation: Activation, gate_up: &Tensor) -> Result<Tensor> {
    let width = gate_up.dim(1)? / 2;
    let (gate, up) = (gate_up.narrow(1, 0, width)?, gate_up.narrow(1, width, width)?);
    Ok((activate(activation, &gate)? * up)?)
}

fn gated_on_cpu<T: Real + WithDType>(activation: Activation, gate_up: &Tensor) -> Result<Tensor> {
    match activation {
        Activation::Silu => fused_gate(gate_up, |gate: T| gate),
        Activation::GeluTanh => {
            // ½ (1 + tanh z) = σ(2z).
            let (factor, cubic) = (T::of(2.0 * (2.0 / std::f64::consts::PI).sqrt()), T::of(0.044_715));
            fused_gate(gate_up, move |gate: T| factor * (gate + cubic * gate * gate * gate))
        }
        Activation::Gelu | Activation::Relu => gated_with_candle_ops(activation, gate_up),
    }
}

/// `gate · σ(inner(gate)) · up`.
fn fused_gate<T: Real + WithDType>(gate_up: &Tensor, inner: impl Fn(T) -> T + Sync + Copy) -> Result<Tensor> {
    let (n, both) = gate_up.dims2()?;
    let width = both / 2;
    let mut out = vec![<T as Default>::default(); n * width];
    with_slice(gate_up, |gate_up: &[T]| {
        out.par_chunks_mut(width * ROWS_PER_TASK).zip(gate_up.par_chunks(both * ROWS_PER_TASK)).for_each(
            |(out, gate_up)| {
                vectorized(
                    #[inline(always)]
                    || {
                        for (out, gate_up) in out.chunks_exact_mut(width).zip(gate_up.chunks_exact(both)) {
                            gate_row(out, gate_up, inner);
                        }
                    },
                );
            },
        );
        Ok(())
    })?;
    Ok(Tensor::from_vec(out, (n, width), &Device::Cpu)?)
}

#[inline(always)]
fn gate_row<T: Real>(out: &mut [T], gate_up: &[T], inner: impl Fn(T) -> T) {
    let (gate, up) = gate_up.split_at(out.len());
    for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
        let z = inner(gate);
        // 1 / (1 + e^−z) through e^−|z|, which can't overflow.
        let e = (-z.abs()).exp_nonpositive();
        let numerator = if z < T::zero() { e } else { T::one() };
        *out = gate * up * numerator / (T::one() + e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_gates_equal_candle_ops() {
        for activation in [Activation::Silu, Activation::GeluTanh] {
            let gate_up = Tensor::randn(0_f32, 20.0, (37, 46), &Device::Cpu).expect("random");
            let fused =
                gated(activation, &gate_up).and_then(|fused| Ok(fused.to_dtype(DType::F64)?)).expect("fused");
            // In f32 candle's 1 + tanh loses what is left of a negative gate.
            let wide = gate_up.to_dtype(DType::F64).expect("doubles");
            let reference = gated_with_candle_ops(activation, &wide).expect("candle");
            let difference =
                (fused - &reference).and_then(|d| (d / (reference.abs()? + 1.0)?)?.abs()?.max_all());
            let difference = difference.and_then(|d| d.to_scalar::<f64>()).expect("a number");
            assert!(difference < 1e-6, "{activation:?} {difference}");
        }
    }
}
