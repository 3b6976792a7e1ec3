//! Tiles of means, shaped patterns and differences against cell-by-cell arithmetic in f64.

use crate::synthetic::capture;
use sinkscope::capture::{
    AlignBy, Alignment, Capture, Difference, MASKED, NOT_AVAILABLE, PatternOf, PatternTile, Shaping, TileArea,
};
use sinkscope::model::tokenizer::{Token, TokenOrigin};
use sinkscope::progress::CancelToken;
use std::sync::Arc;

const N: usize = 37;

/// The weights of one head, computed from q, k and lse without any of the code under test.
fn weight(capture: &Capture, layer: usize, head: usize, query: usize, key: usize) -> f64 {
    let spec = &capture.model.spec;
    let (heads, dim) = (spec.heads, spec.head_dim);
    let of = |values: &[f32], position: usize| values[(position * heads + head) * dim..][..dim].to_vec();
    let captured = &capture.layers[layer];
    let score: f64 = of(&captured.q, query)
        .iter()
        .zip(of(&captured.k, key))
        .map(|(a, b)| f64::from(*a) * f64::from(b))
        .sum::<f64>();
    (score - f64::from(captured.lse[head * capture.len() + query])).exp()
}

fn mean(capture: &Capture, heads: &[(usize, usize)], query: usize, key: usize) -> f64 {
    let sum: f64 = heads.iter().map(|&(layer, head)| weight(capture, layer, head, query, key)).sum();
    sum / heads.len() as f64
}

/// What a tile must hold: the largest magnitude of each square of cells.
fn assert_pooled(tile: &PatternTile, cell: impl Fn(usize, usize) -> f64, what: &str) {
    assert_pooled_within(tile, cell, 2e-6, what);
}

fn assert_pooled_within(tile: &PatternTile, cell: impl Fn(usize, usize) -> f64, tolerance: f64, what: &str) {
    for y in 0..tile.height {
        for x in 0..tile.width {
            let square = |first: usize, at: usize, end: usize| {
                first + at * tile.pool..(first + (at + 1) * tile.pool).min(end)
            };
            let mut wanted = f64::from(MASKED);
            for query in square(tile.rows.start, y, tile.rows.end) {
                for key in square(tile.keys.start, x, tile.keys.end) {
                    let value = cell(query, key);
                    let rank = |value: f64| if value <= -2.0 { value } else { value.abs() };
                    if rank(value) > rank(wanted) {
                        wanted = value;
                    }
                }
            }
            let found = f64::from(tile.values[y * tile.width + x]);
            assert!((found - wanted).abs() < tolerance, "{what}: cell {y}, {x}: {found} for {wanted}");
        }
    }
}

fn areas() -> Vec<TileArea> {
    let part = |rows, keys, max_side| TileArea { rows, keys, max_side, sketch: false };
    vec![TileArea::whole(N, N), TileArea::whole(N, 9), part(11..30, 0..25, 6), part(3..9, 20..33, 40)]
}

#[test]
fn means_are_pooled_from_exact_means() {
    let capture = capture(3, 4, N, 5);
    let layer: Vec<_> = (0..4).map(|head| (1, head)).collect();
    let model: Vec<_> = (0..3).flat_map(|layer| (0..4).map(move |head| (layer, head))).collect();
    for (of, heads) in [(PatternOf::LayerMean(1), layer), (PatternOf::ModelMean, model)] {
        for area in areas() {
            let tile = capture.tile(of, &area, &Shaping::default(), &CancelToken::new()).expect("a tile");
            let cell = |query, key| {
                if key > query { f64::from(MASKED) } else { mean(&capture, &heads, query, key) }
            };
            assert_pooled(&tile, cell, &format!("{of:?} {area:?}"));
        }
    }
}

