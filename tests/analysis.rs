//! Profiles and the detector: what they must never flag, what they must always find, hand-computed
//! examples, and the numbers of `SmolLM2` as computed outside this project.

mod toy_capture;

use proptest::prelude::*;
use sinkscope::analysis::{
    Analysis, AnalysisOptions, Corroboration, DEFAULT_THRESHOLD, Detection, FAR_DELTA, LayerMass,
    MIN_USABLE_KEYS, MassTable, NormRatios, PeakTable, ProfileKind, Profiles, Selection, TokenClass,
    alpha_by_layer_head, alpha_of_key, far_lift_by_layer, far_lift_of_key, norm_ratios_by_layer,
};

/// Column sums of one layer, owned.
struct Layer {
    window: Option<usize>,
    column_sums: Vec<f32>,
    far_column_sums: Vec<f32>,
}

impl Layer {
    /// Sums the columns of attention rows `weights(head, query)`, one weight for each key `0..=query`.
    fn of(n: usize, heads: usize, window: Option<usize>, weights: impl Fn(usize, usize) -> Vec<f64>) -> Self {
        let mut sums = vec![0.0; heads * n];
        let mut far = vec![0.0; heads * n];
        for head in 0..heads {
            for query in 0..n {
                for (key, weight) in weights(head, query).into_iter().enumerate() {
                    sums[head * n + key] += weight;
                    if query >= key + FAR_DELTA {
                        far[head * n + key] += weight;
                    }
                }
            }
        }
        let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        Self { window, column_sums: narrow(sums), far_column_sums: narrow(far) }
    }

    fn uniform(n: usize, heads: usize, window: Option<usize>) -> Self {
        Self::of(n, heads, window, |_, query| {
            let first = first_visible(query, window);
            let weight = 1.0 / (query + 1 - first) as f64;
            (0..=query).map(|key| if key < first { 0.0 } else { weight }).collect()
        })
    }

    /// Softmax of a logit per (head, query, key).
    fn softmax(
        n: usize,
        heads: usize,
        window: Option<usize>,
        logit: impl Fn(usize, usize, usize) -> f64,
    ) -> Self {
        Self::of(n, heads, window, |head, query| {
            let first = first_visible(query, window);
            let raw: Vec<f64> = (0..=query)
                .map(|key| if key < first { 0.0 } else { logit(head, query, key).exp() })
                .collect();
            let sum: f64 = raw.iter().sum();
            raw.into_iter().map(|weight| weight / sum).collect()
        })
    }
}

fn first_visible(query: usize, window: Option<usize>) -> usize {
    window.map_or(0, |window| (query + 1).saturating_sub(window))
}

fn table(n: usize, heads: usize, layers: &[Layer]) -> MassTable<'_> {
    let layers = layers.iter().map(|layer| LayerMass {
        window: layer.window,
        column_sums: &layer.column_sums,
        far_column_sums: &layer.far_column_sums,
    });
    MassTable { n, heads, layers: layers.collect() }
}

fn analyse(table: &MassTable<'_>, profile: ProfileKind) -> Analysis {
    let options = AnalysisOptions { profile, ..AnalysisOptions::default() };
    Analysis::of_table(table, vec![TokenClass::Content; table.n], options)
}

