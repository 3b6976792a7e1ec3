//! Captures made up of random queries and keys.

use sinkscope::capture::{Capture, Checks, LayerCapture};
use sinkscope::model::spec::Dimensions;
use sinkscope::model::tokenizer::{Token, TokenOrigin, TokenSequence};
use sinkscope::model::{ModelInfo, ModelSpec};
use std::sync::Arc;

/// Random queries and keys, with a key 0 that every query likes: a sink.
pub(crate) fn capture(layers: usize, heads: usize, n: usize, seed: u64) -> Capture {
    const HEAD_DIM: usize = 8;
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let spec = ModelSpec {
        attention_scale: 1.0,
        ..ModelSpec::llama(
            "synthetic",
            Dimensions {
                layers,
                heads,
                kv_heads: heads,
                head_dim: HEAD_DIM,
                hidden: heads * HEAD_DIM,
                mlp_hidden: 1,
                vocab: n,
                context: n,
            },
        )
    };
    let layers = (0..layers).map(|_| layer(n, heads, HEAD_DIM, &mut random)).collect();
    let tokens =
        (0..n as u32).map(|id| Token { id, bytes: format!("t{id}").into_bytes(), origin: TokenOrigin::Text });
    Capture {
        id: seed << 32 | n as u64,
        model: Arc::new(ModelInfo {
            name: "synthetic".to_owned(),
            parameters: spec.parameters(),
            spec,
            dtype: "f32".to_owned(),
            dtype_reason: String::new(),
            stored_as: "F32".to_owned(),
            device: "cpu".to_owned(),
            source: "synthetic".to_owned(),
            sha256: String::new(),
            weight_bytes: 0,
            has_chat_template: false,
            warnings: Vec::new(),
            load_ms: 0.0,
        }),
        tokens: Arc::new(TokenSequence { tokens: tokens.collect(), ..TokenSequence::default() }),
        layers,
        nll_nats: vec![1.0; n.saturating_sub(1)],
        checks: Checks::default(),
        prefill_ms: 0.0,
    }
}

/// Makes one query give nearly all its attention to one key.
pub(crate) fn plant(capture: &mut Capture, query: usize, key: usize) {
    let dim = capture.model.spec.head_dim;
    assert_eq!(capture.model.spec.heads, 1, "one head only");
    let layer = &mut capture.layers[0];
    let heavy: Vec<f32> = layer.k[key * dim..][..dim].iter().map(|x| x * 60.0).collect();
    layer.q[query * dim..][..dim].copy_from_slice(&heavy);
    let score = |key: usize| heavy.iter().zip(&layer.k[key * dim..][..dim]).map(|(a, b)| a * b).sum::<f32>();
    layer.lse[query] = log_sum_exp(&(0..=query).map(score).collect::<Vec<_>>());
}

fn log_sum_exp(scores: &[f32]) -> f32 {
    let max = scores.iter().copied().fold(f32::MIN, f32::max);
    max + scores.iter().map(|score| (score - max).exp()).sum::<f32>().ln()
}

fn layer(n: usize, heads: usize, head_dim: usize, random: &mut Random) -> LayerCapture {
    let size = n * heads * head_dim;
    let mut q: Vec<f32> = (0..size).map(|_| random.next() * 2.0).collect();
    let mut k: Vec<f32> = (0..size).map(|_| random.next() * 2.0).collect();
    // All queries share a direction that only key 0 has: it gets about half of the last row's attention.
    q.iter_mut().step_by(head_dim).for_each(|value| *value = 2.0);
    k.iter_mut().step_by(head_dim).for_each(|value| *value = 0.0);
    k.iter_mut().step_by(head_dim).take(heads).for_each(|value| *value = (n as f32).ln() / 2.0 + 0.3);
    let (mut lse, mut column_sums) = (vec![0.0; heads * n], vec![0.0; heads * n]);
    for head in 0..heads {
        for query in 0..n {
            let row = |position: usize| {
                (position * heads + head) * head_dim..(position * heads + head + 1) * head_dim
            };
            let score = |key: usize| q[row(query)].iter().zip(&k[row(key)]).map(|(a, b)| a * b).sum();
            let scores: Vec<f32> = (0..=query).map(score).collect();
            lse[head * n + query] = log_sum_exp(&scores);
            for (key, score) in scores.iter().enumerate() {
                column_sums[head * n + key] += (score - lse[head * n + query]).exp();
            }
        }
    }
    LayerCapture { v: vec![0.0; size], q, k, lse, column_sums, ..LayerCapture::default() }
}

struct Random(u64);

impl Random {
    /// Uniform in −0.5…0.5 (xorshift).
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }
}
