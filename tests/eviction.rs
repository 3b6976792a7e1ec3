//! Simulated eviction: against the oracles, against a slow loop with a real cache, and its identities.

mod common;

use candle_core::{DType, Device};
use common::{capture, fixture, smollm2, tiny};
use proptest::prelude::*;
use sinkscope::analysis::AnalysisOptions;
use sinkscope::capture::Capture;
use sinkscope::eviction::{
    EvictionCase, EvictionRun, Kept, PinChoice, Pins, PolicyName, Positions, Prefix, perplexity, simulate,
};
use sinkscope::model::LoadedModel;
use sinkscope::model::config::{ConfigReading, read_config};
use sinkscope::model::decoder::Decoder;
use sinkscope::model::placement::Placement;
use sinkscope::model::weights::{FamilyWeights, SafetensorsWeights};
use sinkscope::progress::{CancelToken, Silent};
use std::collections::BTreeSet;

#[derive(serde::Deserialize)]
struct Oracle {
    input_ids: Vec<u32>,
    cases: Vec<serde_json::Value>,
}

fn oracle(name: &str) -> Oracle {
    serde_json::from_slice(&std::fs::read(fixture(name)).expect("fixture")).expect("fixture")
}

fn case_of(value: &serde_json::Value) -> EvictionCase {
    let json = serde_json::to_vec(&[value]).expect("JSON");
    sinkscope::eviction::read_cases(&json).expect("a case").remove(0)
}

fn nll_of(value: &serde_json::Value) -> Vec<f64> {
    serde_json::from_value(value["nll"].clone()).expect("numbers")
}

fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn run(model: &LoadedModel, full: &Capture, case: &EvictionCase) -> EvictionRun {
    let pins = case.resolve_pins(full, &AnalysisOptions::default()).expect("pins");
    let prefix = Some(Prefix { capture: full });
    let ids = full.tokens.ids();
    simulate(&model.decoder, &ids, case, &pins, prefix, &mut |_| {}, &CancelToken::new()).expect("it runs")
}

#[test]
fn every_policy_equals_the_slow_float64_run() {
    let model = tiny("llama");
    let oracle = oracle("tiny/llama/eviction.json");
    let full = capture(&model, &oracle.input_ids);
    for value in &oracle.cases {
        let case = case_of(value);
        let ours = run(&model, &full, &case);
        let difference = furthest(&ours.nll_nats, &nll_of(value));
        assert!(difference < 1e-4, "{case:?}: NLL differs by {difference:e}");
        let kept = serde_json::to_value(ours.retention.kept_after(full.len() - 1)).expect("JSON");
        assert_eq!(kept, value["kept_after_last_token"], "{case:?}");
    }
}

#[test]
fn smollm2_equals_transformers_under_eviction_and_tells_the_story() {
    let model = smollm2();
    let oracle = oracle("smollm2/gpl3.eviction.json");
    let full = capture(model, &oracle.input_ids);
    let mut after_fill = Vec::new();
    for value in &oracle.cases {
        let case = case_of(value);
        let ours = run(model, &full, &case);
        let difference = furthest(&ours.nll_nats, &nll_of(value));
        assert!(difference < 2e-3, "{case:?}: NLL differs by {difference:e}");
        after_fill.push((case, perplexity(&ours.nll_nats[129..]).expect("rows")));
    }
    let find = |pins: PinChoice, policy| {
        let case = after_fill.iter().find(|(case, _)| {
            case.policy == policy && case.pins == pins && case.positions == Positions::Original
        });
        case.expect("the oracle has it").1
    };
    let pinned = PinChoice::Tokens(BTreeSet::from([0]));
    for (perplexity, wanted) in [
        (find(PinChoice::None, PolicyName::Full), 18.1),
        (find(PinChoice::None, PolicyName::Fifo), 33.8),
        (find(pinned, PolicyName::Fifo), 19.8),
    ] {
        assert!((perplexity - wanted).abs() < 0.05, "{perplexity} for {wanted}");
    }
}

