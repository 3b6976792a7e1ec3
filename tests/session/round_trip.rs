//! What is saved comes back.

use crate::support::{assert_same, full_capture, members, saved, session};
use candle_core::Tensor;
use sinkscope::analysis::{Analysis, AnalysisOptions};
use sinkscope::capture::MASKED;
use sinkscope::engine::PromptInput;
use sinkscope::model::chat::ChatMessage;
use sinkscope::progress::CancelToken;
use sinkscope::session::{Kept, Session, predicted_bytes, read_session, write_session};
use std::path::Path;
use std::sync::Arc;

#[test]
fn every_bit_of_an_f32_session_comes_back() {
    let before = session();
    let (_folder, path) = saved(&before, Kept::F32);
    let after = read_session(&path).expect("opened");
    assert_same(&before, &after, Kept::F32);
    for layer in 0..2 {
        for head in 0..3 {
            for query in 0..before.capture.len() {
                for key in 0..=query {
                    let weight = |session: &Session| {
                        session.capture.weight(layer, head, query, key).expect("a visible key").to_bits()
                    };
                    assert_eq!(weight(&before), weight(&after));
                }
            }
        }
    }
}

#[test]
fn rows_of_an_f16_session_still_sum_to_1() {
    let before = session();
    let (_folder, path) = saved(&before, Kept::F16);
    let after = read_session(&path).expect("opened");
    assert_same(&before, &after, Kept::F16);
    let n = before.capture.len();
    let whole = |session: &Session, layer, head| {
        let tile = session.capture.pattern_tile(layer, head, 0..n, 0..n, n, &CancelToken::new());
        tile.expect("not cancelled").values
    };
    let mut differs = false;
    for (layer, head) in [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let score = &after.capture.layers[layer].score;
        let (ours, theirs) = (whole(&after, layer, head), whole(&before, layer, head));
        for (row, weights) in ours.chunks_exact(n).enumerate() {
            let lse = f64::from(after.capture.layers[layer].lse[head * n + row]);
            let virtual_key = score.sink_logits.as_ref().map_or(0.0, |logits| (logits[head] - lse).exp());
            let sum: f64 = weights.iter().filter(|w| **w != MASKED).map(|&w| f64::from(w)).sum();
            assert!((sum + virtual_key - 1.0).abs() < 1e-6, "layer {layer} head {head} row {row}: {sum}");
        }
        if score.sink_logits.is_none() {
            // Scores of at most 6, of 11 bits each: weights within 6 · 2⁻¹¹ of each other, relatively.
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!((ours - theirs).abs() <= 6e-3 * theirs.abs(), "{ours} {theirs}");
                differs |= ours != theirs;
            }
        }
    }
    assert!(differs, "the scores are not all of 11 bits");
    let again = saved(&after, Kept::F16);
    let twice = read_session(&again.1).expect("opened");
    for (once, twice) in after.capture.layers.iter().zip(&twice.capture.layers) {
        assert_eq!((&once.q, &once.k), (&twice.q, &twice.k), "what is rounded stays as it is");
    }
}

#[test]
fn statistics_alone_give_the_same_sinks_and_no_weight() {
    let before = session();
    let (_folder, path) = saved(&before, Kept::Statistics);
    let after = read_session(&path).expect("opened");
    assert_same(&before, &after, Kept::Statistics);
    assert!(before.capture.has_patterns() && !after.capture.has_patterns());
    assert_eq!(after.capture.weight(0, 0, 3, 0), None);
    let analysis = |session: &Session| Analysis::of(&session.capture, AnalysisOptions::default());
    assert_eq!(analysis(&before), analysis(&after));
    // Saved again as f32, there is still nothing to make patterns from.
    let (_folder, path) = saved(&after, Kept::F32);
    assert!(!read_session(&path).expect("opened").capture.has_patterns());
}

