//! Metrics and similarities of heads against their definitions, row by row in f64.

use crate::synthetic::capture;
use sinkscope::analysis::{ComparedRows, HeadMetrics, share_on_keys};
use sinkscope::capture::{Capture, PatternOf};
use sinkscope::model::tokenizer::TokenSequence;
use std::sync::Arc;

const N: usize = 48;

/// A capture whose tokens repeat every 20 positions, with the entropies that the kernel would leave.
fn repeating() -> Capture {
    let mut made = capture(2, 3, N, 4);
    let mut tokens = made.tokens.tokens.clone();
    tokens.iter_mut().enumerate().for_each(|(position, token)| token.id = (position % 20) as u32);
    made.tokens = Arc::new(TokenSequence { tokens, ..TokenSequence::default() });
    for layer in 0..2 {
        let entropies = (0..3).flat_map(|head| (0..N).map(move |query| (head, query)));
        let entropies = entropies.map(|(head, query)| {
            let weights = (0..=query).map(|key| w(&made, layer, head, query, key));
            weights.map(|weight| -weight * weight.max(1e-300).ln()).sum::<f64>() as f32
        });
        let entropies: Vec<f32> = entropies.collect();
        made.layers[layer].row_entropy_nats = entropies;
    }
    made
}

fn w(capture: &Capture, layer: usize, head: usize, query: usize, key: usize) -> f64 {
    f64::from(capture.weight(layer, head, query, key).expect("visible"))
}

fn close(found: Option<f64>, wanted: f64, what: &str) {
    let found = found.unwrap_or_else(|| panic!("{what} is n/a"));
    assert!((found - wanted).abs() < 2e-5 * wanted.abs().max(1.0), "{what}: {found} for {wanted}");
}

#[test]
fn metrics_follow_their_definitions() {
    let capture = repeating();
    for (layer, head) in [(0, 0), (1, 2)] {
        let metrics = HeadMetrics::of(&capture, layer, head);
        let weight = |query, key| w(&capture, layer, head, query, key);
        let rows = N as f64;
        let distance: f64 = (0..N)
            .map(|query| (0..=query).map(|key| weight(query, key) * (query - key) as f64).sum::<f64>())
            .sum();
        close(metrics.mean_distance, distance / rows, "mean distance");
        let previous: f64 = (1..N).map(|query| weight(query, query - 1)).sum();
        close(metrics.previous_token, previous / (rows - 1.0), "previous token");
        // Token t occurred last at t − 20, and t − 19 followed it.
        let induction: f64 = (20..N).map(|query| weight(query, query - 19)).sum();
        close(metrics.induction, induction / (rows - 20.0), "induction");
        let peak: f64 = (4..N).map(|query| (0..4).map(|key| weight(query, key)).sum::<f64>()).sum();
        close(metrics.peak_share, peak / (rows - 4.0), "peak share");
        let entropy: f64 = (1..N)
            .map(|query| {
                let row = (0..=query).map(|key| weight(query, key));
                row.map(|weight| -weight * weight.ln()).sum::<f64>() / ((query + 1) as f64).ln()
            })
            .sum();
        close(metrics.entropy, entropy / (rows - 1.0), "entropy");
        let on_keys: f64 = (0..N).map(|query| weight(query, 0)).sum::<f64>()
            + (5..N).map(|query| weight(query, 5)).sum::<f64>();
        close(share_on_keys(&capture, layer, head, &[0, 5]), on_keys / rows, "share on keys 0 and 5");
    }
}

#[test]
fn without_repeats_there_is_no_induction_score() {
    assert_eq!(HeadMetrics::of(&capture(1, 1, N, 4), 0, 0).induction, None);
}

#[test]
fn similarity_is_the_cosine_over_visible_cells() {
    let capture = capture(1, 3, N, 4);
    let of = |head| PatternOf::Head { layer: 0, head };
    for hidden in [vec![], vec![0, 7]] {
        let rows = ComparedRows::of(&capture, of(0), &hidden);
        assert_eq!(rows.len(), N);
        let cells = || {
            (0..N)
                .flat_map(|query| (0..=query).map(move |key| (query, key)))
                .filter(|(_, key)| !hidden.contains(key))
        };
        let dot = |a: usize, b: usize| -> f64 {
            cells().map(|(query, key)| w(&capture, 0, a, query, key) * w(&capture, 0, b, query, key)).sum()
        };
        for other in 1..3 {
            let wanted = dot(0, other) / (dot(0, 0) * dot(other, other)).sqrt();
            close(rows.cosine(&capture, of(other)), wanted, "cosine");
        }
        close(rows.cosine(&capture, of(0)), 1.0, "a head with itself");
    }
}

#[test]
fn long_texts_are_compared_on_evenly_spaced_rows() {
    let capture = capture(1, 1, 1000, 4);
    let rows = ComparedRows::of(&capture, PatternOf::Head { layer: 0, head: 0 }, &[]);
    assert_eq!(rows.len(), ComparedRows::MOST);
}
