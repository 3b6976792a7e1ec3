//! What `analyze` writes: the JSON, and a table for the terminal.

use crate::analysis::{Analysis, ProfileKind, Sink, TokenClass, VirtualKey};
use crate::capture::{Capture, Checks, format_bytes, peak_rss_bytes};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// The JSON of `analyze`. Absent numbers (n/a) are null.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
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

impl<'a> Report<'a> {
    pub(super) fn new(capture: &'a Capture, analysis: &'a Analysis, analysis_ms: f64) -> Self {
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

/// Prints the sinks, the evidence for a short prompt, and the checks.
pub(super) fn print_summary(capture: &Capture, analysis: &Analysis) {
    let (model, n) = (&capture.model, capture.len());
    println!("{} · {} ({}) on {} · {}", model.name, model.dtype, model.stored_as, model.device, model.source);
    let perplexity = capture.perplexity().map_or("n/a".to_owned(), |ppl| format!("{ppl:.2}"));
    println!("{n} tokens · perplexity {perplexity} · prefill {:.0} ms", capture.prefill_ms);
    println!();
    if analysis.detection.tested {
        print_sinks(capture, analysis);
    } else {
        println!("Not tested: the detector needs 51 tokens. The evidence at hand:");
        let special = |&index: &usize| {
            index == 0 || matches!(analysis.classes[index], TokenClass::Bos | TokenClass::Structural)
        };
        print_tokens(capture, analysis, &(0..n).filter(special).collect::<Vec<_>>());
    }
    if let Some(virtual_key) = &analysis.virtual_key {
        println!(
            "Virtual key (learned sink logit): {:.1} % of all attention, sink rate {:.1} %; never evicted, not in z",
            100.0 * virtual_key.share,
            100.0 * virtual_key.sink_rate
        );
    }
    println!();
    print_checks(&capture.checks);
    println!("Memory: capture {}, peak {}", format_bytes(capture.bytes()), format_bytes(peak_rss_bytes()));
}

fn print_sinks(capture: &Capture, analysis: &Analysis) {
    let detection = &analysis.detection;
    let name = profile_name(analysis.options.profile);
    let rule = format!("{name} above {:.3} (z > {})", detection.line, detection.threshold);
    if analysis.sinks.is_empty() {
        println!("No attention sink: no key has {rule}");
        return;
    }
    println!("{} attention sinks: {rule}", analysis.sinks.len());
    print_tokens(capture, analysis, &analysis.sinks.iter().map(|sink| sink.index).collect::<Vec<_>>());
}

fn print_tokens(capture: &Capture, analysis: &Analysis, indices: &[usize]) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    let profile = profile_name(analysis.options.profile);
    table.set_header(["index", "token", "class", &profile, "z", "α", "sink rate (ε 0.3)"]);
    let number = |value: Option<f64>| value.map_or("n/a".to_owned(), |value| format!("{value:.3}"));
    for &index in indices {
        table.add_row([
            index.to_string(),
            capture.tokens.tokens[index].label(),
            analysis.classes[index].name().to_owned(),
            number(analysis.profile(analysis.options.profile)[index]),
            number(analysis.detection.z[index]),
            number(analysis.alpha[index]),
            format!("{:.1} %", 100.0 * analysis.sink_rate[index]),
        ]);
    }
    for column in [0, 3, 4, 5, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
}

fn print_checks(checks: &Checks) {
    let rows = format!("row sums within {:.1e}", checks.max_row_sum_error);
    let nan = checks.first_nan.map_or_else(
        || "no NaN".to_owned(),
        |(layer, head, query)| {
            format!(
                "{} rows not finite, the first: layer {layer}, head {head}, query {query}",
                checks.nan_count
            )
        },
    );
    println!("Checks: {rows}, causal leak {:.1e}, {nan}", checks.causal_leak);
}

/// A profile's name, with the unit where it is no plain fraction.
fn profile_name(kind: ProfileKind) -> String {
    match kind {
        ProfileKind::FarLift | ProfileKind::Lift => format!("{} ({})", kind.name(), kind.unit()),
        ProfileKind::Share | ProfileKind::Alpha => kind.name().to_owned(),
    }
}
