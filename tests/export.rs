//! Views as files, from a capture whose attention is set weight by weight.

mod toy_capture;

use resvg::usvg::roxmltree;
use sinkscope::analysis::{Analysis, AnalysisOptions, HeadOrder, share_on_keys};
use sinkscope::capture::{AlignBy, Capture, Hiding, NOT_AVAILABLE, PatternOf};
use sinkscope::color::{ColorMap, ColorScale, ColorTable, DivergingMap, ScaleKind, SpecialColors};
use sinkscope::eviction::{EvictionCase, EvictionRun, PinChoice, Pins, Retention, Schedule};
use sinkscope::export::{
    Drawing, ExportError, GridView, Item, Label, LinesView, Material, Part, Raster, RunRef, StripBy,
    StripView, Theme, View, ViewOptions, draw, encode_png, svg_document, write_image,
};
use sinkscope::progress::CancelToken;
use std::collections::BTreeSet;
use std::path::Path;
use toy_capture::capture;

/// Every view of a capture alone.
fn views() -> Vec<View> {
    let lines = |heads: &[usize]| {
        View::Lines(LinesView { layer: 1, heads: heads.to_vec(), first: 20, tokens: 30, least: 0.01 })
    };
    vec![
        View::Grid(GridView::default()),
        View::Pattern(PatternOf::Head { layer: 1, head: 2 }),
        View::Pattern(PatternOf::LayerMean(1)),
        View::Pattern(PatternOf::ModelMean),
        minus((1, 2), (0, 1)),
        lines(&[1]),
        lines(&[0, 1, 2]),
        View::Profile,
        View::Strip(StripView::default()),
        View::Grid(GridView { order: HeadOrder::Entropy, ..GridView::default() }),
        View::Grid(GridView { order: HeadOrder::OnSinks, as_map: true, ..GridView::default() }),
        View::Grid(GridView {
            order: HeadOrder::OnSelected,
            token: Some(0),
            as_map: true,
            ..GridView::default()
        }),
        View::Grid(GridView { order: HeadOrder::Similarity, without_sinks: true, ..GridView::default() }),
        View::Strip(StripView { by: StripBy::Incoming, tokens: vec![0] }),
        View::Strip(StripView { by: StripBy::Outgoing, tokens: vec![0] }),
        View::TokenHeads(0),
        View::Layers,
        View::Peak(4),
        View::Norms(0),
        View::Stability,
        View::Eviction,
    ]
}

fn minus(a: (usize, usize), b: (usize, usize)) -> View {
    let of = |(layer, head)| PatternOf::Head { layer, head };
    View::Difference { a: of(a), b: of(b), by: AlignBy::Tokens }
}

/// Sinks at 0 and 30, mild noise elsewhere.
fn sinking(n: usize) -> Capture {
    capture(n, |layer, head, query, key| {
        let noise = ((layer * 7 + head * 13 + query * 31 + key * 17) % 11) as f32 / 6.0;
        noise + if key == 0 || key == 30 { 5.0 } else { 0.0 }
    })
}

fn drawn(capture: &Capture, view: &View, options: &ViewOptions) -> Drawing {
    let analysis = Analysis::of(capture, AnalysisOptions::default());
    draw(view, &Material::of(capture, &analysis), options, &CancelToken::new()).unwrap()
}

fn texts(drawing: &Drawing) -> Vec<&str> {
    let labels = drawing.items.iter().filter_map(|item| match item {
        Item::Text(label) => Some(label),
        _ => None,
    });
    labels.map(|label| label.text.as_str()).collect()
}

/// Pixels `[height][width]` of a PNG.
fn decoded(png: &[u8]) -> image::RgbaImage {
    image::load_from_memory_with_format(png, image::ImageFormat::Png).unwrap().to_rgba8()
}

