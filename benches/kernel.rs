//! The attention kernel alone, at the shape of SmolLM2-135M's layers: unobserved, observed, and the
//! candle-op form for devices, beside the machine's own matrix-product rate. `cargo bench --bench kernel`.

use candle_core::{Device, Tensor};
use sinkscope::analysis::FAR_DELTA;
use sinkscope::attention::{
    AttentionCall, Causal, Geometry, KeyPositions, LocalWindow, ScoreRule, VisibilityRule, attend,
    attend_with_candle_ops,
};
use sinkscope::progress::CancelToken;
use std::time::Instant;

const ROUNDS: usize = 5;

fn best_ms(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min)
}

fn random(shape: (usize, usize, usize)) -> Tensor {
    Tensor::randn(0_f32, 1.0, shape, &Device::Cpu).expect("a tensor")
}

fn main() {
    let geometry = Geometry { heads: 9, kv_heads: 3, head_dim: 64 };
    let score = ScoreRule::scaled(0.125);
    let cancel = CancelToken::new();
    let a = Tensor::randn(0_f32, 1.0, (512, 576), &Device::Cpu).expect("a tensor");
    let b = Tensor::randn(0_f32, 1.0, (1536, 576), &Device::Cpu).and_then(|b| b.t()).expect("a tensor");
    let product_ms = best_ms(|| drop(std::hint::black_box(a.matmul(&b))));
    let rate = 2.0 * 512.0 * 576.0 * 1536.0 / product_ms / 1e6;
    println!("matrix product: {rate:.0} GFLOP/s on {} threads", rayon::current_num_threads());

    for n in [512, 1024, 2048, 4096] {
        let (q, k, v) = (random((n, 9, 64)), random((n, 3, 64)), random((n, 3, 64)));
        let call = AttentionCall {
            q: &q,
            k: &k,
            v: &v,
            geometry,
            score: &score,
            rule: &Causal,
            first_query: 0,
            layer: 0,
            positions: KeyPositions::Text,
        };
        let run = |rule: &dyn VisibilityRule, observe| {
            best_ms(|| {
                let attended = attend(&AttentionCall { rule, ..call }, observe, &cancel);
                std::hint::black_box(attended.expect("it runs"));
            })
        };
        let plain_ms = run(&Causal, None);
        let observed_ms = run(&Causal, Some(FAR_DELTA));
        let window_ms = run(&LocalWindow { width: 128 }, None);
        let ops_ms = best_ms(|| {
            drop(std::hint::black_box(attend_with_candle_ops(&call, Some(FAR_DELTA), &cancel)));
        });
        let gflop = 4.0 * 576.0 * (n as f64 * (n as f64 + 1.0) / 2.0) / 1e9;
        println!(
            "n = {n}: plain {plain_ms:.1} ms ({:.0} GFLOP/s), observed {observed_ms:.1} ms (× {:.2}), \
             window of 128 {window_ms:.1} ms, candle ops {ops_ms:.1} ms (× {:.1})",
            gflop / plain_ms * 1e3,
            observed_ms / plain_ms,
            ops_ms / observed_ms,
        );
    }
}