/// A tiny model in f64, where differences in method show and rounding does not.
fn in_double(family: &str) -> Decoder {
    let folder = fixture(&format!("tiny/{family}"));
    let ConfigReading { spec, layout, .. } = read_config(&folder.join("config.json")).expect("a spec");
    let weights = FamilyWeights::new(SafetensorsWeights::open(&folder).expect("weights"), layout, &spec);
    let placement = Placement::exact(DType::F64);
    Decoder::load(&spec, &weights, &placement, &Silent, &CancelToken::new()).expect("it loads")
}

fn tiny_in_f64() -> Decoder {
    in_double("llama")
}

/// The reference: one token at a time, a real cache for each layer and KV head, plain loops in f64.
mod slow {
    use super::*;
    use candle_core::Tensor;

    /// A cached key: its position, rotated there, its value, and its sum of attention.
    #[derive(Clone)]
    struct Entry {
        position: usize,
        k: Vec<f64>,
        v: Vec<f64>,
        sum: f64,
    }

    fn values(tensor: &Tensor) -> Vec<f64> {
        tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("f64")
    }

    /// Rotates the first `2 · angle.len()` elements.
    fn rotate(x: &[f64], angle: &[f64]) -> Vec<f64> {
        let pairs = angle.len();
        let half =
            |i: usize| if i < pairs { (x[i], -x[i + pairs], i) } else { (x[i], x[i - pairs], i - pairs) };
        let turned = (0..2 * pairs).map(half).map(|(a, b, i)| a * angle[i].cos() + b * angle[i].sin());
        turned.chain(x[2 * pairs..].iter().copied()).collect()
    }

    /// Weights beside a virtual key with the logit `sink`, which takes its part and has no value.
    fn softmax(scores: &[f64], sink: Option<f64>) -> Vec<f64> {
        let max = scores.iter().copied().fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
        let e: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let sum: f64 = e.iter().sum::<f64>() + sink.map_or(0.0, |sink| (sink - max).exp());
        e.into_iter().map(|e| e / sum).collect()
    }

    /// Which entry goes; the rules of SCIENCE written once more, over plain lists in text order.
    fn victim(
        case: &EvictionCase,
        pins: &BTreeSet<usize>,
        positions: &[usize],
        scores: &[f64],
        t: usize,
    ) -> usize {
        let free = |p: usize| p != t && !pins.contains(&p);
        let oldest = positions.iter().position(|&p| free(p)).expect("the budget exceeds the pins");
        if case.policy == PolicyName::Fifo {
            return oldest;
        }
        let recent = case.recent_keys();
        let mut best: Option<usize> = None;
        for (i, &p) in positions.iter().enumerate() {
            if free(p) && p + recent <= t && best.is_none_or(|b| scores[i] < scores[b]) {
                best = Some(i);
            }
        }
        best.unwrap_or(oldest)
    }