#[test]
fn every_view_in_both_themes_becomes_a_png_of_its_size_and_an_svg_that_parses() {
    let capture = sinking(90);
    for theme in [Theme::Light, Theme::Dark] {
        for view in views() {
            let options = ViewOptions { theme, ..ViewOptions::default() };
            let drawing = drawn(&capture, &view, &options);
            for scale in [1.0, 2.5] {
                let (png, notices) = encode_png(&drawing, scale).unwrap();
                let size = ((drawing.width * scale).ceil() as u32, (drawing.height * scale).ceil() as u32);
                let pixels = decoded(&png);
                assert_eq!(pixels.dimensions(), size, "{view:?}");
                assert!(notices.is_empty(), "{view:?}: the bundled faces have it all, not {notices:?}");
                let background = options.theme.palette().background;
                assert_eq!(pixels.get_pixel(0, 0).0[..3], background, "{view:?} {theme:?}");
                let inked = pixels.pixels().filter(|pixel| pixel.0[..3] != background).count();
                assert!(inked > 2000, "{view:?}: something is drawn");
                assert!(pixels.pixels().all(|pixel| pixel.0[3] == 255), "{view:?}: opaque");
            }
            let svg = svg_document(&drawing).unwrap();
            let tree = roxmltree::Document::parse(&svg).unwrap();
            let root = tree.root_element();
            assert_eq!(root.attribute("width"), Some(format!("{}pt", drawing.width).as_str()), "{view:?}");
            resvg::usvg::Tree::from_str(&svg, &resvg::usvg::Options::default()).unwrap();
        }
    }
}

#[test]
fn text_stays_text_in_svg_markup_and_all() {
    let capture = sinking(90);
    for view in views() {
        let drawing = drawn(&capture, &view, &ViewOptions::default());
        let svg = svg_document(&drawing).unwrap();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let written: Vec<&str> = tree
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| node.text().unwrap_or_default())
            .collect();
        assert_eq!(written, texts(&drawing), "{view:?}");
        assert!(written.iter().any(|text| text.contains("Toy-1M")), "{view:?} names the model");
    }
    let svg =
        svg_document(&drawn(&capture, &View::Strip(StripView::default()), &ViewOptions::default())).unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    assert!(tree.descendants().any(|node| node.text() == Some("·<b>&")));
}

#[test]
fn heatmaps_in_svg_have_hard_edges() {
    let svg = svg_document(&drawn(&sinking(60), &View::Grid(GridView::default()), &ViewOptions::default()))
        .unwrap();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let images: Vec<_> = tree.descendants().filter(|node| node.has_tag_name("image")).collect();
    assert_eq!(images.len(), 2, "the grid and its colour bar");
    for image in images {
        assert!(image.attribute("style").is_some_and(|style| style.contains("pixelated")));
        assert!(image.attribute("href").is_some_and(|href| href.starts_with("data:image/png;base64,")));
    }
}

#[test]
fn a_lone_strong_cell_survives_pooling_in_every_heatmap() {
    // Uniform, but for one weight of 0.9 that no other query or head shares.
    let (n, layer, head, query, key) = (700, 1, 2, 503, 77);
    let boost = (9.0 * query as f32).ln();
    let capture =
        capture(n, |l, h, t, j| if (l, h, t, j) == (layer, head, query, key) { boost } else { 0.0 });
    let weight = capture.weight(layer, head, query, key).unwrap();
    assert!((weight - 0.9).abs() < 1e-3, "{weight}");
    let colors = ColorTable::new(ColorScale::default(), ColorMap::Magma, SpecialColors::LIGHT);
    let strong = colors.rgb(weight);
    for view in [View::Grid(GridView::default()), View::Pattern(PatternOf::Head { layer, head })] {
        let options = ViewOptions { scale: 1.0, ..ViewOptions::default() };
        let drawing = drawn(&capture, &view, &options);
        let raster = drawing.items.iter().find_map(|item| match item {
            Item::Image(raster) => Some(raster),
            _ => None,
        });
        let raster = raster.unwrap();
        assert!(raster.width < n, "{view:?} is pooled");
        assert!(raster.pixels.contains(&strong), "{view:?}: kept in the heatmap");
        let area = raster.area;
        let (png, _) = encode_png(&drawing, 1.0).unwrap();
        let pixels = decoded(&png);
        let inside = |x: u32, y: u32| {
            (area.x..area.right()).contains(&(x as f32)) && (area.y..area.bottom()).contains(&(y as f32))
        };
        let found =
            pixels.enumerate_pixels().filter(|(x, y, p)| inside(*x, *y) && p.0[..3] == strong).count();
        assert!(found >= 1, "{view:?}: kept in the picture");
    }
}