#[test]
fn hidden_columns_are_left_out_and_rows_renormalised() {
    let capture = capture(2, 2, N, 8);
    let heads = [(1, 0), (1, 1)];
    for renormalised in [false, true] {
        let shaping = Shaping { hidden: vec![0, 12], renormalised };
        for (of, heads) in
            [(PatternOf::Head { layer: 1, head: 0 }, &heads[..1]), (PatternOf::LayerMean(1), &heads[..])]
        {
            let cell = |query: usize, key: usize| {
                if key > query {
                    return f64::from(MASKED);
                }
                let hidden: f64 = [0, 12]
                    .into_iter()
                    .filter(|&hidden| hidden <= query)
                    .map(|hidden| mean(&capture, heads, query, hidden))
                    .sum();
                if key == 0 || key == 12 || renormalised && hidden > 0.9999 {
                    return f64::from(NOT_AVAILABLE);
                }
                mean(&capture, heads, query, key) / if renormalised { 1.0 - hidden } else { 1.0 }
            };
            // What little is left of a row carries the rounding of what was taken from it.
            let left = |query: usize| -> f64 {
                let hidden = [0, 12].into_iter().filter(|&hidden| hidden <= query);
                1.0 - hidden.map(|hidden| mean(&capture, heads, query, hidden)).sum::<f64>()
            };
            let least = (0..N).map(left).filter(|left| *left >= 1e-4).fold(1.0, f64::min);
            let tolerance = if renormalised { 1e-6 / least } else { 2e-6 };
            for area in areas() {
                let tile = capture.tile(of, &area, &shaping, &CancelToken::new()).expect("a tile");
                let what = format!("{of:?} {area:?} {renormalised}");
                assert_pooled_within(&tile, cell, tolerance, &what);
            }
            assert_eq!(capture.cell(of, &shaping, 5, 0), Some(NOT_AVAILABLE));
            assert_eq!(capture.cell(of, &shaping, 5, 6), None);
            let found = f64::from(capture.cell(of, &shaping, 20, 7).expect("visible"));
            assert!((found - cell(20, 7)).abs() < 2e-6, "{found}");
        }
    }
}

#[test]
fn a_row_whose_all_goes_to_hidden_keys_is_not_available() {
    let capture = capture(1, 1, N, 8);
    let of = PatternOf::Head { layer: 0, head: 0 };
    let shaping = Shaping { hidden: vec![0], renormalised: true };
    // The first query sees key 0 alone.
    let tile = capture.tile(of, &TileArea::whole(N, N), &shaping, &CancelToken::new()).expect("a tile");
    assert_eq!(tile.values[0], NOT_AVAILABLE);
    assert_eq!(tile.values[1], MASKED);
    let row: f32 = tile.values[9 * N..10 * N].iter().filter(|weight| **weight >= 0.0).sum();
    assert!((row - 1.0).abs() < 1e-5, "row 9 sums to {row}");
}

#[test]
fn a_nan_survives_every_kind_of_pooling() {
    let mut made = capture(1, 2, N, 8);
    made.layers[0].lse[20] = f32::NAN;
    let capture = made;
    for of in [PatternOf::Head { layer: 0, head: 0 }, PatternOf::LayerMean(0), PatternOf::ModelMean] {
        for shaping in [Shaping::default(), Shaping { hidden: vec![0], renormalised: true }] {
            let tile =
                capture.tile(of, &TileArea::whole(N, 8), &shaping, &CancelToken::new()).expect("a tile");
            let row = 20 / tile.pool;
            assert!(tile.values[row * tile.width].is_nan(), "{of:?} {shaping:?}");
            let others = tile.values.chunks(tile.width).enumerate().filter(|(y, _)| *y != row);
            assert!(others.flat_map(|(_, values)| values).all(|value| !value.is_nan()), "{of:?} {shaping:?}");
        }
    }
}