/// Noise in −1…1 that depends on nothing but its arguments.
fn noise(seed: u64, parts: [usize; 3]) -> f64 {
    let mut hash = seed ^ 0x9E37_79B9_7F4A_7C15;
    for part in parts {
        hash = (hash ^ part as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash ^= hash >> 29;
    }
    (hash % 20_001) as f64 / 10_000.0 - 1.0
}

fn windows() -> impl Strategy<Value = Vec<Option<usize>>> {
    prop::collection::vec(prop::option::of(1usize..80), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn uniform_attention_has_lift_one_and_no_sink_in_any_mixture_of_layers(
        n in 1usize..160, heads in 1usize..3, windows in windows(),
    ) {
        let layers: Vec<Layer> = windows.iter().map(|&window| Layer::uniform(n, heads, window)).collect();
        let table = table(n, heads, &layers);
        for profile in [ProfileKind::FarLift, ProfileKind::Lift] {
            let analysis = analyse(&table, profile);
            for value in analysis.profile(profile).iter().flatten() {
                prop_assert!((value - 1.0).abs() < 1e-5, "{profile:?} is {value}");
            }
            prop_assert!(analysis.sinks.is_empty());
        }
        prop_assert!(analyse(&table, ProfileKind::Lift).lift.iter().all(Option::is_some));
    }

    #[test]
    fn share_sums_to_one(n in 1usize..80, windows in windows(), seed: u64) {
        let layers: Vec<Layer> = windows.iter()
            .map(|&window| Layer::softmax(n, 2, window, |head, query, key| 3.0 * noise(seed, [head, query, key])))
            .collect();
        let sum: f64 = Profiles::of(&table(n, 2, &layers), &Selection::default()).share.iter().flatten().sum();
        prop_assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }

    #[test]
    fn planted_sinks_are_returned_exactly(
        n in 160usize..260, seed: u64, boost in 3.0f64..6.0, local in prop::option::of(32usize..64),
    ) {
        let planted = [0, 40, 120];
        let logit = |head: usize, query: usize, key: usize| {
            0.5 * noise(seed, [head, query, key]) + if planted.contains(&key) { boost } else { 0.0 }
        };
        let mut layers = vec![Layer::softmax(n, 2, None, logit), Layer::softmax(n, 2, None, logit)];
        if local.is_some() {
            layers.push(Layer::uniform(n, 2, local));
        }
        let analysis = analyse(&table(n, 2, &layers), ProfileKind::FarLift);
        prop_assert_eq!(&analysis.detection.flagged, &planted);
        prop_assert_eq!(analysis.sinks.iter().map(|sink| sink.index).collect::<Vec<_>>(), planted);
    }

    #[test]
    fn short_inputs_flag_nothing(n in 1usize..51, seed: u64) {
        let layer = Layer::softmax(n, 1, None, |head, query, key| {
            noise(seed, [head, query, key]) + if key == 0 { 8.0 } else { 0.0 }
        });
        let analysis = analyse(&table(n, 1, &[layer]), ProfileKind::FarLift);
        prop_assert!(!analysis.detection.tested);
        prop_assert!(analysis.detection.flagged.is_empty() && analysis.sinks.is_empty());
        prop_assert!(analysis.detection.z.iter().all(Option::is_none));
        prop_assert_eq!(analysis.not_tested(), Some("Not tested: needs 51 tokens".to_owned()));
        // The evidence is there all the same.
        prop_assert_eq!(analysis.evidence(), [0]);
        prop_assert!(analysis.alpha[0] > Some(0.9) && analysis.sink_rate[0] > 0.99);
    }

    #[test]
    fn the_detector_is_blind_to_units(values in prop::collection::vec(0.01f64..100.0, 20..60), unit in 0.001f64..1000.0) {
        let profile: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        let scaled: Vec<Option<f64>> = values.iter().map(|value| Some(value * unit)).collect();
        let (plain, scaled) = (Detection::of(&profile, 3.5), Detection::of(&scaled, 3.5));
        for (a, b) in plain.z.iter().flatten().zip(scaled.z.iter().flatten()) {
            prop_assert!((a - b).abs() < 1e-9);
        }
        prop_assert!((scaled.line / plain.line / unit - 1.0).abs() < 1e-9);
    }

    #[test]
    fn any_profile_is_survived(values in prop::collection::vec(prop::option::of(any::<f64>()), 0..80), threshold: f64) {
        let detection = Detection::of(&values, threshold);
        prop_assert_eq!(detection.z.len(), values.len());
        prop_assert!(detection.z.iter().flatten().all(|z| z.is_finite()));
    }
}

#[test]
fn with_50_tokens_nothing_is_tested_and_with_51_the_first_sink_is_found() {
    let sink = |n| Layer::softmax(n, 1, None, |_, _, key| if key == 0 { 4.0 } else { 0.0 });
    let short = analyse(&table(50, 1, &[sink(50)]), ProfileKind::FarLift);
    assert_eq!((short.detection.usable, short.detection.tested), (19, false));
    let enough = analyse(&table(51, 1, &[sink(51)]), ProfileKind::FarLift);
    assert_eq!(enough.detection.usable, MIN_USABLE_KEYS);
    assert_eq!(enough.detection.flagged, [0]);
    assert_eq!(enough.not_tested(), None);
}

#[test]
fn the_last_31_keys_have_no_far_lift_and_all_have_the_others() {
    let n = 80;
    let profiles = Profiles::of(&table(n, 1, &[Layer::uniform(n, 1, None)]), &Selection::default());
    assert!(profiles.far_lift[..n - 31].iter().all(Option::is_some));
    assert!(profiles.far_lift[n - 31..].iter().all(Option::is_none));
    assert!([profiles.share, profiles.alpha, profiles.lift].iter().flatten().all(Option::is_some));
}

#[test]
fn a_key_that_no_far_query_sees_in_any_chosen_layer_is_not_available() {
    let n = 100;
    let layers = [Layer::uniform(n, 1, Some(FAR_DELTA)), Layer::uniform(n, 1, None)];
    let table = table(n, 1, &layers);
    let only_local = Selection { layers: Some(vec![0]), heads: None };
    assert!(Profiles::of(&table, &only_local).far_lift.iter().all(Option::is_none));
    assert!(Profiles::of(&table, &Selection::default()).far_lift[0].is_some());
    let options = AnalysisOptions { selection: only_local, ..AnalysisOptions::default() };
    let analysis = Analysis::of_table(&table, vec![TokenClass::Content; n], options);
    assert_eq!(
        analysis.not_tested().as_deref(),
        Some("Not tested: needs 20 keys with a value, has 0"),
        "enough tokens, but none of them can be measured"
    );
}

#[test]
fn four_profiles_of_two_tokens_by_hand() {
    // Query 0 gives key 0 all; query 1 splits 3 : 1.
    let layer = Layer::of(2, 1, None, |_, query| if query == 0 { vec![1.0] } else { vec![0.75, 0.25] });
    let profiles = Profiles::of(&table(2, 1, &[layer]), &Selection::default());
    assert_close(&profiles.share, &[Some(1.75 / 2.0), Some(0.25 / 2.0)]);
    assert_close(&profiles.alpha, &[Some(1.75 / 2.0), Some(0.25)]);
    assert_close(&profiles.lift, &[Some(1.75 / 1.5), Some(0.25 / 0.5)]);
    assert_close(&profiles.far_lift, &[None, None]);
}

#[test]
fn a_window_changes_who_sees_a_key() {
    // Window 2, three tokens: key 0 is seen by queries 0 and 1, key 1 by 1 and 2, key 2 by itself.
    let layer = Layer::of(3, 1, Some(2), |_, query| match query {
        0 => vec![1.0],
        1 => vec![0.5, 0.5],
        _ => vec![0.0, 0.9, 0.1],
    });
    let profiles = Profiles::of(&table(3, 1, &[layer]), &Selection::default());
    assert_close(&profiles.alpha, &[Some(0.75), Some(0.7), Some(0.1)]);
    assert_close(&profiles.lift, &[Some(1.5 / 1.5), Some(1.4 / 1.0), Some(0.1 / 0.5)]);
}

#[test]
fn the_sink_rate_counts_heads_strictly_above_epsilon() {
    // Two tokens; α of key 1 is its own row's weight. 0.25 and 0.5 are exact in f32.
    let layer = Layer::of(2, 2, None, |head, query| match (query, head) {
        (0, _) => vec![1.0],
        (_, 0) => vec![0.75, 0.25],
        _ => vec![0.5, 0.5],
    });
    let layers = [layer];
    let table = table(2, 2, &layers);
    let profiles = Profiles::of(&table, &Selection::default());
    assert_eq!(profiles.sink_rate, [1.0, 0.5]);
    assert_eq!(alpha_of_key(&table, 1), [[0.25, 0.5]]);
    let first_head = Selection { layers: None, heads: Some(vec![0]) };
    assert_eq!(Profiles::of(&table, &first_head).sink_rate, [1.0, 0.0]);
}

#[test]
fn an_empty_selection_has_no_values_and_flags_nothing() {
    let layers = [Layer::uniform(60, 1, None)];
    let options = AnalysisOptions {
        selection: Selection { layers: Some(Vec::new()), heads: None },
        ..AnalysisOptions::default()
    };
    let analysis = Analysis::of_table(&table(60, 1, &layers), vec![TokenClass::Content; 60], options);
    assert!(analysis.share.iter().all(Option::is_none));
    assert!(!analysis.detection.tested && analysis.sinks.is_empty());
}

#[test]
fn the_detector_by_hand() {
    // Logarithms −10…10, one each, and 30: median 0.5, |x − median| has median 5.5.
    let logs: Vec<f64> = (-10..=10).map(f64::from).chain([30.0]).collect();
    let detection = Detection::of(&exp(&logs), DEFAULT_THRESHOLD);
    assert!((detection.median_ln - 0.5).abs() < 1e-12);
    assert!((detection.mad_ln - 5.5).abs() < 1e-12);
    assert!((detection.sigma_ln - 5.5 / 0.6745).abs() < 1e-12);
    let z = 29.5 * 0.6745 / 5.5;
    assert!((detection.z[21].unwrap() - z).abs() < 1e-12);
    assert_eq!(detection.flagged, [21], "z = {z}");
    assert!((detection.line.ln() - (0.5 + 3.5 * 5.5 / 0.6745)).abs() < 1e-12);
    assert!((detection.threshold_at(detection.line) - 3.5).abs() < 1e-9);
}

#[test]
fn z_must_exceed_the_threshold() {
    let logs: Vec<f64> = (-10..=10).map(f64::from).chain([30.0]).collect();
    let z = Detection::of(&exp(&logs), 0.0).z[21].unwrap();
    assert_eq!(Detection::of(&exp(&logs), z).flagged, [0usize; 0], "equal is not above");
    assert_eq!(Detection::of(&exp(&logs), z - 1e-9).flagged, [21]);
}

#[test]
fn a_dip_is_not_flagged() {
    let logs: Vec<f64> = (-10..=10).map(f64::from).chain([-300.0]).collect();
    assert_eq!(Detection::of(&exp(&logs), DEFAULT_THRESHOLD).flagged, [0usize; 0]);
}

#[test]
fn a_mad_of_zero_falls_back_to_the_mean_deviation() {
    let mut logs = vec![0.0; 30];
    logs[7] = 6.0;
    let detection = Detection::of(&exp(&logs), DEFAULT_THRESHOLD);
    assert!(detection.mad_ln.abs() < f64::EPSILON);
    assert!((detection.sigma_ln - 1.2533 * 6.0 / 30.0).abs() < 1e-12);
    assert_eq!(detection.flagged, [7]);
}

#[test]
fn a_nearly_constant_profile_flags_nothing() {
    let mut logs: Vec<f64> = (0..30).map(|i| f64::from(i % 3) * 1e-6).collect();
    logs[4] = 0.2;
    let detection = Detection::of(&exp(&logs), DEFAULT_THRESHOLD);
    assert!((detection.sigma_ln - 0.05 / 0.6745).abs() < 1e-12, "the floor");
    assert_eq!(detection.flagged, [0usize; 0]);
    logs[4] = 0.3;
    assert_eq!(Detection::of(&exp(&logs), DEFAULT_THRESHOLD).flagged, [4], "and the floor is low enough");
}

#[test]
fn a_zero_is_lifted_to_half_the_smallest_value_and_a_missing_one_stays_missing() {
    let mut profile = vec![Some(1.0); 25];
    profile[3] = Some(0.0);
    profile[4] = Some(0.25);
    profile[5] = None;
    profile[6] = Some(f64::NAN);
    let detection = Detection::of(&profile, DEFAULT_THRESHOLD);
    assert_eq!((detection.floored, detection.usable), (1, 23));
    let z = |value: f64| (value.ln() - detection.median_ln) / detection.sigma_ln;
    assert!((detection.z[3].unwrap() - z(0.125)).abs() < 1e-12);
    assert!((detection.z[4].unwrap() - z(0.25)).abs() < 1e-12);
    assert_eq!((detection.z[5], detection.z[6]), (None, None));
}

#[test]
fn a_profile_of_zeros_is_not_tested() {
    let detection = Detection::of(&[Some(0.0); 40], DEFAULT_THRESHOLD);
    assert!(!detection.tested && detection.flagged.is_empty() && detection.line.is_finite());
}

#[test]
fn changing_the_detector_equals_analysing_again() {
    let logit = |_: usize, _: usize, key: usize| if key.is_multiple_of(37) { 3.0 } else { 0.0 };
    let layers = [Layer::softmax(120, 2, None, logit)];
    let table = table(120, 2, &layers);
    let moved = analyse(&table, ProfileKind::FarLift).with_detector(ProfileKind::Share, 5.0);
    let options = AnalysisOptions {
        profile: ProfileKind::Share,
        threshold: Some(5.0),
        selection: Selection::default(),
    };
    assert_eq!(moved, Analysis::of_table(&table, vec![TokenClass::Content; 120], options));
}

#[test]
fn a_capture_gives_what_its_table_gives() {
    let capture = toy_capture::capture(70, |_, _, _, key| if key == 0 { 5.0 } else { 0.0 });
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    assert_eq!(analysis.detection.flagged, [0]);
    assert_eq!(analysis.sinks[0].class, TokenClass::Bos);
    assert_eq!(analysis.classes[2], TokenClass::Delimiter);
    assert!((analysis.sinks[0].sink_rate - 1.0).abs() < 1e-12);
    assert_eq!(analysis.not_tested(), None);
}

#[test]
fn corroboration_of_a_sink_that_is_born_in_the_second_layer() {
    let n = 60;
    // In layer 1, key 3 draws two of three heads.
    let mut capture = toy_capture::capture(
        n,
        |layer, head, _, key| if (layer, key) == (1, 3) && head < 2 { 6.0 } else { 0.0 },
    );
    for layer in &mut capture.layers {
        layer.hidden_max_abs = vec![3.0; n];
        layer.key_norm[3] = 0.25;
        layer.value_norm[3] = 0.125;
    }
    capture.layers[0].hidden_norm[3] = 40.0;
    capture.layers[1].hidden_norm[3] = 900.0;
    capture.layers[1].hidden_max_abs[3] = 870.0;
    let facts = Corroboration::of(&capture, 3).unwrap();
    assert_eq!((facts.hidden_norm_layer, facts.birth_layer, facts.massive), (1, Some(1), true));
    for (ours, expected) in [
        (facts.hidden_norm_ratio, 900.0),
        (facts.hidden_max_abs, 870.0),
        (facts.key_norm_ratio, 0.25),
        (facts.value_norm_ratio, 0.125),
        (facts.head_share, 2.0 / 6.0),
    ] {
        assert!((ours - expected).abs() < 1e-9, "{ours} is not {expected}");
    }
    let plain = Corroboration::of(&capture, 20).unwrap();
    assert_eq!((plain.birth_layer, plain.massive), (None, false));
    assert!((plain.hidden_norm_ratio - 1.0).abs() < 1e-9);
    assert_eq!(Corroboration::of(&capture, n), None, "there is no such token");
}

#[test]
fn a_massive_activation_is_large_and_far_above_the_typical_one() {
    let n = 30;
    let massive = |magnitude: f32, typical_norm: f32| {
        let mut capture = toy_capture::capture(n, |_, _, _, _| 0.0);
        capture.layers[0].hidden_norm = vec![typical_norm; n];
        capture.layers[0].hidden_max_abs[5] = magnitude;
        Corroboration::of(&capture, 5).unwrap().massive
    };
    // The residual stream is n wide: its root mean square is the norm over √n.
    let norm_of_rms = |rms: f32| rms * (n as f32).sqrt();
    assert!(massive(101.0, norm_of_rms(0.1)));
    assert!(!massive(99.0, norm_of_rms(0.01)), "not above 100");
    assert!(!massive(101.0, norm_of_rms(0.11)), "not 1000 times the typical one");
}

#[test]
fn maps_over_layers_have_a_row_for_each() {
    let capture =
        toy_capture::capture(60, |layer, head, _, key| if key == 0 { (layer + head) as f32 } else { 0.0 });
    let alpha = alpha_by_layer_head(&capture, 0);
    assert_eq!((alpha.len(), alpha[0].len()), (2, 3));
    assert!(alpha[0][0] < alpha[0][1] && (alpha[0][1] - alpha[1][0]).abs() < 1e-6);
    let far_lift = far_lift_by_layer(&capture);
    assert_eq!((far_lift.len(), far_lift[1].len()), (2, 60));
    assert!(far_lift[1][0] > far_lift[0][0] && far_lift[0][40].is_none());
    for key in 0..60 {
        let column = far_lift_of_key(&MassTable::of(&capture), key);
        let rows = far_lift.iter().map(|row| row[key]);
        for (value, of_map) in column.into_iter().zip(rows) {
            match (value, of_map) {
                (Some(a), Some(b)) => assert!((a / b - 1.0).abs() < 1e-12, "key {key}"),
                (a, b) => assert_eq!(a, b, "key {key}"),
            }
        }
    }
}

#[derive(serde::Deserialize)]
struct Reference {
    far_lift: Vec<Option<f64>>,
    z: Vec<Option<f64>>,
    share: Vec<f64>,
    alpha: Vec<f64>,
    sink_rate_03: Vec<f64>,
    flagged: Vec<usize>,
    alpha0_by_layer_head: Vec<Vec<f64>>,
}

const REFERENCES: [(&str, &str); 2] = [
    ("chat", include_str!("fixtures/smollm2/chat.profiles.json")),
    ("gpl3", include_str!("fixtures/smollm2/gpl3.profiles.json")),
];

#[test]
fn the_detector_agrees_with_the_reference_on_smollm2() {
    for (name, json) in REFERENCES {
        let reference: Reference = serde_json::from_str(json).unwrap();
        let detection = Detection::of(&reference.far_lift, DEFAULT_THRESHOLD);
        assert_eq!(detection.flagged, reference.flagged, "{name}");
        assert_eq!(detection.z.len(), reference.z.len(), "{name}");
        for (key, (ours, theirs)) in detection.z.iter().zip(&reference.z).enumerate() {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => assert!((ours - theirs).abs() < 1e-2, "{name} key {key}"),
                _ => assert_eq!(ours, theirs, "{name} key {key}"),
            }
        }
    }
}

#[test]
fn alpha_and_sink_rate_agree_with_the_reference_on_smollm2() {
    for (name, json) in REFERENCES {
        let reference: Reference = serde_json::from_str(json).unwrap();
        let n = reference.share.len();
        // One head whose column sums are the reference's mean over all heads.
        let mass: Vec<f32> = reference.share.iter().map(|share| (share * n as f64) as f32).collect();
        let layers = [Layer { window: None, column_sums: mass.clone(), far_column_sums: mass }];
        let alpha = Profiles::of(&table(n, 1, &layers), &Selection::default()).alpha;
        for (key, (ours, theirs)) in alpha.iter().zip(&reference.alpha).enumerate() {
            let ours = ours.unwrap();
            assert!((ours / theirs - 1.0).abs() < 1e-3, "{name} key {key}: {ours} and {theirs}");
        }
        // Key 0 alone in every head.
        let heads = reference.alpha0_by_layer_head[0].len();
        let layers: Vec<Layer> = reference
            .alpha0_by_layer_head
            .iter()
            .map(|alpha0| {
                let mut sums = vec![0.0; heads * n];
                for (head, alpha0) in alpha0.iter().enumerate() {
                    sums[head * n] = (alpha0 * n as f64) as f32;
                }
                Layer { window: None, far_column_sums: sums.clone(), column_sums: sums }
            })
            .collect();
        let rate = Profiles::of(&table(n, heads, &layers), &Selection::default()).sink_rate[0];
        assert!((rate - reference.sink_rate_03[0]).abs() < 0.5 / 270.0, "{name}: {rate}");
    }
}

fn exp(logs: &[f64]) -> Vec<Option<f64>> {
    logs.iter().map(|log| Some(log.exp())).collect()
}

fn assert_close(ours: &[Option<f64>], expected: &[Option<f64>]) {
    assert_eq!(ours.len(), expected.len());
    for (ours, expected) in ours.iter().zip(expected) {
        match (ours, expected) {
            (Some(a), Some(b)) => assert!((a - b).abs() < 1e-6, "{ours:?} is not {expected:?}"),
            _ => assert_eq!(ours, expected),
        }
    }
}

/// A capture whose rows give part of their attention to a virtual key, column sums included.
fn with_virtual_key(n: usize, logit: f64) -> sinkscope::capture::Capture {
    let mut capture = toy_capture::capture(n, |_, head, _, key| if key == head { 2.0 } else { 0.0 });
    let heads = capture.model.spec.heads;
    for layer in &mut capture.layers {
        layer.score.sink_logits = Some(vec![logit; heads].into());
        layer.lse.iter_mut().for_each(|lse| *lse = (f64::from(*lse).exp() + logit.exp()).ln() as f32);
    }
    for layer in 0..capture.layers.len() {
        let sums: Vec<f32> = (0..heads)
            .flat_map(|head| capture.head_column_sums(layer, head, n, 16).0)
            .map(|sum| sum as f32)
            .collect();
        capture.layers[layer].column_sums = sums;
    }
    capture
}

#[test]
fn what_keys_do_not_get_goes_to_the_virtual_key() {
    let capture = with_virtual_key(40, 1.5);
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    let virtual_key = analysis.virtual_key.expect("a virtual key");
    let on_keys: f64 = analysis.share.iter().flatten().sum();
    assert!((on_keys + virtual_key.share - 1.0).abs() < 1e-6);
    // Row t of head 2 sees a key of score 2 and t of score 0, or, before it, t + 1 of score 0.
    let weight = |t: usize| {
        let keys = if t >= 2 { 2_f64.exp() + t as f64 } else { (t + 1) as f64 };
        1.5_f64.exp() / (keys + 1.5_f64.exp())
    };
    let mean = (0..40).map(weight).sum::<f64>() / 40.0;
    assert!((virtual_key.by_layer_head[1][2] - mean).abs() < 1e-6);
    let harmonic: f64 = (1..=40).map(|i| 1.0 / f64::from(i)).sum();
    assert!((virtual_key.lift - virtual_key.share * 40.0 / harmonic).abs() < 1e-12);
    // The first rows alone give it more.
    let prefix = Analysis::of_prefix(&capture, 3, AnalysisOptions::default());
    assert!(prefix.virtual_key.expect("a virtual key").share > virtual_key.share);
}

#[test]
fn a_plain_model_has_no_virtual_key() {
    let capture = toy_capture::capture(30, |_, _, _, _| 0.0);
    assert_eq!(Analysis::of(&capture, AnalysisOptions::default()).virtual_key, None);
}

#[test]
fn peak_and_tail_follow_from_the_weights_for_any_p() {
    for capture in
        [with_virtual_key(30, 1.0), toy_capture::capture(30, |_, head, _, key| (key + head) as f32 / 9.0)]
    {
        let table = PeakTable::of(&capture);
        for peak_keys in [1, 2, 4, 17, 29] {
            for head in 0..3 {
                let split = table.split(1, head, peak_keys).expect("rows behind the peak");
                let row = |query: usize, keys: std::ops::Range<usize>| -> f64 {
                    keys.map(|key| f64::from(capture.weight(1, head, query, key).unwrap())).sum()
                };
                let rows = (30 - peak_keys) as f64;
                let peak = (peak_keys..30).map(|query| row(query, 0..peak_keys)).sum::<f64>() / rows;
                let tail = (peak_keys..30).map(|query| row(query, peak_keys..query + 1)).sum::<f64>() / rows;
                assert!((split.peak - peak).abs() < 1e-5, "P = {peak_keys}: {split:?} is not {peak}");
                assert!((split.tail - tail).abs() < 1e-5, "P = {peak_keys}: {split:?} is not {tail}");
                assert!((split.peak + split.tail + split.virtual_key - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(table.split(1, 0, 30), None, "no row behind the peak");
        let all = (0..2).flat_map(|layer| (0..3).map(move |head| (layer, head)));
        let mean = table.mean(all, 4).expect("a mean");
        assert!((mean.peak + mean.tail + mean.virtual_key - 1.0).abs() < 1e-9);
        assert_eq!(table.mean(std::iter::empty(), 4), None);
    }
}

#[test]
fn norms_are_told_against_the_median_token_of_each_layer() {
    let mut capture = toy_capture::capture(9, |_, _, _, _| 0.0);
    capture.layers[1].hidden_norm[4] = 30.0;
    capture.layers[1].key_norm[4] = 0.5;
    capture.layers[0].value_norm = vec![0.0; 9];
    let norms = norm_ratios_by_layer(&capture, 4);
    assert_eq!(norms[0], NormRatios { hidden: Some(1.0), key: Some(1.0), value: None });
    assert_eq!(norms[1], NormRatios { hidden: Some(30.0), key: Some(0.5), value: Some(1.0) });
    assert!(norm_ratios_by_layer(&capture, 9).is_empty(), "no such token");
}
