//! The weight that the window shows under the pointer is the one that `sinkscope analyze` writes.

use crate::real_engine::{TEXT, window_with};
use crate::stage::step_until;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use sinkscope::app::panels::attention::AttentionCommand;
use sinkscope::app::view::HeadId;
use sinkscope::app::{App, Command};
use sinkscope::model::source::{Locator, ModelRef};
use sinkscope::progress::{CancelToken, Silent};
use sinkscope::widgets::heatmap::value_text;
use sinkscope::widgets::viewport::Viewport;
use std::cell::RefCell;
use std::path::Path;
use std::process::Stdio;

/// The patterns that the program itself writes for a prompt, `[n, n]` for each head by its name.
fn written_patterns(model: &Path, text: &str, heads: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("patterns.safetensors");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .args(["analyze", "--offline", "--bos", "auto", "--patterns", heads])
        .arg("--model")
        .arg(model)
        .arg(format!("--prompt={text}"))
        .arg("--patterns-out")
        .arg(&out)
        .stdout(Stdio::null())
        .status()
        .expect("the binary starts");
    assert!(status.success());
    std::fs::read(&out).expect("the patterns")
}

/// A head, a part of its pattern, and a point in that part.
#[derive(Debug, Clone, Copy)]
struct Look {
    head: HeadId,
    view: Viewport,
    /// Where the pointer is, 0…1 across the plot.
    at: (f32, f32),
}

/// Points at what is looked at and reads it: query, key and the text of the weight. Nothing is waited for: what
/// is drawn may still be coarse or a sketch, what is read never is. `None` over the minimap, which covers cells.
fn read(harness: &mut Harness<'static, App>, look: Look) -> Option<(usize, usize, String)> {
    let state = harness.state_mut().state_mut();
    state.handle(Command::FocusHead(look.head));
    state.handle(Command::Attention(AttentionCommand::Zoom(look.view)));
    harness.run_steps(2);
    let plot = harness.get_by_role_and_label(Role::Canvas, "Attention pattern").rect();
    let at = plot.min + egui::vec2(look.at.0, look.at.1) * plot.width();
    if harness.query_by_label("Minimap").is_some_and(|map| map.rect().expand(1.0).contains(at)) {
        return None;
    }
    harness.hover_at(at);
    harness.run_steps(2);
    let said = harness.get_by_role_and_label(Role::Canvas, "Attention pattern").value().unwrap_or_default();
    let after = |word: &str| {
        let rest = said.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {said:?}")).1;
        rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a position")
    };
    let weight = said.split(" · ").next().unwrap_or_default().to_owned();
    Some((after(" · query "), after(" → key "), weight))
}

/// Reads random cells at random zooms and places in the window, and compares them with the file.
fn assert_the_cursor_reads_what_is_written(model: &Path, text: &str, heads: &[HeadId], cells: u32) {
    let names: Vec<String> = heads.iter().map(|id| format!("{}:{}", id.layer, id.head)).collect();
    let bytes = written_patterns(model, text, &names.join(","));
    let tensors = safetensors::SafeTensors::deserialize(&bytes).expect("safetensors");
    let mut harness = window_with(model, text);
    step_until(&mut harness, "a run", |state| state.run.is_some());
    let n = harness.state().state().run.as_ref().expect("a run").capture.len();
    assert!(n > 216, "a text longer than the plot has pixels: {n}");

    let written = |id: HeadId, query: usize, key: usize| {
        let tensor = tensors.tensor(&format!("l{}h{}", id.layer, id.head)).expect("the head");
        assert_eq!(tensor.shape(), [n, n]);
        let at = 4 * (query * n + key);
        f32::from_le_bytes(tensor.data()[at..at + 4].try_into().expect("four bytes"))
    };
    let harness = RefCell::new(harness);
    let seen = RefCell::new((0, 0));
    let looks =
        (0..heads.len(), 0.0..4.5_f64, (0.0..1.0_f64, 0.0..1.0_f64), (0.001..0.999_f32, 0.001..0.999_f32));
    let mut runner = TestRunner::new(Config { cases: cells, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&looks, |(head, zoom, corner, at)| {
        let view = Viewport::fit(n).zoomed(zoom.exp(), corner.0, corner.1, n);
        let look = Look { head: heads[head], view, at };
        let Some((query, key, shown)) = read(&mut harness.borrow_mut(), look) else { return Ok(()) };
        // The cell that the geometry says, or its neighbour where the point is on their border.
        let place = |first: f64, part: f32| first + f64::from(part) * view.cells;
        for (found, place) in [(key, place(view.column, at.0)), (query, place(view.row, at.1))] {
            let off = place - found as f64;
            prop_assert!((-0.01..1.01).contains(&off), "{found} for {place}: {look:?}");
        }
        if key > query {
            prop_assert_eq!(shown, "masked");
            seen.borrow_mut().1 += 1;
            return Ok(());
        }
        let weight = written(look.head, query, key);
        let captured = harness.borrow().state().state().run.as_ref().expect("a run").capture.weight(
            look.head.layer,
            look.head.head,
            query,
            key,
        );
        prop_assert_eq!(captured.map(f32::to_bits), Some(weight.to_bits()), "{:?} for {}", captured, weight);
        prop_assert_eq!(shown, value_text(Some(weight)), "{}, {}: {:?}", query, key, look);
        seen.borrow_mut().0 += 1;
        Ok::<(), TestCaseError>(())
    });
    outcome.unwrap_or_else(|why| panic!("{why}"));
    let (weights, masked) = *seen.borrow();
    assert!(weights > cells / 4 && masked > 0, "{weights} weights and {masked} masked cells were read");
}

/// Words in an order that repeats late.
fn words(count: usize) -> String {
    let words = TEXT.split(' ').collect::<Vec<_>>();
    (0..count).map(|i| words[i * (i + 3) % words.len()]).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_cursor_reads_what_analyze_writes_for_a_tiny_model() {
    let heads: Vec<HeadId> =
        [(0, 0), (0, 3), (1, 2), (2, 1)].into_iter().map(|(layer, head)| HeadId { layer, head }).collect();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny/llama");
    assert_the_cursor_reads_what_is_written(&model, &words(120), &heads, 128);
}

#[test]
fn the_cursor_reads_what_analyze_writes_for_the_default_model() {
    let locator = Locator::from_environment(false);
    let located =
        locator.locate(&ModelRef::Default, &Silent, &CancelToken::new()).expect("the default model");
    let heads: Vec<HeadId> =
        [(0, 4), (11, 8), (29, 0)].into_iter().map(|(layer, head)| HeadId { layer, head }).collect();
    assert_the_cursor_reads_what_is_written(&located.path, &words(500), &heads, 96);
}
