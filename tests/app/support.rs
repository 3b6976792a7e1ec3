//! Stand-ins for the window's surroundings: a scripted engine, dialogs that answer, a synthetic capture.

use sinkscope::app::dialogs::FileDialogs;
use sinkscope::app::engine_handle::EngineHandle;
use sinkscope::app::{PickKind, Picked};
use sinkscope::capture::{Capture, Checks, LayerCapture};
use sinkscope::engine::{Event, Job, JobId, MemoryPlan};
use sinkscope::model::spec::Dimensions;
use sinkscope::model::tokenizer::{Token, TokenOrigin, TokenSequence};
use sinkscope::model::{ModelInfo, ModelSpec};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What the scripted engine was told and has to say.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) jobs: Vec<Job>,
    pub(crate) cancelled: usize,
    pub(crate) events: VecDeque<(JobId, Event)>,
}

/// An engine that does as the test says.
#[derive(Clone, Default)]
pub(crate) struct ScriptedEngine(pub(crate) Rc<RefCell<Script>>);

impl ScriptedEngine {
    /// Says something about the latest job.
    pub(crate) fn say(&self, event: Event) {
        let id = JobId(self.0.borrow().jobs.len() as u64);
        self.say_of(id, event);
    }

    /// Says something about some job.
    pub(crate) fn say_of(&self, id: JobId, event: Event) {
        self.0.borrow_mut().events.push_back((id, event));
    }

    /// The latest job.
    pub(crate) fn last_job(&self) -> Option<Job> {
        self.0.borrow().jobs.last().cloned()
    }

    /// Number of jobs so far.
    pub(crate) fn jobs(&self) -> usize {
        self.0.borrow().jobs.len()
    }
}

impl EngineHandle for ScriptedEngine {
    fn submit(&mut self, job: Job) -> JobId {
        let mut script = self.0.borrow_mut();
        script.jobs.push(job);
        JobId(script.jobs.len() as u64)
    }

    fn cancel(&mut self) {
        self.0.borrow_mut().cancelled += 1;
    }

    fn try_recv(&mut self) -> Option<(JobId, Event)> {
        self.0.borrow_mut().events.pop_front()
    }
}

/// Dialogs that give one answer to every question.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) answer: Rc<RefCell<Picked>>,
    pub(crate) asked: Rc<RefCell<Vec<PickKind>>>,
    pub(crate) pending: Rc<RefCell<VecDeque<PickKind>>>,
}

impl Answering {
    pub(crate) fn new(answer: Picked) -> Self {
        Self { answer: Rc::new(RefCell::new(answer)), asked: Rc::default(), pending: Rc::default() }
    }
}

impl FileDialogs for Answering {
    fn ask(&mut self, kind: PickKind) {
        self.asked.borrow_mut().push(kind);
        self.pending.borrow_mut().push_back(kind);
    }

    fn poll(&mut self) -> Option<(PickKind, Picked)> {
        let kind = self.pending.borrow_mut().pop_front()?;
        Some((kind, self.answer.borrow().clone()))
    }
}

/// A model card for a synthetic capture.
pub(crate) fn model(layers: usize, heads: usize, head_dim: usize) -> Arc<ModelInfo> {
    let spec = ModelSpec {
        tied_embeddings: true,
        ..ModelSpec::llama(
            "llama",
            Dimensions {
                layers,
                heads,
                kv_heads: heads,
                head_dim,
                hidden: heads * head_dim,
                mlp_hidden: 4 * heads * head_dim,
                vocab: 320,
                context: 2048,
            },
        )
    };
    Arc::new(ModelInfo {
        name: "Synthetic-Instruct".into(),
        parameters: spec.parameters(),
        spec,
        dtype: "f32".into(),
        dtype_reason: String::new(),
        stored_as: "Q4_1".into(),
        device: "cpu".into(),
        source: "path:synthetic.gguf".into(),
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53".into(),
        weight_bytes: 538 << 20,
        has_chat_template: true,
        warnings: Vec::new(),
        load_ms: 812.0,
    })
}

/// Tokens of a text, split before spaces and around newlines; `<|…|>` are special.
pub(crate) fn tokens(text: &str) -> Arc<TokenSequence> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = if rest.starts_with("<|") {
            rest.find("|>").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('\n') {
            1
        } else {
            let skip = usize::from(rest.starts_with(' '));
            rest[skip..].find([' ', '\n', '<', '.', ',']).map_or(rest.len(), |end| (end + skip).max(1))
        };
        let (piece, tail) = rest.split_at(length);
        let origin = if piece.starts_with("<|") { TokenOrigin::Special } else { TokenOrigin::Text };
        let id = if origin == TokenOrigin::Special { 1 } else { 8 + piece.len() as u32 };
        tokens.push(Token { id, bytes: piece.as_bytes().to_vec(), origin });
        rest = tail;
    }
    Arc::new(TokenSequence { tokens, bos_id: Some(1), warnings: Vec::new() })
}

