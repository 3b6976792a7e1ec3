//! Every kind of exported file, read back by another reader than its writer and compared with the numbers in memory.

mod toy_capture;

use base64::Engine as _;
use candle_core::Tensor;
use resvg::usvg::roxmltree;
use sinkscope::analysis::{
    Analysis, AnalysisOptions, HeadMetrics, HeadOrder, PeakTable, alpha_by_layer_head, birth_layer,
    far_lift_by_layer, norm_ratios_by_layer, share_on_keys,
};
use sinkscope::capture::{AlignBy, Capture, Difference, Hiding, MASKED, NOT_AVAILABLE, PatternOf, Shaping};
use sinkscope::color::{ColorMap, ColorScale, ColorTable, ScaleKind};
use sinkscope::eviction::{EvictionCase, EvictionRun, PinChoice, Pins, Retention, Schedule};
use sinkscope::export::{
    AnalysisReport, Area, EvictionReport, ExportError, GridView, Item, LinesView, Material, Part, Raster,
    RunRef, StripBy, StripView, Theme, View, ViewOptions, draw, evictions_csv, heads_csv, tokens_csv,
    write_image, write_json, write_patterns, write_view,
};
use sinkscope::progress::CancelToken;
use std::path::Path;
use toy_capture::capture;

const TOKENS: usize = 70;

fn sinking() -> (Capture, Analysis) {
    let capture = capture(TOKENS, |layer, head, query, key| {
        let noise = ((layer * 7 + head * 13 + query * 31 + key * 17) % 11) as f32 / 6.1;
        noise + if key == 0 || key == 30 { 5.0 } else { 0.0 }
    });
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    assert!(!analysis.sinks.is_empty());
    (capture, analysis)
}

fn weights(capture: &Capture, layer: usize, head: usize) -> Vec<f32> {
    let cell = |query, key| capture.weight(layer, head, query, key).unwrap_or(0.0);
    (0..TOKENS).flat_map(|query| (0..TOKENS).map(move |key| cell(query, key))).collect()
}

/// RFC 4180, read character by character.
fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\r', false) => assert_eq!(chars.peek(), Some(&'\n')),
            ('\n', false) => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            (c, _) => field.push(c),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !quoted, "the last line is ended");
    assert!(rows.iter().all(|row: &Vec<String>| row.len() == rows[0].len()), "as many fields in every row");
    rows
}

fn number(field: &str) -> Option<f64> {
    (!field.is_empty()).then(|| field.parse().unwrap())
}

#[test]
fn token_tables_hold_every_profile_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.csv");
    let (capture, analysis) = sinking();
    tokens_csv(&path, &capture, &analysis).unwrap();
    let rows = csv(&path);
    assert_eq!(rows.len(), TOKENS + 1);
    assert_eq!(rows[0][..3], ["index", "id", "token"]);
    for (index, row) in rows[1..].iter().enumerate() {
        assert_eq!(row[0], index.to_string());
        assert_eq!(row[2], capture.tokens.tokens[index].text(), "newlines and markup survive");
        assert_eq!(row[3], analysis.classes[index].name());
        let profiles =
            [&analysis.share, &analysis.alpha, &analysis.lift, &analysis.far_lift, &analysis.detection.z];
        for (field, values) in row[4..9].iter().zip(profiles) {
            assert_eq!(number(field), values[index], "{}", rows[0][4]);
        }
        let is_sink = analysis.sinks.iter().any(|sink| sink.index == index);
        assert_eq!(row[9], if is_sink { "1" } else { "0" });
        assert_eq!(number(&row[10]), Some(analysis.sink_rate[index]));
        let nll: Option<f32> = (!row[11].is_empty()).then(|| row[11].parse().unwrap());
        assert_eq!(nll, index.checked_sub(1).map(|row| capture.nll_nats[row]));
    }
}