#[test]
fn a_difference_is_drawn_with_its_sign_and_a_mean_with_its_weights() {
    // Head 1 gives key 2 more than head 0 does, and so less to key 1.
    let capture = capture(12, |_, head, _, key| if (head, key) == (1, 2) { 2.0 } else { 0.0 });
    let raster = |drawing: &Drawing| {
        let image = drawing.items.iter().find_map(|item| match item {
            Item::Image(raster) => Some(raster.clone()),
            _ => None,
        });
        image.expect("a heatmap")
    };
    let options = ViewOptions { color: ScaleKind::Linear, ..ViewOptions::default() };
    let drawing = drawn(&capture, &minus((0, 1), (0, 0)), &options);
    let difference = raster(&drawing);
    let cell = |query: usize, key: usize| difference.pixels[query * difference.width + key];
    let weight = |head: usize, query: usize, key: usize| capture.weight(0, head, query, key).unwrap();
    let largest = (0..12)
        .flat_map(|query| (0..=query).map(move |key| (query, key)))
        .map(|(query, key)| (weight(1, query, key) - weight(0, query, key)).abs())
        .fold(0.0, f32::max);
    let scale = ColorScale::of(ScaleKind::Linear).over(0.0, largest);
    let special = SpecialColors::for_differences(false);
    let table = ColorTable::diverging(scale, DivergingMap::default(), special);
    for (query, key) in [(8, 2), (8, 1), (2, 2), (0, 0)] {
        let expected = table.rgb(weight(1, query, key) - weight(0, query, key));
        assert_eq!(cell(query, key), expected, "{query}, {key}");
    }
    assert!(cell(8, 2)[0] > cell(8, 2)[2], "more is warm");
    assert_eq!(cell(3, 4), special.masked);
    assert!(texts(&drawing).iter().any(|text| text.ends_with("layer 0, head 1 minus layer 0, head 0")));

    let mean = raster(&drawn(&capture, &View::Pattern(PatternOf::LayerMean(0)), &ViewOptions::default()));
    let heads = capture.model.spec.heads;
    let expected = (0..heads).map(|head| weight(head, 8, 2)).sum::<f32>() / heads as f32;
    let colors = ColorTable::new(ColorScale::default(), ColorMap::Magma, SpecialColors::LIGHT);
    assert_eq!(mean.pixels[8 * mean.width + 2], colors.rgb(expected));
}

#[test]
fn masked_zero_and_nan_cells_are_drawn_and_explained() {
    // Query 5 gives key 2 exactly nothing; query 7 of the head is broken.
    let mut capture = capture(12, |_, _, t, j| if (t, j) == (5, 2) { -1e6 } else { 0.0 });
    capture.layers[0].lse[7] = f32::NAN;
    for (theme, special) in [(Theme::Light, SpecialColors::LIGHT), (Theme::Dark, SpecialColors::DARK)] {
        let options = ViewOptions { theme, ..ViewOptions::default() };
        let drawing = drawn(&capture, &View::Pattern(PatternOf::Head { layer: 0, head: 0 }), &options);
        let Some(Item::Image(raster)) = drawing.items.iter().find(|item| matches!(item, Item::Image(_)))
        else {
            panic!("there is a heatmap");
        };
        let cell = |query: usize, key: usize| raster.pixels[query * raster.width + key];
        assert_eq!((raster.width, raster.height), (12, 12));
        assert_eq!(cell(3, 4), special.masked);
        assert_eq!(cell(5, 2), special.zero);
        assert_eq!(cell(7, 1), special.nan);
        assert_ne!(cell(3, 3), special.zero);
        for meaning in ["query can't see the key", "exactly 0", "not a number"] {
            assert!(texts(&drawing).contains(&meaning), "{meaning}");
        }
    }
}

