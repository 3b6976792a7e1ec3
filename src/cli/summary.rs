//! What `analyze` says on the terminal.

use crate::analysis::{Analysis, ProfileKind, TokenClass};
use crate::capture::{Capture, Checks, format_bytes, peak_rss_bytes};
use comfy_table::{CellAlignment, Table, presets};

/// Prints the sinks, the evidence for a short prompt, and the checks.
pub(super) fn print_summary(capture: &Capture, analysis: &Analysis) {
    let (model, n) = (&capture.model, capture.len());
    say!("{} · {} ({}) on {} · {}", model.name, model.dtype, model.stored_as, model.device, model.source);
    let perplexity = capture.perplexity().map_or("n/a".to_owned(), |ppl| format!("{ppl:.2}"));
    say!("{n} tokens · perplexity {perplexity} · prefill {:.0} ms", capture.prefill_ms);
    say!();
    if analysis.detection.tested {
        print_sinks(capture, analysis);
    } else {
        say!("{}. The evidence at hand:", analysis.not_tested().unwrap_or_default());
        let special = |&index: &usize| {
            index == 0 || matches!(analysis.classes[index], TokenClass::Bos | TokenClass::Structural)
        };
        print_tokens(capture, analysis, &(0..n).filter(special).collect::<Vec<_>>());
    }
    if let Some(virtual_key) = &analysis.virtual_key {
        say!(
            "Virtual key (learned sink logit): {:.1} % of all attention, sink rate {:.1} %; never evicted, not in z",
            100.0 * virtual_key.share,
            100.0 * virtual_key.sink_rate
        );
    }
    say!();
    print_checks(&capture.checks);
    say!("Memory: capture {}, peak {}", format_bytes(capture.bytes()), format_bytes(peak_rss_bytes()));
}

fn print_sinks(capture: &Capture, analysis: &Analysis) {
    let detection = &analysis.detection;
    let name = profile_name(analysis.options.profile);
    let rule = format!("{name} above {:.3} (z > {})", detection.line, detection.threshold);
    if analysis.sinks.is_empty() {
        say!("No attention sink: no key has {rule}");
        return;
    }
    say!("{} attention sinks: {rule}", analysis.sinks.len());
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
    say!("{table}");
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
    say!("Checks: {rows}, causal leak {:.1e}, {nan}", checks.causal_leak);
}

/// A profile's name, with the unit where it is no plain fraction.
fn profile_name(kind: ProfileKind) -> String {
    match kind {
        ProfileKind::FarLift | ProfileKind::Lift => format!("{} ({})", kind.name(), kind.unit()),
        ProfileKind::Share | ProfileKind::Alpha => kind.name().to_owned(),
    }
}