#[test]
fn head_tables_hold_every_metric() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heads.csv");
    let (capture, analysis) = sinking();
    heads_csv(&path, &capture, &analysis).unwrap();
    let rows = csv(&path);
    assert_eq!(rows.len(), 1 + 2 * 3);
    for row in &rows[1..] {
        let (layer, head) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        let metrics = HeadMetrics::of(&capture, layer, head);
        let wanted = [
            metrics.entropy,
            metrics.mean_distance,
            metrics.previous_token,
            metrics.induction,
            metrics.peak_share,
        ];
        assert_eq!(row[3..].iter().map(|field| number(field)).collect::<Vec<_>>(), wanted);
        let on_sinks: f64 = analysis
            .detection
            .flagged
            .iter()
            .map(|&key| f64::from(capture.layers[layer].column_sums[head * TOKENS + key]))
            .sum();
        assert!((number(&row[2]).unwrap() - on_sinks / TOKENS as f64).abs() < 1e-12);
    }
}

#[test]
fn patterns_come_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (capture, _) = sinking();
    let pairs = [(0, 1), (1, 2), (1, 0)];

    write_patterns(&at("p.safetensors"), &capture, &pairs).unwrap();
    let bytes = std::fs::read(at("p.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), 3);
    for (layer, head) in pairs {
        let tensor = tensors.tensor(&format!("l{layer}h{head}")).unwrap();
        assert_eq!(tensor.shape(), [TOKENS, TOKENS]);
        let values: Vec<f32> =
            tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(values, weights(&capture, layer, head));
    }

    write_patterns(&at("p.npy"), &capture, &pairs).unwrap();
    let stack = Tensor::read_npy(at("p.npy")).unwrap();
    assert_eq!(stack.dims(), [3, TOKENS, TOKENS]);
    let wanted: Vec<f32> = pairs.iter().flat_map(|&(layer, head)| weights(&capture, layer, head)).collect();
    assert_eq!(stack.flatten_all().unwrap().to_vec1::<f32>().unwrap(), wanted);
    write_patterns(&at("one.npy"), &capture, &pairs[..1]).unwrap();
    let one = Tensor::read_npy(at("one.npy")).unwrap();
    assert_eq!(one.dims(), [TOKENS, TOKENS]);
    assert_eq!(one.flatten_all().unwrap().to_vec1::<f32>().unwrap(), wanted[..TOKENS * TOKENS]);

    write_patterns(&at("p.csv"), &capture, &pairs[..1]).unwrap();
    let rows = csv(&at("p.csv"));
    assert_eq!(rows.len(), TOKENS + 1);
    for (query, row) in rows[1..].iter().enumerate() {
        for (key, field) in row[1..].iter().enumerate() {
            let weight: Option<f32> = (!field.is_empty()).then(|| field.parse().unwrap());
            assert_eq!(weight, capture.weight(0, 1, query, key), "masked is empty");
        }
    }

    write_patterns(&at("p.json"), &capture, &pairs[1..2]).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(at("p.json")).unwrap()).unwrap();
    assert_eq!((json["layer"].as_u64(), json["head"].as_u64()), (Some(1), Some(2)));
    for query in 0..TOKENS {
        let row = json["weights"][query].as_array().unwrap();
        assert_eq!(row.len(), query + 1);
        for (key, weight) in row.iter().enumerate() {
            assert_eq!(Some(weight.as_f64().unwrap() as f32), capture.weight(1, 2, query, key));
        }
    }
}

