//! All numbers of a run and its analysis.

use crate::analysis::{Analysis, ProfileKind, Sink, TokenClass, VirtualKey};
use crate::capture::{Capture, Checks, peak_rss_bytes};
use serde::Serialize;

/// What `analyze --json` writes. Absent numbers (n/a) are null.
#[derive(Debug, Serialize)]
pub struct AnalysisReport<'a> {
    model: ModelReport<'a>,
    tokens: Vec<TokenReport>,
    warnings: &'a [String],
    profiles: Profiles<'a>,
    detector: DetectorReport,
    z: &'a [Option<f64>],
    sinks: &'a [Sink],
    sink_rate_03: &'a [f64],
    virtual_key: Option<VirtualReport<'a>>,
    nll: &'a [f32],
    perplexity: Option<f64>,
    checks: Checks,
    timing_ms: Timing,
    memory: Memory,
}

#[derive(Debug, Serialize)]
struct ModelReport<'a> {
    name: &'a str,
    architecture: &'a str,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    vocab: usize,
    parameters: u64,
    weight_bytes: u64,
    dtype: &'a str,
    dtype_reason: &'a str,
    stored_as: &'a str,
    device: &'a str,
    source: &'a str,
    sha256: &'a str,
    /// What the model's files say that was ignored, or leave out that was assumed.
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct TokenReport {
    index: usize,
    id: u32,
    text: String,
    class: TokenClass,
}

#[derive(Debug, Serialize)]
struct Profiles<'a> {
    share: &'a [Option<f64>],
    alpha: &'a [Option<f64>],
    lift: &'a [Option<f64>],
    far_lift: &'a [Option<f64>],
}

#[derive(Debug, Serialize)]
struct DetectorReport {
    profile: ProfileKind,
    threshold: f64,
    median_ln: f64,
    mad_ln: f64,
    sigma_ln: f64,
    line: f64,
    floored: usize,
    tested: bool,
}

/// The model's virtual key: at no position, never evicted, not in z.
#[derive(Debug, Serialize)]
struct VirtualReport<'a> {
    class: TokenClass,
    #[serde(flatten)]
    mass: &'a VirtualKey,
}

#[derive(Debug, Serialize)]
struct Timing {
    load: f64,
    prefill: f64,
    analysis: f64,
}

#[derive(Debug, Serialize)]
struct Memory {
    peak_rss_bytes: u64,
    capture_bytes: u64,
}

impl<'a> AnalysisReport<'a> {
    /// The report of a capture and its analysis.
    #[must_use]
    pub fn new(capture: &'a Capture, analysis: &'a Analysis, analysis_ms: f64) -> Self {
        let (model, detection) = (&capture.model, &analysis.detection);
        let tokens = capture.tokens.tokens.iter().zip(&analysis.classes).enumerate();
        Self {
            model: ModelReport {
                name: &model.name,
                architecture: &model.spec.architecture,
                layers: model.spec.layers,
                heads: model.spec.heads,
                kv_heads: model.spec.kv_heads,
                head_dim: model.spec.head_dim,
                vocab: model.spec.vocab,
                parameters: model.parameters,
                weight_bytes: model.weight_bytes,
                dtype: &model.dtype,
                dtype_reason: &model.dtype_reason,
                stored_as: &model.stored_as,
                device: &model.device,
                source: &model.source,
                sha256: &model.sha256,
                warnings: &model.warnings,
            },
            tokens: tokens
                .map(|(index, (token, &class))| TokenReport {
                    index,
                    id: token.id,
                    text: token.text(),
                    class,
                })
                .collect(),
            warnings: &capture.tokens.warnings,
            profiles: Profiles {
                share: &analysis.share,
                alpha: &analysis.alpha,
                lift: &analysis.lift,
                far_lift: &analysis.far_lift,
            },
            detector: DetectorReport {
                profile: analysis.options.profile,
                threshold: detection.threshold,
                median_ln: detection.median_ln,
                mad_ln: detection.mad_ln,
                sigma_ln: detection.sigma_ln,
                line: detection.line,
                floored: detection.floored,
                tested: detection.tested,
            },
            z: &detection.z,
            sinks: &analysis.sinks,
            sink_rate_03: &analysis.sink_rate,
            virtual_key: analysis
                .virtual_key
                .as_ref()
                .map(|mass| VirtualReport { class: TokenClass::Virtual, mass }),
            nll: &capture.nll_nats,
            perplexity: capture.perplexity(),
            checks: capture.checks,
            timing_ms: Timing { load: model.load_ms, prefill: capture.prefill_ms, analysis: analysis_ms },
            memory: Memory { peak_rss_bytes: peak_rss_bytes(), capture_bytes: capture.bytes() },
        }
    }
}