pub(crate) const CHAT: &str = "<|im_start|>system\nYou are a careful assistant that answers briefly.<|im_end|>\n<|im_start|>user\nExplain why the sky is blue in two sentences.<|im_end|>\n<|im_start|>assistant\nThe sky looks blue because air molecules scatter short wavelengths of sunlight more strongly than long ones. This is called Rayleigh scattering.<|im_end|>\n<|im_start|>user\nAnd why are sunsets red?<|im_end|>\n<|im_start|>assistant\nAt sunset the light crosses far more air, so most of the blue has been scattered away before it reaches you and the red is what remains.<|im_end|>\n<|im_start|>user\nDoes the same happen on Mars?<|im_end|>\n<|im_start|>assistant\nOn Mars fine dust scatters red light widely and blue light forward, so the daytime sky is butterscotch and the sunsets are blue.<|im_end|>\n";

/// A generator of numbers in −1…1, the same on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32) / ((1_u64 << 23) as f32) - 1.0
    }
}

/// A capture of random queries and keys, with sinks planted at `sinks`.
pub(crate) fn capture(
    id: u64,
    model: &Arc<ModelInfo>,
    tokens: &Arc<TokenSequence>,
    sinks: &[(usize, f32)],
) -> Arc<Capture> {
    let mut noise = Noise(0x5eed ^ id);
    let layers =
        (0..model.spec.layers).map(|layer| layer_capture(model, tokens.len(), layer, sinks, &mut noise));
    Arc::new(Capture {
        id,
        model: Arc::clone(model),
        tokens: Arc::clone(tokens),
        layers: layers.collect(),
        nll_nats: (1..tokens.len()).map(|i| 2.0 + ((i * 37) % 17) as f32 / 8.0).collect(),
        checks: Checks { max_row_sum_error: 3.2e-7, ..Checks::default() },
        prefill_ms: 412.0,
    })
}

fn layer_capture(
    model: &ModelInfo,
    n: usize,
    layer: usize,
    sinks: &[(usize, f32)],
    noise: &mut Noise,
) -> LayerCapture {
    let (heads, dim) = (model.spec.heads, model.spec.head_dim);
    let mut q: Vec<f32> = (0..n * heads * dim).map(|_| 1.6 * noise.next()).collect();
    let mut k: Vec<f32> = (0..n * heads * dim).map(|_| 1.6 * noise.next()).collect();
    let depth = ((layer as f32) / 4.0).min(1.0);
    // Tokens differ in how much they attract, the same in every head, as real ones do.
    let mut appeal = Noise(0xa11);
    let appeal: Vec<f32> = (0..n).map(|_| 1.8 * appeal.next()).collect();
    for head in 0..heads {
        let strength = depth * (1.0 + 0.4 * noise.next());
        for t in 0..n {
            q[(t * heads + head) * dim] = 2.0;
            k[(t * heads + head) * dim] = appeal[t];
        }
        for &(sink, gain) in sinks.iter().filter(|(sink, _)| *sink < n) {
            k[(sink * heads + head) * dim] = gain * strength;
        }
    }
    let mut out = LayerCapture {
        score: model.spec.score_rule(layer),
        lse: vec![0.0; heads * n],
        column_sums: vec![0.0; heads * n],
        far_column_sums: vec![0.0; heads * n],
        row_entropy_nats: vec![0.0; heads * n],
        ..LayerCapture::default()
    };
    for head in 0..heads {
        for t in 0..n {
            observe_row(model, &q, &k, n, head, t, &mut out);
        }
    }
    let is_sink = |j: usize| sinks.iter().any(|(sink, _)| *sink == j);
    out.hidden_norm =
        (0..n).map(|j| if is_sink(j) && layer > 2 { 900.0 } else { 30.0 + 4.0 * noise.next() }).collect();
    out.hidden_max_abs = out.hidden_norm.iter().map(|norm| norm * 0.8).collect();
    out.key_norm = (0..heads * n).map(|i| if is_sink(i % n) { 3.0 } else { 9.0 + noise.next() }).collect();
    out.value_norm =
        (0..heads * n).map(|i| if is_sink(i % n) { 0.2 } else { 2.0 + 0.3 * noise.next() }).collect();
    out.v = vec![0.0; n * heads * dim];
    (out.q, out.k) = (q, k);
    out
}

fn observe_row(
    model: &ModelInfo,
    q: &[f32],
    k: &[f32],
    n: usize,
    head: usize,
    t: usize,
    out: &mut LayerCapture,
) {
    let (heads, dim) = (model.spec.heads, model.spec.head_dim);
    let scale = model.spec.attention_scale as f32;
    let row = |values: &'_ [f32], t: usize| values[(t * heads + head) * dim..][..dim].to_vec();
    let query = row(q, t);
    let scores: Vec<f32> =
        (0..=t).map(|j| row(k, j).iter().zip(&query).map(|(a, b)| a * b).sum::<f32>() * scale).collect();
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let lse = most + scores.iter().map(|s| (s - most).exp()).sum::<f32>().ln();
    out.lse[head * n + t] = lse;
    for (j, score) in scores.iter().enumerate() {
        let weight = (score - lse).exp();
        out.column_sums[head * n + j] += weight;
        if t >= j + 16 {
            out.far_column_sums[head * n + j] += weight;
        }
        out.row_entropy_nats[head * n + t] -= weight * weight.max(1e-30).ln();
    }
}

/// A memory plan of plausible size.
pub(crate) fn plan() -> MemoryPlan {
    MemoryPlan {
        weight_bytes: 538 << 20,
        capture_bytes: 18 << 20,
        scratch_bytes: 42 << 20,
        available_bytes: 6 << 30,
    }
}