fn heatmap(drawing: &Drawing) -> &Raster {
    let image = drawing.items.iter().find_map(|item| match item {
        Item::Image(raster) => Some(raster),
        _ => None,
    });
    image.expect("there is a heatmap")
}

#[test]
fn hidden_sinks_are_hatched_and_the_rest_is_what_was_asked_for() {
    let capture = sinking(90);
    let view = View::Pattern(PatternOf::Head { layer: 1, head: 0 });
    let of = |hiding| ViewOptions { hiding, ..ViewOptions::default() };
    let sinks = [0, 30];
    let lines =
        |drawing: &Drawing| drawing.items.iter().filter(|item| matches!(item, Item::Line { .. })).count();
    let plain = drawn(&capture, &view, &of(Hiding::Shown));
    let special = SpecialColors::LIGHT;
    for hiding in Hiding::WAYS {
        let drawing = drawn(&capture, &view, &of(hiding));
        let raster = heatmap(&drawing);
        for query in 31..90 {
            for sink in sinks {
                assert_eq!(raster.pixels[query * raster.width + sink], special.not_available, "{hiding:?}");
            }
        }
        assert!(lines(&drawing) > lines(&plain) + 50, "{hiding:?} is hatched");
        assert!(texts(&drawing).contains(&"hidden sink"));
    }
    let cell = |hiding, query: usize, key: usize| {
        let drawing = drawn(&capture, &view, &of(hiding));
        let raster = heatmap(&drawing);
        raster.pixels[query * raster.width + key]
    };
    let weight = |query, key| capture.weight(1, 0, query, key).unwrap();
    let table = |scale: ColorScale| ColorTable::new(scale, ColorMap::Magma, special);
    assert_eq!(cell(Hiding::AsTheyAre, 60, 12), table(ColorScale::default()).rgb(weight(60, 12)));
    let left: f64 = (0..=60).filter(|key| !sinks.contains(key)).map(|key| f64::from(weight(60, key))).sum();
    let renormalised = (f64::from(weight(60, 12)) / left) as f32;
    assert_eq!(cell(Hiding::Renormalised, 60, 12), table(ColorScale::default()).rgb(renormalised));
    assert_eq!(cell(Hiding::Renormalised, 0, 0), special.not_available, "an emptied row");
    // Rescaled: the heaviest of the rest has the map's last colour.
    let rest = (0..90).flat_map(|query| (0..=query).map(move |key| (query, key)));
    let heaviest = rest
        .filter(|(_, key)| !sinks.contains(key))
        .max_by(|a, b| weight(a.0, a.1).total_cmp(&weight(b.0, b.1)));
    let (query, key) = heaviest.unwrap();
    assert_eq!(cell(Hiding::Rescaled, query, key), table(ColorScale::default()).at(1.0));
    assert_ne!(cell(Hiding::AsTheyAre, query, key), table(ColorScale::default()).at(1.0));
}

