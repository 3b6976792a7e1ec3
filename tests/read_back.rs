//! Every kind of exported file, read back by another reader than its writer and compared with the numbers in memory.

mod toy_capture;

use base64::Engine as _;
use candle_core::Tensor;
use resvg::usvg::roxmltree;
use sinkscope::analysis::{Analysis, AnalysisOptions, HeadMetrics};
use sinkscope::capture::{Capture, MASKED};
use sinkscope::color::{ColorMap, ColorScale, ColorTable, ScaleKind};
use sinkscope::eviction::{EvictionCase, EvictionRun, PinChoice, Pins, Retention, Schedule};
use sinkscope::export::{
    AnalysisReport, Area, EvictionReport, Item, Raster, Theme, View, ViewOptions, draw, evictions_csv,
    heads_csv, tokens_csv, write_image, write_json, write_patterns,
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
        let options = ViewOptions { theme, color, map: ColorMap::Cividis, range: Some((0.001, 0.8)), scale };
        let view = View::Head { layer: 1, head: 1 };
        let drawing = draw(view, &capture, &analysis, &options, &CancelToken::new()).unwrap();
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
