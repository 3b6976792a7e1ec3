//! What this machine can do: the rate that the other figures are held against.

use crate::Result;
use candle_core::{Device, Tensor};
use std::time::Instant;

/// Rate of candle's f32 matrix product on all cores, in GFLOP/s: the best of many runs at the shape
/// of a small model's MLP.
pub(super) fn matrix_product_gflops() -> Result<f64> {
    const SHAPE: (usize, usize, usize) = (512, 576, 1536);
    const SECONDS: f64 = 1.0;
    let (m, k, n) = SHAPE;
    let a = Tensor::randn(0_f32, 1.0, (m, k), &Device::Cpu)?;
    let b = Tensor::randn(0_f32, 1.0, (n, k), &Device::Cpu)?.t()?;
    let operations = 2.0 * (m * k * n) as f64;
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < SECONDS {
        let one = Instant::now();
        std::hint::black_box(a.matmul(&b)?);
        best = best.min(one.elapsed().as_secs_f64());
    }
    Ok(operations / best / 1e9)
}