#[test]
fn a_part_has_its_own_cells_and_labels() {
    let capture = sinking(90);
    let part = Some(Part { rows: 40..60, keys: 25..35 });
    let view = View::Pattern(PatternOf::Head { layer: 0, head: 1 });
    let drawing = drawn(&capture, &view, &ViewOptions { part, ..ViewOptions::default() });
    let raster = heatmap(&drawing);
    assert_eq!((raster.width, raster.height), (10, 20));
    let colors = ColorTable::new(ColorScale::default(), ColorMap::Magma, SpecialColors::LIGHT);
    for (row, column) in [(0, 0), (19, 9), (7, 5)] {
        let weight = capture.weight(0, 1, 40 + row, 25 + column).unwrap();
        assert_eq!(raster.pixels[row * 10 + column], colors.rgb(weight));
    }
    let texts = texts(&drawing);
    assert!(texts.iter().any(|text| text.contains("queries 40–59, keys 25–34")), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with(" 30")), "the sink is labelled");
    assert!(!texts.iter().any(|text| text.ends_with(" 70")), "nothing beyond the part");
    // Beyond the text there is nothing; what is asked for is brought into it.
    let part = Some(Part { rows: 80..400, keys: 300..400 });
    let drawing = drawn(&capture, &view, &ViewOptions { part, ..ViewOptions::default() });
    assert_eq!((heatmap(&drawing).width, heatmap(&drawing).height), (1, 10));
}