#[test]
fn sizes_are_known_before_saving() {
    let session = session();
    let mut sizes = Vec::new();
    for kept in Kept::ALL {
        let (_folder, path) = saved(&session, kept);
        let bytes = std::fs::metadata(&path).expect("the file").len();
        let predicted = predicted_bytes(&session.capture, kept);
        // Names, hashes, texts and runs come on top: all of them small.
        assert!(
            (predicted..predicted + 40_000).contains(&bytes),
            "{kept:?}: {predicted} said, {bytes} written"
        );
        sizes.push(bytes);
    }
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
}

#[test]
fn every_kind_of_prompt_comes_back() {
    let turns = [("system", ""), ("user", "\"why\"?\n空")];
    let turns = turns.map(|(role, content)| ChatMessage { role: role.into(), content: content.into() });
    for prompt in [PromptInput::Chat(turns.into()), PromptInput::Ids(vec![0, 7, u32::MAX])] {
        let before = Session { prompt, model: None, runs: Vec::new(), ..session() };
        let (_folder, path) = saved(&before, Kept::F32);
        assert_same(&before, &read_session(&path).expect("opened"), Kept::F32);
    }
}

#[test]
fn another_reader_finds_the_same_arrays() {
    let session = session();
    let (folder, path) = saved(&session, Kept::F32);
    let read = |name: &str| {
        let (_, bytes) = members(&path).into_iter().find(|(other, _)| other == name).expect("a member");
        let copy = folder.path().join("array.npy");
        std::fs::write(&copy, bytes).expect("written");
        Tensor::read_npy(&copy).expect("an array")
    };
    let (n, layer) = (session.capture.len(), &session.capture.layers[1]);
    let q = read("layers/1/q.npy");
    assert_eq!(q.dims(), [n, 3, n]);
    assert_eq!(q.flatten_all().unwrap().to_vec1::<f32>().unwrap(), layer.q);
    let sums = read("layers/1/column_sums.npy");
    assert_eq!(sums.dims(), [3, n]);
    assert_eq!(sums.flatten_all().unwrap().to_vec1::<f32>().unwrap(), layer.column_sums);
    let nll = read("runs/0/nll_nats.npy");
    assert_eq!(nll.to_vec1::<f64>().unwrap(), session.runs[0].nll_nats);
    let gone = read("runs/1/evicted_at.npy");
    assert_eq!(gone.dims(), [2, 1, n]);
}

#[test]
fn saving_again_replaces_the_file_and_failing_leaves_it() {
    let first = session();
    let (folder, path) = saved(&first, Kept::F32);
    let before = std::fs::read(&path).expect("the file");
    let mut capture = full_capture();
    capture.layers[1].k[5] = 70_000.0;
    let second = Session { capture: Arc::new(capture), ..session() };
    let error = write_session(&second, Kept::F16, &path).expect_err("beyond f16").to_string();
    assert_eq!(error, "Layer 1 has values beyond f16's 65 504: save the session as f32");
    assert_eq!(std::fs::read(&path).expect("the file"), before, "the old file is whole");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left behind");
    write_session(&second, Kept::F32, &path).expect("saved");
    assert_same(&second, &read_session(&path).expect("opened"), Kept::F32);
    let nowhere = folder.path().join("missing/a.sinkscope");
    let error = write_session(&second, Kept::F32, &nowhere).expect_err("no folder").to_string();
    assert!(error.ends_with(&nowhere.display().to_string()) && error.contains("no such folder"), "{error}");
}

#[test]
fn a_file_of_version_1_opens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/session/v1.sinkscope");
    let opened = read_session(&path).expect("opened");
    assert_same(&session(), &opened, Kept::F32);
}

/// Writes the file that the test above opens. Only for the version that it is named after.
#[test]
#[ignore = "writes a fixture"]
fn write_version_1() {
    assert_eq!(sinkscope::session::FORMAT_VERSION, 1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/session/v1.sinkscope");
    write_session(&session(), Kept::F32, &path).expect("saved");
}