#[test]
fn a_sketch_shows_columns_and_the_diagonal_s_edge() {
    let n = 600;
    let capture = capture(1, 1, n, 3);
    let of = PatternOf::Head { layer: 0, head: 0 };
    let area = TileArea::whole(n, 300);
    let shaping = Shaping::default();
    let exact = capture.tile(of, &area, &shaping, &CancelToken::new()).expect("a tile");
    let sketch = capture.tile(of, &area.sketched(), &shaping, &CancelToken::new()).expect("a tile");
    assert_eq!((sketch.width, sketch.height, sketch.pool), (exact.width, exact.height, exact.pool));
    for (index, (sketched, computed)) in sketch.values.iter().zip(&exact.values).enumerate() {
        let (y, x) = (index / exact.width, index % exact.width);
        assert_eq!(*sketched == MASKED, *computed == MASKED, "masked or not at {y}, {x}");
    }
    // Without pooling, the rows that were computed are the exact ones, and their neighbours repeat them.
    let area = TileArea::whole(n, n);
    let exact = capture.tile(of, &area, &shaping, &CancelToken::new()).expect("a tile");
    let sketch = capture.tile(of, &area.sketched(), &shaping, &CancelToken::new()).expect("a tile");
    let step = n.div_ceil(TileArea::SKETCH_ROWS);
    for row in 0..n {
        let computed = row / step * step;
        for key in 0..=computed {
            assert_eq!(sketch.values[row * n + key], exact.values[computed * n + key], "{row}, {key}");
        }
    }
}

fn with_tokens(mut capture: Capture, words: &[&str]) -> Arc<Capture> {
    let tokens = words.iter().enumerate().map(|(id, word)| Token {
        id: id as u32,
        bytes: word.as_bytes().to_vec(),
        origin: TokenOrigin::Text,
    });
    capture.tokens = Arc::new(sinkscope::model::tokenizer::TokenSequence {
        tokens: tokens.collect(),
        ..sinkscope::model::tokenizer::TokenSequence::default()
    });
    Arc::new(capture)
}

#[test]
fn a_difference_lines_up_equal_tokens_and_leaves_out_the_others() {
    let a = with_tokens(capture(1, 2, 6, 1), &["the", "cat", "sat", "on", "a", "mat"]);
    let b = with_tokens(capture(1, 2, 7, 2), &["<s>", "the", "cat", "lay", "on", "a", "mat"]);
    let alignment = Arc::new(Alignment::of(&a.tokens, &b.tokens, AlignBy::Tokens));
    let of = PatternOf::Head { layer: 0, head: 1 };
    let difference = Difference {
        a: (Arc::clone(&a), of),
        b: (Arc::clone(&b), of),
        by: AlignBy::Tokens,
        alignment: Arc::clone(&alignment),
    };
    assert_eq!(difference.side(), 8, "six, and <s> and lay");
    let cell = |row: usize, column: usize| {
        let (query, key) = (alignment.pairs[row], alignment.pairs[column]);
        if column > row {
            return f64::from(MASKED);
        }
        match (query, key) {
            ((Some(aq), Some(bq)), (Some(ak), Some(bk))) => {
                weight(&a, 0, 1, aq, ak) - weight(&b, 0, 1, bq, bk)
            }
            _ => f64::from(NOT_AVAILABLE),
        }
    };
    for max_side in [8, 3] {
        let tile = difference.tile(&TileArea::whole(8, max_side), &CancelToken::new()).expect("a tile");
        assert_pooled(&tile, cell, &format!("at most {max_side}"));
    }
    let single = |row, column| match difference.cell(row, column) {
        None => f64::from(MASKED),
        Some(value) => f64::from(value),
    };
    for row in 0..8 {
        for column in 0..8 {
            assert!((single(row, column) - cell(row, column)).abs() < 2e-6, "{row}, {column}");
        }
    }
    let same =
        Difference { b: (Arc::clone(&a), of), alignment: Arc::new(Alignment::identity(6)), ..difference };
    let tile = same.tile(&TileArea::whole(6, 6), &CancelToken::new()).expect("a tile");
    assert!(tile.values.iter().all(|value| *value == 0.0 || *value == MASKED), "a run minus itself");
}