    /// NLL of every row, and what each cache holds at the end. `frozen` keeps the known bug: keys stay
    /// where they were, the query stands at its slot.
    pub fn run(
        decoder: &Decoder,
        ids: &[u32],
        case: &EvictionCase,
        pins: &BTreeSet<usize>,
        frozen: bool,
    ) -> (Vec<f64>, Vec<Vec<Vec<usize>>>) {
        let spec = decoder.spec();
        let (dim, group) = (spec.head_dim, spec.heads / spec.kv_heads);
        let frequencies: Vec<_> = spec.ropes.iter().map(|rope| rope.frequencies(ids.len())).collect();
        // Position 0 rotates nothing: the decoder hands out unrotated projections.
        let tables = decoder.rotary_tables(1).expect("tables");
        let mut caches = vec![vec![Vec::<Entry>::new(); spec.kv_heads]; spec.layers];
        let mut nll = Vec::new();
        for (t, &id) in ids.iter().enumerate() {
            let mut hidden = decoder.embed(&[id], t).expect("embedded");
            for (layer, caches) in caches.iter_mut().enumerate() {
                let of_layer = spec.rope_of_layer[layer].map_or(&[][..], |index| &frequencies[index]);
                let at = |position: f64| of_layer.iter().map(|f| f * position).collect::<Vec<_>>();
                let rule = decoder.score_rule(layer);
                hidden = decoder
                    .layer(layer, &hidden, 0, &tables, |projected| {
                        let (q, k, v) = (values(&projected.q), values(&projected.k), values(&projected.v));
                        let mut context = vec![0.0; spec.heads * dim];
                        let mut mean = Vec::new();
                        for (kv, cache) in caches.iter_mut().enumerate() {
                            let rows = kv * dim..(kv + 1) * dim;
                            let held = cache.len();
                            let slot = if frozen { held } else { t };
                            cache.push(Entry {
                                position: t,
                                k: rotate(&k[rows.clone()], &at(slot as f64)),
                                v: v[rows].to_vec(),
                                sum: 0.0,
                            });
                            for head in kv * group..(kv + 1) * group {
                                let query = &q[head * dim..(head + 1) * dim];
                                let score = |(place, entry): (usize, &Entry)| {
                                    // Slots: the query stands `held − place` slots behind the entry.
                                    let position = match case.positions {
                                        Positions::Slot if !frozen => entry.position + held - place,
                                        _ => slot,
                                    };
                                    let query = rotate(query, &at(position as f64));
                                    let dot: f64 = query.iter().zip(&entry.k).map(|(a, b)| a * b).sum();
                                    // ALiBi: the distance in the text, or in slots.
                                    let distance = match case.positions {
                                        Positions::Slot => held - place,
                                        Positions::Original => t - entry.position,
                                    };
                                    let slope = rule.alibi_slopes.as_ref().map_or(0.0, |slopes| slopes[head]);
                                    let score = dot * rule.scale - slope * distance as f64;
                                    rule.softcap.map_or(score, |cap| cap * (score / cap).tanh())
                                };
                                let sink = rule.sink_logits.as_ref().map(|logits| logits[head]);
                                let weights =
                                    softmax(&cache.iter().enumerate().map(score).collect::<Vec<_>>(), sink);
                                mean.resize(weights.len(), 0.0);
                                for ((entry, &weight), mean) in cache.iter_mut().zip(&weights).zip(&mut mean)
                                {
                                    entry.sum += weight;
                                    *mean += weight;
                                    for d in 0..dim {
                                        context[head * dim + d] += weight * entry.v[d];
                                    }
                                }
                            }
                        }
                        if let Some(window) = spec.windows[layer] {
                            // A local layer's next query sees itself and `window − 1` keys, and nothing is evicted.
                            for cache in caches.iter_mut() {
                                cache.drain(..cache.len().saturating_sub(window - 1));
                            }
                            return Ok(Tensor::from_vec(context, (1, spec.heads * dim), &Device::Cpu)
                                .expect("a tensor"));
                        }
                        for cache in caches.iter_mut() {
                            if cache.len() > case.budget_in(ids.len()) {
                                let positions: Vec<usize> =
                                    cache.iter().map(|entry| entry.position).collect();
                                let sums: Vec<f64> = cache.iter().map(|entry| entry.sum).collect();
                                let scores = if case.policy == PolicyName::Tova { &mean } else { &sums };
                                cache.remove(victim(case, pins, &positions, scores, t));
                            }
                        }
                        Ok(Tensor::from_vec(context, (1, spec.heads * dim), &Device::Cpu).expect("a tensor"))
                    })
                    .expect("the layer runs");
            }
            if let Some(&next) = ids.get(t + 1) {
                let logits = values(&decoder.logits(&hidden).expect("logits"));
                let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let lse = max + logits.iter().map(|l| (l - max).exp()).sum::<f64>().ln();
                nll.push(lse - logits[next as usize]);
            }
        }
        let kept = |heads: Vec<Vec<Entry>>| {
            heads.into_iter().map(|cache| cache.into_iter().map(|entry| entry.position).collect()).collect()
        };
        (nll, caches.into_iter().map(kept).collect())
    }
}

