//! Invariants of the kernel and of a capture, on random inputs.

mod common;

use candle_core::{Device, Tensor};
use common::{capture, max_difference, pattern, smollm2, tiny};
use proptest::prelude::*;
use sinkscope::analysis::{Analysis, AnalysisOptions};
use sinkscope::attention::{
    AttentionCall, AttentionInput, Causal, Geometry, KeyPositions, LocalWindow, Observer, ScoreRule,
    VisibilityRule, WeightBlock, attend, attend_slices, attend_with_candle_ops,
};
use sinkscope::capture::{Capture, MASKED, plain_prefill};
use sinkscope::model::spec::alibi_slopes;
use sinkscope::model::tokenizer::BosChoice;
use sinkscope::progress::CancelToken;
use std::ops::Range;
use std::sync::Mutex;

/// One layer's random inputs.
#[derive(Debug, Clone)]
struct Case {
    geometry: Geometry,
    score: ScoreRule,
    queries: usize,
    first_query: usize,
    rule: Rule,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
}

/// The visibility rules under test; `Pinned` has gaps, as eviction has.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Causal,
    Window(usize),
    Pinned { pins: usize, recent: usize },
}

impl VisibilityRule for Rule {
    fn visible(&self, query: usize, ranges: &mut Vec<Range<usize>>) {
        match *self {
            Self::Causal => Causal.visible(query, ranges),
            Self::Window(width) => LocalWindow { width }.visible(query, ranges),
            Self::Pinned { pins, recent } => {
                let recent = (query + 1).saturating_sub(recent);
                if recent <= pins {
                    ranges.push(0..query + 1);
                } else {
                    ranges.push(0..pins);
                    ranges.push(recent..query + 1);
                }
            }
        }
    }
}