#[test]
fn two_runs_are_compared_token_by_token() {
    let capture = sinking(90);
    // The same text without its first token.
    let mut other = sinking(89);
    let mut tokens = (*capture.tokens).clone();
    tokens.tokens.remove(0);
    other.tokens = std::sync::Arc::new(tokens);
    let (ours, theirs) = (
        Analysis::of(&capture, AnalysisOptions::default()),
        Analysis::of(&other, AnalysisOptions::default()),
    );
    let others = [RunRef { capture: &other, analysis: &theirs }];
    let material = Material { others: &others, ..Material::of(&capture, &ours) };
    let options = ViewOptions { color: ScaleKind::Linear, range: Some((0.0, 0.5)), ..ViewOptions::default() };
    let drawing = draw(&minus((1, 2), (1, 2)), &material, &options, &CancelToken::new()).unwrap();
    let raster = heatmap(&drawing);
    let table = ColorTable::diverging(
        ColorScale::of(ScaleKind::Linear).over(0.0, 0.5),
        DivergingMap::default(),
        SpecialColors::for_differences(false),
    );
    let cell = |row: usize, column: usize| raster.pixels[row * raster.width + column];
    let difference = capture.weight(1, 2, 40, 7).unwrap() - other.weight(1, 2, 39, 6).unwrap();
    assert_eq!(cell(40, 7), table.rgb(difference));
    assert_eq!(cell(40, 0), table.rgb(NOT_AVAILABLE), "the first token is in one run only");
    let texts = texts(&drawing);
    assert!(texts.iter().any(|text| text.contains("90 and 89 tokens, 89 of them in both")), "{texts:?}");
    assert!(texts.contains(&"in one run only"));
    let stability = draw(&View::Stability, &material, &options, &CancelToken::new()).unwrap();
    let said = stability.items.iter().filter_map(|item| match item {
        Item::Text(label) => Some(label.text.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    // Both texts have sinks at 0 and 30: the first token is gone, but another one holds its place.
    assert!(said.contains(&"○ place"), "{said:?}");
    assert!(said.contains(&"+ new 30") && said.iter().any(|text| text.starts_with("× z ")), "{said:?}");
}

#[test]
fn heads_stand_in_the_order_of_their_values() {
    let capture = sinking(90);
    let view = |as_map| {
        View::Grid(GridView { order: HeadOrder::OnSelected, as_map, token: Some(30), ..GridView::default() })
    };
    let share = |index: usize| share_on_keys(&capture, index / 3, index % 3, &[30]).unwrap();
    let mut order: Vec<usize> = (0..6).collect();
    order.sort_by(|a, b| share(*b).total_cmp(&share(*a)));
    let ranked = drawn(&capture, &view(false), &ViewOptions::default());
    let captions: Vec<&str> = texts(&ranked)
        .into_iter()
        .filter(|text| text.starts_with(['0', '1']) && text.contains(':'))
        .collect();
    let wanted: Vec<String> = order.iter().map(|index| format!("{}:{} ", index / 3, index % 3)).collect();
    assert!(
        captions.len() == 6 && captions.iter().zip(&wanted).all(|(c, w)| c.starts_with(w.as_str())),
        "{captions:?}"
    );
    let map = drawn(&capture, &view(true), &ViewOptions::default());
    let raster = heatmap(&map);
    assert_eq!((raster.width, raster.height), (3, 2));
    let table = ColorTable::new(ColorScale::of(ScaleKind::Linear), ColorMap::Viridis, SpecialColors::LIGHT);
    assert_eq!(raster.pixels[order[0]], table.at(1.0), "the largest");
    assert_eq!(raster.pixels[order[5]], table.at(0.0), "the smallest");
}

#[test]
fn a_strip_shows_the_weights_of_a_token() {
    let capture = sinking(60);
    let view = View::Strip(StripView { by: StripBy::Incoming, tokens: vec![30] });
    let drawing = drawn(&capture, &view, &ViewOptions { color: ScaleKind::Linear, ..ViewOptions::default() });
    let chips: Vec<[u8; 3]> = drawing
        .items
        .iter()
        .filter_map(|item| {
            if let Item::Fill(_, color, radius) = item { (*radius == 2.5).then_some(*color) } else { None }
        })
        .collect();
    assert_eq!(chips.len(), 60);
    let special = SpecialColors::LIGHT;
    assert!(chips[..30].iter().all(|chip| *chip == special.masked), "earlier tokens can't attend to it");
    let mean = |query: usize| {
        let weights = (0..6).map(|index| f64::from(capture.weight(index / 3, index % 3, query, 30).unwrap()));
        (weights.sum::<f64>() / 6.0) as f32
    };
    let (low, high) = (30..60).map(mean).fold((1.0_f32, 0.0_f32), |(low, high), w| (low.min(w), high.max(w)));
    let scale = ColorScale { kind: ScaleKind::Linear, floor: low, low: 0.0, max: high };
    let table = ColorTable::new(scale, ColorMap::Magma, special);
    for query in [30, 41, 59] {
        assert_eq!(chips[query], table.rgb(mean(query)), "{query}");
    }
}

#[test]
fn a_token_beyond_the_text_is_named() {
    let capture = sinking(10);
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    for view in [View::TokenHeads(10), View::Norms(99)] {
        let error =
            draw(&view, &Material::of(&capture, &analysis), &ViewOptions::default(), &CancelToken::new());
        assert!(error.unwrap_err().to_string().ends_with("the text has 10, counted from 0"));
    }
}

#[test]
fn the_profile_names_its_sinks_its_line_and_what_is_not_available() {
    let capture = sinking(120);
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    assert_eq!(analysis.detection.flagged, [0, 30]);
    let drawing = drawn(&capture, &View::Profile, &ViewOptions::default());
    let texts = texts(&drawing);
    for expected in ["0 <|im_start|>", "30 <|im_start|>", "n/a", "fewer than 16 far queries"] {
        assert!(texts.contains(&expected), "{expected} is missing from {texts:?}");
    }
    for (sink, class) in analysis.sinks.iter().zip(["bos", "content"]) {
        let detail = format!("z {:.1} · {class}", sink.z);
        assert!(texts.contains(&detail.as_str()), "{detail} is missing from {texts:?}");
    }
    assert!(texts.iter().any(|text| text.starts_with("log-MAD z > 3.5: above ")), "{texts:?}");
}

#[test]
fn a_short_prompt_is_shown_without_a_verdict() {
    let capture = sinking(20);
    for view in [View::Profile, View::Strip(StripView::default())] {
        let drawing = drawn(&capture, &view, &ViewOptions::default());
        let texts = texts(&drawing).join("\n").to_lowercase();
        assert!(texts.contains("not tested: needs 51 tokens"), "{view:?}: {texts}");
        assert!(!texts.contains("log-mad"), "{view:?}: no line without a test");
    }
}

#[test]
fn a_picture_knows_its_size_in_print() {
    let drawing = drawn(&sinking(20), &View::Strip(StripView::default()), &ViewOptions::default());
    let (png, _) = encode_png(&drawing, 2.0).unwrap();
    let reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let dims = reader.info().pixel_dims.unwrap();
    assert_eq!((dims.unit, dims.xppu, dims.yppu), (png::Unit::Meter, 5669, 5669), "144 dots per inch");
}

#[test]
fn characters_that_the_bundled_faces_lack_are_borrowed_or_named() {
    let mut drawing = Drawing::new(100.0, 30.0, [255; 3], "kana");
    drawing.text(Label::new(5.0, 20.0, 10.0, [0; 3], "\u{3044} and \u{3044}").mono());
    let (_, notices) = encode_png(&drawing, 1.0).unwrap();
    let borrowed = "Some characters are set in a font of this system";
    let missing = "No font here has these characters, install one that does: \u{3044}";
    assert!(notices == [borrowed] || notices == [missing], "{notices:?}");
}

#[test]
fn one_token_is_enough_for_every_view() {
    let capture = capture(1, |_, _, _, _| 0.0);
    for view in views() {
        let drawing = drawn(&capture, &view, &ViewOptions::default());
        assert!(encode_png(&drawing, 1.0).is_ok(), "{view:?}");
    }
}

#[test]
fn every_scale_and_map_changes_the_heatmap() {
    let capture = sinking(60);
    let image = |options: ViewOptions| {
        encode_png(&drawn(&capture, &View::Grid(GridView::default()), &options), 1.0).unwrap().0
    };
    let mut seen = Vec::new();
    for color in ScaleKind::ALL {
        for map in ColorMap::ALL {
            seen.push(image(ViewOptions { color, map, ..ViewOptions::default() }));
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn pictures_are_the_same_every_time() {
    let capture = sinking(80);
    for view in views() {
        let image = || encode_png(&drawn(&capture, &view, &ViewOptions::default()), 1.5).unwrap().0;
        assert_eq!(image(), image(), "{view:?}");
    }
}

#[test]
fn a_head_that_the_model_lacks_is_an_error_that_names_the_choice() {
    let capture = sinking(10);
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    let view = View::Pattern(PatternOf::Head { layer: 2, head: 0 });
    let error = draw(&view, &Material::of(&capture, &analysis), &ViewOptions::default(), &CancelToken::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "There is no layer 2, head 0: choose a layer from 0 to 1 and a head from 0 to 2"
    );
}

#[test]
fn a_cancelled_view_is_not_drawn() {
    let capture = sinking(10);
    let analysis = Analysis::of(&capture, AnalysisOptions::default());
    let cancel = CancelToken::new();
    cancel.cancel();
    let result = draw(
        &View::Grid(GridView::default()),
        &Material::of(&capture, &analysis),
        &ViewOptions::default(),
        &cancel,
    );
    assert!(matches!(result, Err(ExportError::Cancelled(_))));
}

#[test]
fn files_are_written_whole_and_replace_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let drawing = drawn(&sinking(30), &View::Profile, &ViewOptions::default());
    let path = folder.path().join("profile.PNG");
    std::fs::write(&path, "old").unwrap();
    write_image(&drawing, &path, 1.0).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), encode_png(&drawing, 1.0).unwrap().0);
    let path = folder.path().join("profile.svg");
    write_image(&drawing, &path, 1.0).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), svg_document(&drawing).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn a_missing_folder_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nowhere").join("a.png");
    let drawing = drawn(&sinking(5), &View::Strip(StripView::default()), &ViewOptions::default());
    let error = write_image(&drawing, &path, 1.0).unwrap_err();
    assert_eq!(error.to_string(), format!("Can't write the file (no such folder): {}", path.display()));
}

#[test]
fn a_folder_in_the_way_is_a_clear_error_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.svg");
    std::fs::create_dir(&path).unwrap();
    let drawing = drawn(&sinking(5), &View::Strip(StripView::default()), &ViewOptions::default());
    let error = write_image(&drawing, &path, 1.0).unwrap_err().to_string();
    assert_eq!(error, format!("Can't write the file (it is a folder): {}", path.display()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_unknown_extension_names_the_known_ones() {
    let drawing = drawn(&sinking(5), &View::Strip(StripView::default()), &ViewOptions::default());
    for name in ["a.jpeg", "a", "a.svg.gz"] {
        let error = write_image(&drawing, Path::new(name), 1.0).unwrap_err();
        assert!(matches!(error, ExportError::UnknownFormat { .. }));
        let said = error.to_string();
        assert!(said.starts_with("Unknown format: choose a name that ends in .png or .svg"), "{said}");
        assert!(said.ends_with(&format!(": {name}")), "{said}");
    }
}

#[test]
fn a_picture_that_is_too_large_says_what_to_do() {
    let drawing = Drawing::new(6000.0, 100.0, [255; 3], "wide");
    let error = encode_png(&drawing, 4.0).unwrap_err().to_string();
    assert_eq!(error, "The picture would be 24000 × 400 pixels: choose a smaller scale, or .svg");
}

/// A run over a toy capture that adds half a nat from its first differing row on.
fn window_run(capture: &Capture, budget: usize) -> EvictionRun {
    let case = EvictionCase::fifo(budget, PinChoice::None);
    let n = capture.len();
    let excess = |row: usize| if row > budget { 0.5 } else { 0.0 };
    EvictionRun {
        retention: Retention::Shared(Schedule::of(&case, &BTreeSet::new(), n)),
        pins: Pins::default(),
        nll_nats: capture
            .nll_nats
            .iter()
            .enumerate()
            .map(|(row, &nll)| f64::from(nll) + excess(row))
            .collect(),
        first_differing_row: (budget + 1 < n).then_some(budget + 1),
        wall_ms: 1.0,
        case,
    }
}

#[test]
fn eviction_runs_are_drawn_beside_the_full_cache_and_named_with_their_result() {
    let capture =
        Capture { nll_nats: (1..90).map(|row| 2.0 + (row % 7) as f32 / 5.0).collect(), ..sinking(90) };
    let runs = [window_run(&capture, 16), window_run(&capture, 200)];
    for theme in [Theme::Light, Theme::Dark] {
        let options = ViewOptions { theme, ..ViewOptions::default() };
        let analysis = Analysis::of(&capture, AnalysisOptions::default());
        let evictions: Vec<&EvictionRun> = runs.iter().collect();
        let material = Material { evictions: &evictions, ..Material::of(&capture, &analysis) };
        let drawing = draw(&View::Eviction, &material, &options, &CancelToken::new()).unwrap();
        let texts = texts(&drawing);
        let wanted = "Window 16: perplexity ";
        let legend = texts.iter().find(|text| text.starts_with(wanted)).expect("the run is named");
        // Half a nat more over every compared row.
        assert!(legend.contains("from token 18 on") && legend.ends_with("(×1.65)"), "{legend}");
        assert!(texts.contains(&"Window 200: the cache has not filled"), "{texts:?}");
        let curves: Vec<usize> = drawing
            .items
            .iter()
            .filter_map(|item| if let Item::Curve { points, .. } = item { Some(points.len()) } else { None })
            .collect();
        // Full cache and run above, the run's ΔNLL below; one that never differs has no curve of its own.
        assert_eq!(curves, [89, 89 - 16, 89 - 17]);
        let svg = svg_document(&drawing).unwrap();
        roxmltree::Document::parse(&svg).unwrap();
        let (png, _) = encode_png(&drawing, 1.0).unwrap();
        let background = theme.palette().background;
        let inked = decoded(&png).pixels().filter(|pixel| pixel.0[..3] != background).count();
        assert!(inked > 5000, "something is drawn");
    }
}

#[test]
fn without_a_run_the_full_cache_is_drawn_alone() {
    let drawing = drawn(&sinking(3), &View::Eviction, &ViewOptions::default());
    assert!(texts(&drawing).contains(&"Full cache"));
    encode_png(&drawing, 1.0).unwrap();
}
