//! Element-wise steps that candle would run on one thread, fused and in parallel on the CPU.

use crate::Result;
use crate::attention::{Real, vectorized, with_slice};
use candle_core::{DType, Device, Tensor, WithDType};
use rayon::prelude::*;

/// Rows that one task takes at least.
const ROWS_PER_TASK: usize = 8;

/// `silu(gate) · up` for `[n, 2 · width]` whose rows hold the gate, then the up projection.
pub(super) fn gated_silu(gate_up: &Tensor) -> Result<Tensor> {
    match (gate_up.device(), gate_up.dtype()) {
        (Device::Cpu, DType::F32) => gated_silu_on_cpu::<f32>(gate_up),
        (Device::Cpu, DType::F64) => gated_silu_on_cpu::<f64>(gate_up),
        _ => gated_silu_with_candle_ops(gate_up),
    }
}

fn gated_silu_with_candle_ops(gate_up: &Tensor) -> Result<Tensor> {
    let width = gate_up.dim(1)? / 2;
    let (gate, up) = (gate_up.narrow(1, 0, width)?, gate_up.narrow(1, width, width)?);
    Ok((gate.silu()? * up)?)
}

fn gated_silu_on_cpu<T: Real + WithDType>(gate_up: &Tensor) -> Result<Tensor> {
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
                            gate_row(out, gate_up);
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
fn gate_row<T: Real>(out: &mut [T], gate_up: &[T]) {
    let (gate, up) = gate_up.split_at(out.len());
    for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
        // 1 / (1 + e^−g) through e^−|g|, which can't overflow.
        let e = (-gate.abs()).exp_nonpositive();
        let numerator = if gate < T::zero() { e } else { T::one() };
        *out = gate * up * numerator / (T::one() + e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_gate_equals_candle_ops() {
        let gate_up = Tensor::randn(0_f32, 20.0, (37, 46), &Device::Cpu).expect("random");
        let fused = gated_silu(&gate_up).expect("fused");
        let reference = gated_silu_with_candle_ops(&gate_up).expect("candle");
        let difference = (fused - &reference).and_then(|d| (d / (reference.abs()? + 1.0)?)?.abs()?.max_all());
        assert!(difference.and_then(|d| d.to_scalar::<f32>()).expect("a number") < 1e-6);
    }
}