/// A random experiment on a random text.
fn experiments() -> impl Strategy<Value = (Vec<u32>, EvictionCase, BTreeSet<usize>)> {
    let policy = prop_oneof![
        3 => Just(PolicyName::Fifo),
        1 => Just(PolicyName::H2o),
        1 => Just(PolicyName::Tova),
        1 => Just(PolicyName::Lowest),
    ];
    (proptest::collection::vec(8_u32..320, 12..48), policy, 2_usize..24, any::<bool>(), 1_usize..12)
        .prop_flat_map(|(ids, policy, budget, slot, recent)| {
            let (n, most) = (ids.len(), budget - 1);
            let case = EvictionCase {
                policy,
                budget: Some(budget),
                recent: (policy == PolicyName::H2o).then_some(recent.min(budget)),
                positions: if slot && policy == PolicyName::Fifo {
                    Positions::Slot
                } else {
                    Positions::Original
                },
                ..EvictionCase::default()
            };
            let pins = proptest::collection::btree_set(0..n, 0..=most.min(4));
            (Just(ids), Just(case), pins)
        })
}

fn in_f64(decoder: &Decoder, ids: &[u32], case: &EvictionCase, pins: &BTreeSet<usize>) -> EvictionRun {
    let pins = Pins { tokens: pins.clone(), scored_from: 0 };
    simulate(decoder, ids, case, &pins, None, &mut |_| {}, &CancelToken::new()).expect("it runs")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn masked_and_chunked_runs_equal_the_token_loop((ids, case, pins) in experiments()) {
        let decoder = tiny_in_f64();
        let ours = in_f64(&decoder, &ids, &case, &pins);
        let (nll, kept) = slow::run(&decoder, &ids, &case, &pins, false);
        for (row, (ours, slow)) in ours.nll_nats.iter().zip(&nll).enumerate() {
            prop_assert!((ours - slow).abs() < 1e-9, "row {row}: {ours} for {slow}");
        }
        match ours.retention.kept_after(ids.len() - 1) {
            Kept::Shared(shared) => prop_assert!(kept.iter().flatten().all(|cache| *cache == shared)),
            Kept::PerHead(lists) => prop_assert_eq!(lists, kept),
        }
    }

    #[test]
    fn rows_up_to_the_budget_are_the_full_cache_s((ids, case, pins) in experiments()) {
        let decoder = tiny_in_f64();
        let full = in_f64(&decoder, &ids, &EvictionCase::full(), &BTreeSet::new());
        let ours = in_f64(&decoder, &ids, &case, &pins);
        let same = (case.budget_in(ids.len()) + 1).min(ours.nll_nats.len());
        for row in 0..same {
            prop_assert!((ours.nll_nats[row] - full.nll_nats[row]).abs() < 1e-9, "row {row}");
        }
        let whole = EvictionCase { budget: Some(ids.len() - 1), recent: None, ..case };
        if whole.check(decoder.spec(), ids.len(), &pins).is_ok() {
            let whole = in_f64(&decoder, &ids, &whole, &pins);
            prop_assert_eq!(whole.first_differing_row, None);
            for (ours, full) in whole.nll_nats.iter().zip(&full.nll_nats) {
                prop_assert!((ours - full).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn without_pins_slots_change_nothing(ids in proptest::collection::vec(8_u32..320, 12..48), budget in 1_usize..20) {
        let decoder = tiny_in_f64();
        let window = EvictionCase::fifo(budget, PinChoice::None);
        let original = in_f64(&decoder, &ids, &window, &BTreeSet::new());
        let slots = EvictionCase { positions: Positions::Slot, ..window };
        let slots = in_f64(&decoder, &ids, &slots, &BTreeSet::new());
        for (a, b) in original.nll_nats.iter().zip(&slots.nll_nats) {
            prop_assert!((a - b).abs() < 1e-9);
        }
    }

    #[test]
    fn a_later_token_never_changes_the_past((ids, case, pins) in experiments(), other in 8_u32..320) {
        let decoder = tiny_in_f64();
        let mut edited = ids.clone();
        *edited.last_mut().expect("not empty") = other;
        let (before, after) = (in_f64(&decoder, &ids, &case, &pins), in_f64(&decoder, &edited, &case, &pins));
        // The last row that does not score the edited token.
        let same = ids.len() - 2;
        prop_assert_eq!(&before.nll_nats[..same], &after.nll_nats[..same]);
    }
}

/// Every family, each with what it does to a score or a position, against the loop over tokens.
#[test]
fn every_family_equals_the_token_loop() {
    let ids: Vec<u32> = (0..44).map(|i| (i * 37 + 11) % 312 + 8).collect();
    let case = |policy, budget, positions| EvictionCase {
        policy,
        budget: Some(budget),
        recent: (policy == PolicyName::H2o).then_some(3),
        positions,
        ..EvictionCase::default()
    };
    for family in common::families() {
        let decoder = in_double(&family);
        for case in [
            case(PolicyName::Fifo, 9, Positions::Original),
            case(PolicyName::Fifo, 7, Positions::Slot),
            case(PolicyName::H2o, 9, Positions::Original),
            case(PolicyName::Tova, 6, Positions::Original),
        ] {
            let pins = if case.policy == PolicyName::Fifo { BTreeSet::from([0, 3]) } else { BTreeSet::new() };
            if case.positions == Positions::Slot && decoder.spec().learned_positions.is_some() {
                let pins = Pins { tokens: pins, scored_from: 0 };
                let refused = simulate(&decoder, &ids, &case, &pins, None, &mut |_| {}, &CancelToken::new());
                assert!(refused.expect_err(&family).to_string().contains("learned"), "{family}");
                continue;
            }
            let ours = in_f64(&decoder, &ids, &case, &pins);
            let (nll, _) = slow::run(&decoder, &ids, &case, &pins, false);
            for (row, (ours, slow)) in ours.nll_nats.iter().zip(&nll).enumerate() {
                assert!((ours - slow).abs() < 1e-9, "{family} {case:?} row {row}: {ours} for {slow}");
            }
        }
    }
}

#[test]
fn frozen_positions_are_told_apart_from_slots() {
    let decoder = tiny_in_f64();
    let ids: Vec<u32> = (0..48).map(|i| (i * 37 + 11) % 312 + 8).collect();
    let pins = BTreeSet::from([0, 1]);
    let case = EvictionCase { positions: Positions::Slot, ..EvictionCase::fifo(8, PinChoice::None) };
    let right = in_f64(&decoder, &ids, &case, &pins);
    let (wrong, _) = slow::run(&decoder, &ids, &case, &pins, true);
    let furthest = right.nll_nats.iter().zip(&wrong).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(furthest > 1e-3, "the frozen variant differs by {furthest:e} only");
}

#[test]
fn first_k_is_the_pinned_set_and_detected_prefix_looks_back_only() {
    let model = smollm2();
    let text = std::fs::read(fixture("smollm2/gpl3.json")).expect("fixture");
    let text: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let ids: Vec<u32> = serde_json::from_value(text["input_ids"].clone()).expect("ids");
    let full = capture(model, &ids);
    let first = run(model, &full, &EvictionCase::fifo(64, PinChoice::First(4)));
    let listed = PinChoice::Tokens((0..4).collect());
    let listed = run(model, &full, &EvictionCase::fifo(64, listed));
    assert_eq!(first.nll_nats, listed.nll_nats);

    let detector = AnalysisOptions::default();
    let pins = |choice| EvictionCase::fifo(64, choice).resolve_pins(&full, &detector);
    let whole = pins(PinChoice::Detected).expect("pins");
    assert!(whole.tokens.contains(&0) && whole.scored_from == 0, "{whole:?}");
    let prefix = pins(PinChoice::DetectedPrefix(128)).expect("pins");
    assert!(prefix.tokens.contains(&0) && prefix.tokens.iter().all(|&pin| pin < 128), "{prefix:?}");
    assert_eq!(prefix.scored_from, 128);
    // The prefix of the capture is a capture of the prefix.
    let alone = capture(model, &ids[..128]);
    let detected = sinkscope::analysis::Analysis::of(&alone, detector.clone()).detection.flagged;
    assert_eq!(prefix.tokens.iter().copied().collect::<Vec<_>>(), detected);
    assert!(pins(PinChoice::DetectedPrefix(20)).is_err());
}

#[test]
fn smollm2_under_attention_policies_equals_a_run_without_a_shared_prefix() {
    let model = smollm2();
    let ids = oracle("smollm2/gpl3.eviction.json").input_ids[..300].to_vec();
    let full = capture(model, &ids);
    for policy in [PolicyName::H2o, PolicyName::Tova, PolicyName::Lowest, PolicyName::Random] {
        let case = EvictionCase { policy, budget: Some(64), ..EvictionCase::default() };
        let shared = run(model, &full, &case);
        let alone =
            simulate(&model.decoder, &ids, &case, &Pins::default(), None, &mut |_| {}, &CancelToken::new());
        let difference = shared
            .nll_nats
            .iter()
            .zip(alone.expect("it runs").nll_nats)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        eprintln!("{policy:?}: {difference:e}");
        assert!(difference < 1e-3, "{policy:?}: {difference:e}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let model = tiny("llama");
    let full = capture(&model, &(8..60).collect::<Vec<u32>>());
    let fifo = |budget: usize, pins: &[usize]| {
        EvictionCase::fifo(budget, PinChoice::Tokens(pins.iter().copied().collect()))
    };
    for (case, wording) in [
        (fifo(0, &[]), "budget 0 keeps nothing"),
        (fifo(2, &[0, 1]), "budget 2 must exceed the 2 pinned tokens"),
        (fifo(8, &[99]), "pin 99 is outside the text of 52 tokens"),
        (EvictionCase::default(), "budget is missing"),
        (
            EvictionCase::fifo(8, PinChoice::Bos),
            "the text does not start with BOS: pin first:1, or prepend BOS",
        ),
        (EvictionCase { recent: Some(3), ..fifo(8, &[]) }, "recent belongs to h2o and random alone"),
        (
            EvictionCase { policy: PolicyName::H2o, recent: Some(9), ..fifo(8, &[]) },
            "recent 9 must lie between 1 and the budget 8",
        ),
        (
            EvictionCase { policy: PolicyName::Tova, positions: Positions::Slot, ..fifo(8, &[]) },
            "h2o, tova and lowest take original positions only",
        ),
    ] {
        let result = case.resolve_pins(&full, &AnalysisOptions::default()).map_err(sinkscope::Error::from);
        let result = result.and_then(|pins| {
            let prefix = Some(Prefix { capture: &full });
            let ids = full.tokens.ids();
            simulate(&model.decoder, &ids, &case, &pins, prefix, &mut |_| {}, &CancelToken::new())
        });
        let error = result.expect_err(wording).to_string();
        assert!(error.contains(wording), "{error}");
    }
    // A budget beyond the text is the full cache, and short texts are named.
    assert_eq!(run(&model, &full, &fifo(500, &[])).first_differing_row, None);
    for length in [1, 2] {
        let short = capture(&model, &[9, 10][..length]);
        let pins = Pins::default();
        let prefix = Some(Prefix { capture: &short });
        let error = simulate(
            &model.decoder,
            &short.tokens.ids(),
            &fifo(1, &[]),
            &pins,
            prefix,
            &mut |_| {},
            &CancelToken::new(),
        );
        let error = error.expect_err("too short").to_string();
        assert!(
            error.contains(&format!("the text has {length} tokens: eviction needs at least 3")),
            "{error}"
        );
    }
}
