//! A small capture for the tests of this module.

use crate::capture::{Capture, Checks, LayerCapture};
use crate::model::spec::Dimensions;
use crate::model::tokenizer::{Token, TokenOrigin, TokenSequence};
use crate::model::{ModelInfo, ModelSpec};
use std::sync::Arc;

/// One layer of eight heads over `n` tokens; all scores are 0, so attention is uniform.
pub(super) fn capture(id: u64, n: usize) -> Arc<Capture> {
    const HEADS: usize = 8;
    const HEAD_DIM: usize = 2;
    let spec = ModelSpec {
        attention_scale: 1.0,
        ..ModelSpec::llama(
            "test",
            Dimensions {
                layers: 1,
                heads: HEADS,
                kv_heads: HEADS,
                head_dim: HEAD_DIM,
                hidden: HEADS * HEAD_DIM,
                mlp_hidden: 1,
                vocab: 1,
                context: n,
            },
        )
    };
    let model = ModelInfo {
        name: "test".to_owned(),
        parameters: spec.parameters(),
        spec,
        dtype: "f32".to_owned(),
        dtype_reason: String::new(),
        stored_as: "F32".to_owned(),
        device: "cpu".to_owned(),
        source: "test".to_owned(),
        sha256: String::new(),
        weight_bytes: 0,
        has_chat_template: false,
        warnings: Vec::new(),
        load_ms: 0.0,
    };
    let token = Token { id: 0, bytes: b"a".to_vec(), origin: TokenOrigin::Text };
    let tokens = TokenSequence { tokens: vec![token; n], ..TokenSequence::default() };
    let zeros = vec![0.0; n * HEADS * HEAD_DIM];
    let lse = (0..HEADS).flat_map(|_| (1..=n).map(|seen| (seen as f32).ln())).collect();
    let layer = LayerCapture { q: zeros.clone(), k: zeros.clone(), v: zeros, lse, ..LayerCapture::default() };
    Arc::new(Capture {
        id,
        model: Arc::new(model),
        tokens: Arc::new(tokens),
        layers: vec![layer],
        nll_nats: Vec::new(),
        checks: Checks::default(),
        prefill_ms: 0.0,
    })
}
