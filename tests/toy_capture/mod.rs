//! A small capture whose attention is set weight by weight.

use sinkscope::analysis::FAR_DELTA;
use sinkscope::attention::ScoreRule;
use sinkscope::capture::{Capture, Checks, LayerCapture};
use sinkscope::model::spec::Dimensions;
use sinkscope::model::tokenizer::{Token, TokenOrigin, TokenSequence};
use sinkscope::model::{ModelInfo, ModelSpec};
use std::sync::Arc;

/// A capture with two layers of three heads whose scores are what `score(layer, head, query, key)` says:
/// keys are unit vectors, so that a query's components are its scores.
pub fn capture(n: usize, score: impl Fn(usize, usize, usize, usize) -> f32) -> Capture {
    let (layers, heads) = (2, 3);
    let words = ["<|im_start|>", "user", "\n", " the", " sky", " <b>&", ".", "é", "  ", " blue"];
    let token = |index: usize| Token {
        id: index as u32,
        bytes: words[index % words.len()].as_bytes().to_vec(),
        origin: if index == 0 { TokenOrigin::Special } else { TokenOrigin::Text },
    };
    let tokens = TokenSequence { tokens: (0..n).map(token).collect(), bos_id: Some(0), warnings: Vec::new() };
    Capture {
        id: 1,
        model: Arc::new(model(n, layers, heads)),
        tokens: Arc::new(tokens),
        layers: (0..layers).map(|layer| layer_capture(n, heads, |h, t, j| score(layer, h, t, j))).collect(),
        nll_nats: vec![1.0; n.saturating_sub(1)],
        checks: Checks::default(),
        prefill_ms: 1.0,
    }
}

fn layer_capture(n: usize, heads: usize, score: impl Fn(usize, usize, usize) -> f32) -> LayerCapture {
    let mut layer = LayerCapture {
        score: ScoreRule::default(),
        q: vec![0.0; n * heads * n],
        k: vec![0.0; n * n],
        v: vec![0.0; n * n],
        lse: vec![0.0; heads * n],
        column_sums: vec![0.0; heads * n],
        far_column_sums: vec![0.0; heads * n],
        row_entropy_nats: vec![0.0; heads * n],
        hidden_norm: vec![1.0; n],
        hidden_max_abs: vec![1.0; n],
        key_norm: vec![1.0; n],
        value_norm: vec![1.0; n],
    };
    for key in 0..n {
        layer.k[key * n + key] = 1.0;
    }
    for head in 0..heads {
        for query in 0..n {
            let scores: Vec<f32> = (0..=query).map(|key| score(head, query, key)).collect();
            let lse = scores.iter().map(|&score| f64::from(score).exp()).sum::<f64>().ln() as f32;
            layer.lse[head * n + query] = lse;
            for (key, score) in scores.into_iter().enumerate() {
                layer.q[(query * heads + head) * n + key] = score;
                let weight = (score - lse).exp();
                layer.column_sums[head * n + key] += weight;
                if query >= key + FAR_DELTA {
                    layer.far_column_sums[head * n + key] += weight;
                }
            }
        }
    }
    layer
}

fn model(n: usize, layers: usize, heads: usize) -> ModelInfo {
    let spec = ModelSpec {
        attention_scale: 1.0,
        ..ModelSpec::llama(
            "llama",
            Dimensions {
                layers,
                heads,
                kv_heads: 1,
                head_dim: n,
                hidden: n,
                mlp_hidden: n,
                vocab: n,
                context: 2048,
            },
        )
    };
    ModelInfo {
        name: "Toy-1M".to_owned(),
        parameters: spec.parameters(),
        spec,
        dtype: "f32".to_owned(),
        dtype_reason: String::new(),
        stored_as: "F32".to_owned(),
        device: "cpu".to_owned(),
        source: "path:toy".to_owned(),
        sha256: String::new(),
        weight_bytes: 0,
        has_chat_template: false,
        warnings: Vec::new(),
        load_ms: 0.0,
    }
}