fn rules() -> impl Strategy<Value = Rule> {
    prop_oneof![
        Just(Rule::Causal),
        (1_usize..40).prop_map(Rule::Window),
        (1_usize..5, 1_usize..40).prop_map(|(pins, recent)| Rule::Pinned { pins, recent }),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let shape =
        (1_usize..4, 1_usize..4, prop_oneof![Just(2_usize), Just(8), Just(12)], 1_usize..150, 0_usize..50);
    let extras = (prop_oneof![Just(None), Just(Some(5.0))], any::<bool>(), any::<bool>());
    (shape, rules(), extras, any::<u64>()).prop_map(
        |((kv_heads, group, head_dim, queries, first_query), rule, (softcap, alibi, sinks), seed)| {
            let geometry = Geometry { heads: kv_heads * group, kv_heads, head_dim };
            let mut state = seed | 1;
            let mut random = |count: usize| -> Vec<f64> {
                let next = || {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as f64 / f64::from(1_u32 << 31) * 6.0 - 3.0
                };
                std::iter::repeat_with(next).take(count).collect()
            };
            let keys = first_query + queries;
            let heads = geometry.heads;
            let score = ScoreRule {
                // No model has both a soft-cap and ALiBi; the kernel's order is then its own.
                softcap: softcap.filter(|_| !alibi),
                alibi_slopes: alibi.then(|| alibi_slopes(heads, 8.0).into()),
                sink_logits: sinks.then(|| random(heads).into()),
                ..ScoreRule::scaled(1.0 / (head_dim as f64).sqrt())
            };
            Case {
                score,
                q: random(queries * geometry.heads * head_dim),
                k: random(keys * kv_heads * head_dim),
                v: random(keys * kv_heads * head_dim),
                geometry,
                queries,
                first_query,
                rule,
            }
        },
    )
}

impl Case {
    /// Weights `[heads, queries, keys]` and context `[queries, heads, head_dim]`, one cell at a time.
    fn reference(&self) -> (Vec<f64>, Vec<f64>) {
        let Geometry { heads, kv_heads, head_dim } = self.geometry;
        let keys = self.first_query + self.queries;
        let mut weights = vec![0.0; heads * self.queries * keys];
        let mut context = vec![0.0; self.q.len()];
        for head in 0..heads {
            let kv_head = head / (heads / kv_heads);
            for query in 0..self.queries {
                let mut ranges = Vec::new();
                self.rule.visible(self.first_query + query, &mut ranges);
                let seen: Vec<usize> = ranges.into_iter().flatten().collect();
                let scores = seen.iter().map(|key| {
                    let dot: f64 = (0..head_dim)
                        .map(|d| {
                            self.q[(query * heads + head) * head_dim + d]
                                * self.k[(key * kv_heads + kv_head) * head_dim + d]
                        })
                        .sum();
                    let slope = self.score.alibi_slopes.as_ref().map_or(0.0, |slopes| slopes[head]);
                    let score = dot * self.score.scale - slope * (self.first_query + query - key) as f64;
                    self.score.softcap.map_or(score, |cap| cap * (score / cap).tanh()).exp()
                });
                let scores: Vec<f64> = scores.collect();
                let sink = self.score.sink_logits.as_ref().map_or(0.0, |logits| logits[head].exp());
                let sum: f64 = scores.iter().sum::<f64>() + sink;
                for (key, score) in seen.iter().zip(scores) {
                    let weight = score / sum;
                    weights[(head * self.queries + query) * keys + key] = weight;
                    for d in 0..head_dim {
                        context[(query * heads + head) * head_dim + d] +=
                            weight * self.v[(key * kv_heads + kv_head) * head_dim + d];
                    }
                }
            }
        }
        (weights, context)
    }

    fn tensors(&self) -> (Tensor, Tensor, Tensor) {
        let Geometry { heads, kv_heads, head_dim } = self.geometry;
        let tensor = |values: &[f64], rows: usize, heads: usize| {
            let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            Tensor::from_vec(values, (rows, heads, head_dim), &Device::Cpu).expect("a tensor")
        };
        let keys = self.first_query + self.queries;
        (
            tensor(&self.q, self.queries, heads),
            tensor(&self.k, keys, kv_heads),
            tensor(&self.v, keys, kv_heads),
        )
    }
}

/// Keeps every weight that it is shown, `[heads, queries, keys]`.
struct KeepAll {
    queries: usize,
    first_query: usize,
    weights: Mutex<Vec<f64>>,
}

impl Observer<f64> for KeepAll {
    fn observe(&self, block: &WeightBlock<'_, f64>) {
        let keys = self.first_query + self.queries;
        let mut kept = self.weights.lock().expect("no panic");
        for (query, weights, _, _) in block.rows() {
            let at = (block.head * self.queries + query - self.first_query) * keys;
            for (first_column, range) in block.columns.ranges() {
                for (column, key) in (*first_column..).zip(range.clone()) {
                    kept[at + key] = weights[column];
                }
            }
        }
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_kernel_equals_a_loop_over_cells(case in cases()) {
        let (weights, context) = case.reference();
        let keep = KeepAll {
            queries: case.queries,
            first_query: case.first_query,
            weights: Mutex::new(vec![0.0; weights.len()]),
        };
        let (geometry, score) = (case.geometry, &case.score);
        let input = AttentionInput { q: &case.q, k: &case.k, v: &case.v, geometry, score, first_query: case.first_query, slots: None };
        let (ours, rows) = attend_slices(&input, &case.rule, &[&keep], &CancelToken::new()).expect("not cancelled");
        let kept = keep.weights.into_inner().expect("no panic");
        prop_assert!(largest_difference(&ours, &context) < 1e-12);
        prop_assert!(largest_difference(&kept, &weights) < 1e-13);

        // Nothing above the diagonal, every row sums to one with its sink, and the entropy is the weights' own.
        let keys = case.first_query + case.queries;
        for (row, weights) in kept.chunks_exact(keys).enumerate() {
            let query = case.first_query + row % case.queries;
            prop_assert!(weights[query + 1..].iter().all(|&weight| weight == 0.0));
            let logit = score.sink_logits.as_ref().map_or(f64::NEG_INFINITY, |logits| logits[row / case.queries]);
            let on_sink = (logit - rows.lse[row]).exp();
            prop_assert!((weights.iter().sum::<f64>() + on_sink - 1.0).abs() < 1e-13);
            let entropy: f64 = weights.iter().filter(|w| **w > 0.0).map(|w| -w * w.ln()).sum();
            prop_assert!((entropy - rows.entropy_nats[row]).abs() < 1e-11);
        }
    }

    #[test]
    fn candle_ops_for_devices_equal_the_cpu_kernel(case in cases(), delta in 0_usize..20) {
        let (q, k, v) = case.tensors();
        let (geometry, score) = (case.geometry, &case.score);
        let call = AttentionCall { q: &q, k: &k, v: &v, geometry, score, rule: &case.rule, first_query: case.first_query, layer: 0, positions: KeyPositions::Text };
        let cpu = attend(&call, Some(delta), &CancelToken::new()).expect("runs");
        let ops = attend_with_candle_ops(&call, Some(delta), &CancelToken::new()).expect("runs");
        let flat = |t: &Tensor| t.flatten_all().and_then(|t| t.to_vec1::<f32>()).expect("f32");
        prop_assert!(max_difference(&flat(&cpu.context), &flat(&ops.context)) < 1e-5);
        let (cpu, ops) = (cpu.statistics.expect("observed"), ops.statistics.expect("observed"));
        prop_assert!(max_difference(&cpu.lse, &ops.lse) < 1e-5);
        prop_assert!(max_difference(&cpu.entropy_nats, &ops.entropy_nats) < 1e-4);
        prop_assert!(max_difference(&cpu.column_sums, &ops.column_sums) < 1e-4);
        prop_assert!(max_difference(&cpu.far_column_sums, &ops.far_column_sums) < 1e-4);
        prop_assert_eq!((cpu.checks.causal_leak, ops.checks.causal_leak), (0.0, 0.0));
        prop_assert_eq!((cpu.checks.nan_count, ops.checks.nan_count), (0, 0));
    }

    #[test]
    fn candle_ops_close_the_same_gaps(case in cases(), window in 2_usize..30) {
        // The tables of the tiny model are eight wide.
        prop_assume!(case.geometry.head_dim == 8);
        let model = tiny("llama");
        let tables = model.decoder.rotary_tables(200).expect("tables");
        let (q, k, v) = case.tensors();
        let (geometry, score) = (case.geometry, &case.score);
        let rule = Rule::Pinned { pins: 2, recent: window };
        let call = AttentionCall { q: &q, k: &k, v: &v, geometry, score, rule: &rule, first_query: case.first_query, layer: 0, positions: KeyPositions::Slots { rotation: tables.of_layer(0) } };
        let cpu = attend(&call, Some(4), &CancelToken::new()).expect("runs");
        let ops = attend_with_candle_ops(&call, Some(4), &CancelToken::new()).expect("runs");
        let flat = |t: &Tensor| t.flatten_all().and_then(|t| t.to_vec1::<f32>()).expect("f32");
        prop_assert!(max_difference(&flat(&cpu.context), &flat(&ops.context)) < 1e-5);
        let (cpu, ops) = (cpu.statistics.expect("observed"), ops.statistics.expect("observed"));
        prop_assert!(max_difference(&cpu.lse, &ops.lse) < 1e-5);
    }

    #[test]
    fn column_sums_are_the_sums_of_the_weights(case in cases(), delta in 0_usize..20) {
        let (weights, _) = case.reference();
        let (q, k, v) = case.tensors();
        let (geometry, score) = (case.geometry, &case.score);
        let call = AttentionCall { q: &q, k: &k, v: &v, geometry, score, rule: &case.rule, first_query: case.first_query, layer: 0, positions: KeyPositions::Text };
        let ours = attend(&call, Some(delta), &CancelToken::new()).expect("runs").statistics.expect("observed");
        let keys = case.first_query + case.queries;
        let (mut all, mut far) = (vec![0.0_f32; geometry.heads * keys], vec![0.0_f32; geometry.heads * keys]);
        for (row, weights) in weights.chunks_exact(keys).enumerate() {
            let (head, query) = (row / case.queries, case.first_query + row % case.queries);
            for (key, &weight) in weights.iter().enumerate() {
                all[head * keys + key] += weight as f32;
                if query >= key + delta {
                    far[head * keys + key] += weight as f32;
                }
            }
        }
        prop_assert!(max_difference(&ours.column_sums, &all) < 1e-4);
        prop_assert!(max_difference(&ours.far_column_sums, &far) < 1e-4);
    }

    #[test]
    fn a_tile_shows_the_largest_weight_of_each_cell(
        ids in proptest::collection::vec(8_u32..320, 2..90),
        corner in (0_usize..60, 0_usize..60),
        size in (1_usize..60, 1_usize..60),
        max_side in 1_usize..40,
    ) {
        let capture = capture(&tiny("llama"), &ids);
        let n = capture.len();
        let (rows, keys) = (corner.0..corner.0 + size.0, corner.1..corner.1 + size.1);
        let tile = capture.pattern_tile(1, 2, rows, keys, max_side, &CancelToken::new()).expect("not cancelled");
        prop_assert!(tile.width <= max_side && tile.height <= max_side);
        for row in 0..tile.height {
            for column in 0..tile.width {
                let queries = tile.rows.start + row * tile.pool..(tile.rows.start + (row + 1) * tile.pool).min(tile.rows.end);
                let mut largest = MASKED;
                for query in queries {
                    let first = tile.keys.start + column * tile.pool;
                    for key in first..(first + tile.pool).min(tile.keys.end) {
                        largest = largest.max(capture.weight(1, 2, query, key).unwrap_or(MASKED));
                        prop_assert_eq!(capture.weight(1, 2, query, key).is_some(), key <= query && query < n);
                    }
                }
                // The same sum in another order: its rounding grows with the product of the norms.
                let tolerance = 8.0 * f32::EPSILON * (1.0 + largest_product(&capture, 1)) * largest.abs();
                let drawn = tile.values[row * tile.width + column];
                prop_assert!((drawn - largest).abs() <= tolerance, "{drawn} for {largest} within {tolerance:e}");
            }
        }
    }

    #[test]
    fn a_later_token_changes_no_earlier_row(
        ids in proptest::collection::vec(8_u32..320, 2..80),
        at in any::<prop::sample::Index>(),
        other in 8_u32..320,
    ) {
        let model = tiny("llama");
        let at = at.index(ids.len());
        let mut edited = ids.clone();
        edited[at] = other;
        let (before, after) = (capture(&model, &ids), capture(&model, &edited));
        let n = ids.len();
        for layer in 0..3 {
            for head in 0..4 {
                prop_assert_eq!(&pattern(&before, layer, head)[..at * n], &pattern(&after, layer, head)[..at * n]);
            }
        }
        prop_assert_eq!(&before.nll_nats[..at.saturating_sub(1)], &after.nll_nats[..at.saturating_sub(1)]);
    }
}

/// Largest `scale · ‖q‖ · ‖k‖` in a layer.
fn largest_product(capture: &Capture, layer: usize) -> f32 {
    let (layer, dim) = (&capture.layers[layer], capture.model.spec.head_dim);
    let largest = |rows: &[f32]| {
        rows.chunks_exact(dim).map(|row| row.iter().map(|x| x * x).sum::<f32>().sqrt()).fold(0.0, f32::max)
    };
    layer.score.scale as f32 * largest(&layer.q) * largest(&layer.k)
}

/// A null of the detector: equal tokens differ by position alone, and that is no sink. (Heads with random
/// weights do prefer distances strongly enough to be flagged, so this takes the trained model.)
#[test]
fn one_repeated_token_flags_nothing() {
    for (id, n) in [(28, 51), (100, 75), (4093, 150), (30_000, 400)] {
        let capture = capture(smollm2(), &vec![id; n]);
        let analysis = Analysis::of(&capture, AnalysisOptions::default());
        assert!(analysis.detection.tested);
        assert_eq!(analysis.detection.flagged, Vec::<usize>::new(), "{n} × {id}");
    }
}

/// A prompt too short for the detector flags nothing and still shows its evidence.
#[test]
fn one_sentence_is_not_tested_and_shows_its_evidence() {
    let text = "Attention sinks hold most of the mass in almost every head of the model.";
    let model = smollm2();
    let tokens = model.tokenizer.encode_text(text, false, BosChoice::Auto).expect("tokenised");
    let capture = capture(model, &tokens.ids());
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    assert!(!analysis.detection.tested && analysis.sinks.is_empty());
    assert!(analysis.alpha[0].expect("α needs no far query") > 0.3, "{:?}", analysis.alpha[0]);
    assert!(analysis.sink_rate[0] > 0.5, "{:?}", analysis.sink_rate[0]);
}

#[test]
fn the_predicted_capture_is_the_capture() {
    let model = tiny("llama");
    for n in [1_u32, 7, 60] {
        let capture = capture(&model, &(8..8 + n).collect::<Vec<_>>());
        let plan = sinkscope::capture::plan_memory(&model.info.spec, model.info.weight_bytes, n as usize);
        assert_eq!(plan.capture_bytes, capture.bytes());
    }
    assert_eq!(model.info.weight_bytes, model.info.parameters * 4);
}

#[test]
fn recording_changes_no_number() {
    let model = tiny("llama");
    let ids: Vec<u32> = (0..200).map(|i| (i * 37 + 11) % 312 + 8).collect();
    let observed = capture(&model, &ids);
    let (plain, _) = plain_prefill(&model.decoder, &ids, &CancelToken::new()).expect("it runs");
    assert_eq!(observed.nll_nats, plain);
}

#[test]
fn a_nan_is_counted_named_and_kept_out_of_the_sums() {
    let geometry = Geometry { heads: 2, kv_heads: 1, head_dim: 4 };
    let mut q = vec![0.5_f32; 8 * 2 * 4];
    q[(5 * 2 + 1) * 4] = f32::NAN;
    let tensor =
        |values: Vec<f32>, heads| Tensor::from_vec(values, (8, heads, 4), &Device::Cpu).expect("a tensor");
    let (q, k) = (tensor(q, 2), tensor(vec![0.25; 8 * 4], 1));
    let score = ScoreRule::scaled(0.5);
    let call = AttentionCall {
        q: &q,
        k: &k,
        v: &k,
        geometry,
        score: &score,
        rule: &Causal,
        first_query: 0,
        layer: 7,
        positions: KeyPositions::Text,
    };
    for run in [attend, attend_with_candle_ops] {
        let seen = run(&call, Some(2), &CancelToken::new()).expect("runs").statistics.expect("observed");
        assert_eq!((seen.checks.nan_count, seen.checks.first_nan), (1, Some((7, 1, 5))));
        assert!(seen.column_sums.iter().chain(&seen.far_column_sums).all(|sum| sum.is_finite()));
        let clean: f32 = seen.column_sums[..8].iter().sum();
        let dirty: f32 = seen.column_sums[8..].iter().sum();
        assert!((clean - 8.0).abs() < 1e-5 && (dirty - 7.0).abs() < 1e-5);
    }
}

/// Why one repeated token is a null in every model with rotary embedding: equal tokens tell nothing but their distance.
/// (How much a head with random weights prefers a distance is its own affair, and can be flagged; the trained model
/// above flags nothing.)
#[test]
fn of_a_repeated_token_only_the_distance_counts() {
    let mut seen = 0;
    for family in common::families() {
        let model = tiny(&family);
        let spec = &model.info.spec;
        if spec.ropes.is_empty() || spec.attention_sinks {
            continue;
        }
        seen += 1;
        let capture = capture(&model, &[77; 40]);
        for (layer, captured) in capture.layers.iter().enumerate() {
            let first = captured.hidden_norm[0];
            let spread =
                captured.hidden_norm.iter().map(|norm| (norm / first - 1.0).abs()).fold(0.0, f32::max);
            assert!(spread < 1e-4, "{family} layer {layer}: positions differ by {spread:e}");
            for head in 0..spec.heads {
                let weight = |query: usize, key: usize| {
                    capture.weight(layer, head, query, key).map(|w| f64::from(w).ln())
                };
                for query in 0..39 {
                    for key in 0..=query {
                        let Some(here) = weight(query, key) else { continue };
                        let next = weight(query + 1, key + 1).expect("as far away");
                        let (own, next_own) =
                            (weight(query, query).expect("sees itself"), weight(query + 1, query + 1));
                        let difference = (here - own) - (next - next_own.expect("sees itself"));
                        assert!(
                            difference.abs() < 1e-3,
                            "{family} l{layer}h{head} {query} {key}: {difference:e}"
                        );
                    }
                }
            }
        }
    }
    assert!(seen > 20, "{seen} families");
}
