//! What several test files need: the fixtures and the default model.
#![allow(dead_code, reason = "each test file uses a part")]

use sinkscope::capture::{Capture, PrefillOptions, Prefilled, prefill};
use sinkscope::model::source::{LocatedModel, Locator, ModelRef};
use sinkscope::model::tokenizer::TokenSequence;
use sinkscope::model::{LoadOptions, LoadedModel, load_model};
use sinkscope::progress::{CancelToken, Silent};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn located(path: PathBuf) -> LocatedModel {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    LocatedModel { name, source: format!("path:{}", path.display()), path, sha256: None }
}

/// All tiny models with random weights: every family and its variants.
pub fn families() -> Vec<String> {
    let folder = std::fs::read_dir(fixture("tiny")).expect("the fixtures are there");
    let folders = folder.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let mut names: Vec<_> =
        folders.map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.len() > 24, "{names:?}");
    names
}

/// One of the tiny models with random weights.
pub fn tiny(family: &str) -> LoadedModel {
    try_tiny(family).unwrap_or_else(|error| panic!("{family}: {error}"))
}

pub fn try_tiny(family: &str) -> sinkscope::Result<LoadedModel> {
    tiny_with(family, LoadOptions::default())
}

pub fn tiny_with(family: &str, options: LoadOptions) -> sinkscope::Result<LoadedModel> {
    // All of them have the same tokenizer, which is kept once.
    let folder = tempfile::tempdir().expect("a folder");
    let link = |from: PathBuf| {
        let to = folder.path().join(from.file_name().expect("a name"));
        std::fs::copy(&from, to).expect("copied");
    };
    for entry in std::fs::read_dir(fixture(&format!("tiny/{family}"))).expect("the fixture is there") {
        link(entry.expect("an entry").path());
    }
    link(fixture("tiny/llama/tokenizer.json"));
    let located = located(folder.path().to_owned());
    load_model(&located, options, &Silent, &CancelToken::new())
}

/// Where the GGUF of [`smollm2`] lies.
pub fn smollm2_path() -> PathBuf {
    smollm2_located().path
}

fn smollm2_located() -> LocatedModel {
    let wanted = ModelRef::Catalogue("smollm2-135m-q4_1".to_owned());
    let locator = Locator::from_environment(false);
    locator.locate(&wanted, &Silent, &CancelToken::new()).expect("the model can be had")
}

/// SmolLM2-135M-Instruct as the Q4_1 GGUF that the numbers were computed with; fetched once.
pub fn smollm2() -> &'static LoadedModel {
    static MODEL: OnceLock<LoadedModel> = OnceLock::new();
    MODEL.get_or_init(|| {
        load_model(&smollm2_located(), LoadOptions::default(), &Silent, &CancelToken::new())
            .expect("the model loads")
    })
}

pub fn sequence(model: &LoadedModel, ids: &[u32]) -> Arc<TokenSequence> {
    Arc::new(model.tokenizer.sequence_of_ids(ids, model.info.spec.vocab).expect("ids fit"))
}

pub fn run(model: &LoadedModel, ids: &[u32], options: PrefillOptions) -> Prefilled {
    let tokens = sequence(model, ids);
    prefill(&model.decoder, &model.info, &tokens, options, &Silent, &CancelToken::new()).expect("it runs")
}

pub fn capture(model: &LoadedModel, ids: &[u32]) -> Capture {
    run(model, ids, PrefillOptions::default()).capture
}

/// The full pattern of one head `[n, n]`, masked cells as zeros.
pub fn pattern(capture: &Capture, layer: usize, head: usize) -> Vec<f32> {
    let n = capture.len();
    let tile = capture.pattern_tile(layer, head, 0..n, 0..n, n, &CancelToken::new()).expect("not cancelled");
    tile.values.into_iter().map(|w| if w == sinkscope::capture::MASKED { 0.0 } else { w }).collect()
}

pub fn max_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