#[test]
fn patterns_that_can_not_be_written_say_why_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (mut capture, _) = sinking();
    let failure = |capture: &Capture, name: &str, pairs: &[(usize, usize)]| {
        write_patterns(&at(name), capture, pairs).unwrap_err().to_string()
    };
    assert!(failure(&capture, "p.txt", &[(0, 0)]).starts_with("Unknown pattern format"));
    assert!(failure(&capture, "p.csv", &[(0, 0), (0, 1)]).contains("of one head, not of 2"));
    assert!(failure(&capture, "p.npy", &[(0, 3)]).contains("There is no layer 0, head 3"));
    capture.layers.iter_mut().for_each(|layer| layer.q.clear());
    assert!(failure(&capture, "p.npy", &[(0, 0)]).contains("keeps no queries and keys"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Writes a view and reads it back as CSV.
fn table(view: &View, material: &Material<'_>, options: &ViewOptions) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.csv");
    write_view(view, material, options, &path, &CancelToken::new()).unwrap();
    csv(&path)
}

/// The same as JSON.
fn report(view: &View, material: &Material<'_>, options: &ViewOptions) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.json");
    write_view(view, material, options, &path, &CancelToken::new()).unwrap();
    json(&path)
}

/// A table as CSV and as JSON says the same.
fn assert_same(rows: &[Vec<String>], report: &serde_json::Value) {
    let records = report["rows"].as_array().unwrap();
    assert_eq!(records.len(), rows.len() - 1);
    for (record, row) in records.iter().zip(&rows[1..]) {
        assert_eq!(record.as_object().unwrap().len(), row.len());
        for (name, field) in rows[0].iter().zip(row) {
            let value = &record[name];
            match value {
                serde_json::Value::Null => assert!(field.is_empty(), "{name}"),
                serde_json::Value::String(text) => assert_eq!(text, field),
                // The reader of JSON rounds the last bit of an f64 as it likes.
                number => {
                    let (a, b) = (number.as_f64().unwrap(), field.parse::<f64>().unwrap());
                    assert!((a - b).abs() <= f64::EPSILON * b.abs(), "{name}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn lines_are_the_weights_of_their_window() {
    let (capture, analysis) = sinking();
    let lines = LinesView { layer: 1, heads: vec![0, 2], first: 20, tokens: 25, least: 0.02 };
    let view = View::Lines(lines);
    let (material, options) = (Material::of(&capture, &analysis), ViewOptions::default());
    let rows = table(&view, &material, &options);
    assert_same(&rows, &report(&view, &material, &options));
    let mut wanted = Vec::new();
    for head in [0, 2] {
        for query in 20..45 {
            for key in std::iter::once(0).chain(20..=query) {
                let weight = capture.weight(1, head, query, key).unwrap();
                if weight >= 0.02 {
                    wanted.push((head, query, key, weight));
                }
            }
        }
    }
    let read: Vec<(usize, usize, usize, f32)> = rows[1..]
        .iter()
        .map(|row| {
            (
                row[0].parse().unwrap(),
                row[1].parse().unwrap(),
                row[3].parse().unwrap(),
                row[5].parse().unwrap(),
            )
        })
        .collect();
    assert!(wanted.len() > 50);
    assert_eq!(read, wanted, "the sink before the window and the window itself, nothing else");
    assert_eq!(rows[1][2], capture.tokens.tokens[20].text());
}

#[test]
fn the_pages_beside_the_sinks_come_back() {
    let (capture, analysis) = sinking();
    let (material, options) = (Material::of(&capture, &analysis), ViewOptions::default());

    let view = View::TokenHeads(30);
    let rows = table(&view, &material, &options);
    assert_same(&rows, &report(&view, &material, &options));
    let alpha = alpha_by_layer_head(&capture, 30);
    assert_eq!(rows.len(), 1 + 6);
    for row in &rows[1..] {
        let (layer, head): (usize, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!(number(&row[2]), Some(alpha[layer][head]));
    }

    let view = View::Peak(3);
    let rows = table(&view, &material, &options);
    let read = report(&view, &material, &options);
    assert_same(&rows, &read);
    let peaks = PeakTable::of(&capture);
    for row in &rows[1..] {
        let (layer, head): (usize, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        let split = peaks.split(layer, head, 3).unwrap();
        assert_eq!([number(&row[2]), number(&row[3])], [Some(split.peak), Some(split.tail)]);
        assert_eq!(row[5], "1");
    }
    let mean = peaks.mean((0..2).flat_map(|layer| (0..3).map(move |head| (layer, head))), 3).unwrap();
    let read = read["about"]["mean"]["peak"].as_f64().unwrap();
    assert!((read - mean.peak).abs() <= f64::EPSILON * mean.peak);

    let view = View::Norms(30);
    let rows = table(&view, &material, &options);
    assert_same(&rows, &report(&view, &material, &options));
    for (row, norms) in rows[1..].iter().zip(norm_ratios_by_layer(&capture, 30)) {
        assert_eq!(
            [number(&row[1]), number(&row[2]), number(&row[3])],
            [norms.hidden, norms.key, norms.value]
        );
    }

    let rows = table(&View::Layers, &material, &options);
    let read = report(&View::Layers, &material, &options);
    let far_lift = far_lift_by_layer(&capture);
    for (layer, values) in far_lift.iter().enumerate() {
        let row: Vec<Option<f64>> = rows[1 + layer][1..].iter().map(|field| number(field)).collect();
        assert_eq!(&row, values);
        for (key, value) in values.iter().enumerate() {
            let read = read["layers"][layer][key].as_f64();
            assert_eq!(read.is_some(), value.is_some());
            if let (Some(a), Some(b)) = (read, *value) {
                assert!((a - b).abs() <= f64::EPSILON * b.abs());
            }
        }
    }
    for (sink, read) in analysis.detection.flagged.iter().zip(read["sinks"].as_array().unwrap()) {
        assert_eq!(read["index"].as_u64(), Some(*sink as u64));
        assert_eq!(read["birth_layer"].as_u64(), birth_layer(&far_lift, *sink).map(|layer| layer as u64));
    }

    let rows = table(&View::Grid(GridView::default()), &material, &options);
    assert_same(&rows, &report(&View::Grid(GridView::default()), &material, &options));
    let grid = GridView { order: HeadOrder::OnSelected, token: Some(30), ..GridView::default() };
    let view = View::Grid(grid);
    let rows = table(&view, &material, &options);
    assert_eq!(rows[0].last().unwrap(), "share on token 30");
    for row in &rows[1..] {
        let (layer, head): (usize, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!(number(row.last().unwrap()), share_on_keys(&capture, layer, head, &[30]));
    }

    let view = View::Strip(StripView { by: StripBy::Outgoing, tokens: vec![20, 21] });
    let rows = table(&view, &material, &options);
    assert_same(&rows, &report(&view, &material, &options));
    for (key, row) in rows[1..].iter().enumerate() {
        let of_head = |index: usize| {
            let seen = [20, 21].map(|query| capture.weight(index / 3, index % 3, query, key));
            let seen: Vec<f64> = seen.into_iter().flatten().map(f64::from).collect();
            (!seen.is_empty()).then(|| seen.iter().sum::<f64>())
        };
        let heads: Vec<f64> = (0..6).filter_map(of_head).collect();
        let mean = (!heads.is_empty()).then(|| heads.iter().sum::<f64>() / heads.len() as f64);
        let read: Option<f32> = (!row[3].is_empty()).then(|| row[3].parse().unwrap());
        assert_eq!(read, mean.map(|mean| mean as f32), "key {key}");
    }
}

#[test]
fn a_pattern_is_written_as_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, analysis) = sinking();
    let material = Material::of(&capture, &analysis);
    let of = PatternOf::LayerMean(1);
    let options = ViewOptions {
        hiding: Hiding::Renormalised,
        part: Some(Part { rows: 10..50, keys: 0..35 }),
        ..ViewOptions::default()
    };
    let shaping = Shaping { hidden: analysis.detection.flagged.clone(), renormalised: true };
    let rows: Vec<usize> = (10..50).collect();
    let wanted = capture.weights(of, &shaping, &rows, 0..35);
    assert!(wanted.contains(&NOT_AVAILABLE) && wanted.contains(&MASKED));

    let read = table(&View::Pattern(of), &material, &options);
    assert_eq!((read.len(), read[0].len()), (41, 36));
    assert_eq!((read[0][1].as_str(), read[1][0].as_str()), ("0", "10"));
    for (row, wanted) in read[1..].iter().zip(wanted.chunks_exact(35)) {
        for (field, &weight) in row[1..].iter().zip(wanted) {
            let weight = (weight >= 0.0).then_some(weight);
            assert_eq!((!field.is_empty()).then(|| field.parse::<f32>().unwrap()), weight);
        }
    }
    let read = report(&View::Pattern(of), &material, &options);
    assert_eq!((read["layer"].as_u64(), read["head"].is_null()), (Some(1), true));
    for (index, query) in rows.iter().enumerate() {
        let row = read["weights"][index].as_array().unwrap();
        assert_eq!(row.len(), (query + 1).min(35), "as far as the query sees, within the part");
        for (key, value) in row.iter().enumerate() {
            let weight = wanted[index * 35 + key];
            assert_eq!(value.as_f64().map(|value| value as f32), (weight >= 0.0).then_some(weight));
        }
    }
    let path = folder.path().join("p.npy");
    write_view(&View::Pattern(of), &material, &options, &path, &CancelToken::new()).unwrap();
    let read = Tensor::read_npy(&path).unwrap();
    assert_eq!(read.dims(), [40, 35]);
    let read = read.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    for (read, &weight) in read.iter().zip(&wanted) {
        match weight {
            MASKED => assert_eq!(*read, 0.0),
            NOT_AVAILABLE => assert!(read.is_nan(), "a hidden key is no zero"),
            weight => assert_eq!(*read, weight),
        }
    }
    let path = folder.path().join("p.safetensors");
    write_view(
        &View::Pattern(PatternOf::ModelMean),
        &material,
        &ViewOptions::default(),
        &path,
        &CancelToken::new(),
    )
    .unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("mean").unwrap().shape(), [TOKENS, TOKENS]);
}

#[test]
fn differences_of_two_runs_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, analysis) = sinking();
    let mut tokens = (*capture.tokens).clone();
    tokens.tokens.remove(0);
    let other = Capture { tokens: std::sync::Arc::new(tokens), id: 2, ..shorter() };
    let theirs = Analysis::of(&other, AnalysisOptions::default());
    let (capture, other) = (std::sync::Arc::new(capture), std::sync::Arc::new(other));
    let others = [RunRef { capture: &other, analysis: &theirs }];
    let material = Material { others: &others, ..Material::of(&capture, &analysis) };
    let (a, b) = (PatternOf::Head { layer: 1, head: 2 }, PatternOf::Head { layer: 0, head: 1 });
    let view = View::Difference { a, b, by: AlignBy::Tokens };
    // In memory: as the window reads a cell.
    let alignment = sinkscope::capture::Alignment::of(&capture.tokens, &other.tokens, AlignBy::Tokens);
    let side = alignment.len();
    let difference = Difference {
        a: (std::sync::Arc::clone(&capture), a),
        b: (std::sync::Arc::clone(&other), b),
        by: AlignBy::Tokens,
        alignment: std::sync::Arc::new(alignment),
    };
    let told = |row, column| difference.cell(row, column).filter(|value| *value != NOT_AVAILABLE);

    let rows = table(&view, &material, &ViewOptions::default());
    assert_eq!((rows.len(), rows[0][1].as_str(), rows[0][2].as_str()), (side + 1, "0|–", "1|0"));
    let read = report(&view, &material, &ViewOptions::default());
    let path = folder.path().join("d.npy");
    write_view(&view, &material, &ViewOptions::default(), &path, &CancelToken::new()).unwrap();
    let array = Tensor::read_npy(&path).unwrap().to_vec2::<f32>().unwrap();
    let mut seen = 0;
    for row in 0..side {
        for column in 0..side {
            let wanted = told(row, column);
            seen += usize::from(wanted.is_some());
            let field = &rows[1 + row][1 + column];
            assert_eq!((!field.is_empty()).then(|| field.parse::<f32>().unwrap()), wanted);
            assert_eq!(read["differences"][row][column].as_f64().map(|value| value as f32), wanted);
            match difference.cell(row, column) {
                None => assert_eq!(array[row][column], 0.0),
                Some(NOT_AVAILABLE) => assert!(array[row][column].is_nan()),
                Some(value) => assert_eq!(array[row][column], value),
            }
        }
    }
    assert!(seen > 2000);
    assert_eq!(read["entries"][0], serde_json::json!([0, null]));

    let rows = table(&View::Stability, &material, &ViewOptions::default());
    assert_same(&rows, &report(&View::Stability, &material, &ViewOptions::default()));
    let fates: Vec<&str> = rows[1..].iter().map(|row| row[4].as_str()).collect();
    assert_eq!(fates, ["place_stays", "fades", "new", "new"]);
    assert_eq!(rows[2][5], "29", "the sink at 30 stands at 29 there");
}

/// The text without one token; its sinks stand at the same places.
fn shorter() -> Capture {
    capture(TOKENS - 1, |layer, head, query, key| {
        let noise = ((layer * 5 + head * 13 + query * 29 + key * 17) % 11) as f32 / 6.1;
        noise + if key == 0 || key == 30 { 5.0 } else { 0.0 }
    })
}

#[test]
fn only_patterns_become_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, analysis) = sinking();
    let material = Material::of(&capture, &analysis);
    for view in [View::Profile, View::Layers, View::Peak(4), View::Stability, View::Eviction] {
        let path = folder.path().join("a.npy");
        let error =
            write_view(&view, &material, &ViewOptions::default(), &path, &CancelToken::new()).unwrap_err();
        assert!(matches!(error, ExportError::NoTensors { extension: "npy", .. }), "{view:?}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn run(budget: usize, pins: PinChoice, tokens: &[usize]) -> EvictionRun {
    let case = EvictionCase::fifo(budget, pins);
    let pins = Pins { tokens: tokens.iter().copied().collect(), scored_from: 0 };
    EvictionRun {
        retention: Retention::Shared(Schedule::of(&case, &pins.tokens, TOKENS)),
        nll_nats: (0..TOKENS - 1).map(|row| (row as f64 + budget as f64).sqrt() / 3.0).collect(),
        first_differing_row: Some(budget + 1),
        wall_ms: 1.0,
        case,
        pins,
    }
}

#[test]
fn evictions_come_back_from_csv_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let (csv_path, json_path) = (folder.path().join("e.csv"), folder.path().join("e.json"));
    let (capture, _) = sinking();
    let runs = [run(16, PinChoice::None, &[]), run(16, PinChoice::Tokens([0, 30].into()), &[0, 30])];
    let runs: Vec<&EvictionRun> = runs.iter().collect();
    evictions_csv(&csv_path, &capture, &runs).unwrap();
    let rows = csv(&csv_path);
    assert_eq!((rows.len(), rows[0].len()), (TOKENS, 5));
    for (row, fields) in rows[1..].iter().enumerate() {
        assert_eq!(fields[0], (row + 1).to_string());
        assert_eq!(number(&fields[2]), Some(f64::from(capture.nll_nats[row])));
        assert_eq!(number(&fields[3]), Some(runs[0].nll_nats[row]));
        assert_eq!(number(&fields[4]), Some(runs[1].nll_nats[row]));
    }
    write_json(&json_path, &EvictionReport::new(&capture, &runs)).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&json_path).unwrap()).unwrap();
    for (case, run) in json["cases"].as_array().unwrap().iter().zip(&runs) {
        let nll: Vec<f64> = serde_json::from_value(case["nll"].clone()).unwrap();
        assert!(nll.iter().zip(&run.nll_nats).all(|(a, b)| (a - b).abs() <= f64::EPSILON * b.abs()));
        let read: EvictionCase =
            sinkscope::eviction::read_cases(&serde_json::to_vec(&[case]).unwrap()).unwrap().remove(0);
        assert_eq!(read, run.case, "results can be run again");
    }
}

#[test]
fn reports_hold_what_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let (capture, analysis) = sinking();
    write_json(&path, &AnalysisReport::new(&capture, &analysis, 1.0)).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let sinks: Vec<u64> =
        json["sinks"].as_array().unwrap().iter().map(|s| s["index"].as_u64().unwrap()).collect();
    assert_eq!(sinks, analysis.sinks.iter().map(|sink| sink.index as u64).collect::<Vec<_>>());
    for (index, value) in analysis.far_lift.iter().enumerate() {
        let written = json["profiles"]["far_lift"][index].as_f64();
        assert_eq!(written.is_some(), value.is_some());
        if let (Some(a), Some(b)) = (written, *value) {
            assert!((a - b).abs() <= f64::EPSILON * b.abs());
        }
    }
}

/// The picture that an SVG has at an area.
fn embedded_image(svg: &str, area: Area) -> image::RgbImage {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let number = |node: roxmltree::Node<'_, '_>, name| node.attribute(name).unwrap().parse::<f32>().unwrap();
    let is_there = |node: &roxmltree::Node<'_, '_>| {
        let near = |name, wanted: f32| (number(*node, name) - wanted).abs() < 0.01;
        node.has_tag_name("image") && near("x", area.x) && near("width", area.width)
    };
    let node = tree.descendants().find(is_there).unwrap();
    let data = node.attribute("href").unwrap().strip_prefix("data:image/png;base64,").unwrap();
    let png = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    image::load_from_memory_with_format(&png, image::ImageFormat::Png).unwrap().to_rgb8()
}

/// Centre of a cell in pixels.
fn centre(area: Area, raster: &Raster, x: usize, y: usize, scale: f32) -> (u32, u32) {
    let at = |origin: f32, side: f32, cells: usize, cell: usize| {
        ((origin + side * (cell as f32 + 0.5) / cells as f32) * scale) as u32
    };
    (at(area.x, area.width, raster.width, x), at(area.y, area.height, raster.height, y))
}

#[test]
fn the_pixels_of_images_are_the_colours_of_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, analysis) = sinking();
    for (theme, color, scale) in [(Theme::Light, ScaleKind::Log, 1.0), (Theme::Dark, ScaleKind::Linear, 4.0)]
    {
        let options = ViewOptions {
            theme,
            color,
            map: ColorMap::Cividis,
            range: Some((0.001, 0.8)),
            scale,
            ..ViewOptions::default()
        };
        let view = View::Pattern(PatternOf::Head { layer: 1, head: 1 });
        let drawing = draw(&view, &Material::of(&capture, &analysis), &options, &CancelToken::new()).unwrap();
        let raster = drawing.items.iter().find_map(|item| match item {
            Item::Image(raster) if raster.width == TOKENS => Some(raster),
            _ => None,
        });
        let raster = raster.unwrap();
        let (png, svg) = (folder.path().join("a.png"), folder.path().join("a.svg"));
        write_image(&drawing, &png, scale).unwrap();
        write_image(&drawing, &svg, scale).unwrap();
        let png = image::open(&png).unwrap().to_rgb8();
        let embedded = embedded_image(&std::fs::read_to_string(&svg).unwrap(), raster.area);
        assert_eq!(embedded.dimensions(), (TOKENS as u32, TOKENS as u32), "a pixel a cell");
        let colors = ColorTable::new(
            ColorScale::of(color).over(0.001, 0.8),
            ColorMap::Cividis,
            theme.palette().special,
        );
        for query in 0..TOKENS {
            for key in 0..TOKENS {
                let weight = capture.weight(1, 1, query, key).unwrap_or(MASKED);
                let (x, y) = centre(raster.area, raster, key, query, scale);
                assert_eq!(png.get_pixel(x, y).0, colors.rgb(weight), "PNG: query {query} key {key}");
                let pixel = embedded.get_pixel(key as u32, query as u32).0;
                assert_eq!(pixel, colors.rgb(weight), "SVG: query {query} key {key}");
            }
        }
    }
}
