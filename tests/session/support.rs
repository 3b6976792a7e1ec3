//! A session with something of everything, and ways to look at two of them.

use crate::toy_capture::capture;
use sinkscope::capture::Capture;
use sinkscope::engine::PromptInput;
use sinkscope::eviction::{EvictionCase, EvictionRun, PinChoice, Pins, PolicyName, Retention, Schedule};
use sinkscope::model::tokenizer::BosChoice;
use sinkscope::session::{Kept, Session, write_session};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const TOKENS: usize = 40;

/// Two layers with sinks, a soft-cap, slopes, a virtual key, a broken row and a split character.
pub(crate) fn full_capture() -> Capture {
    let mut capture = capture(TOKENS, |layer, head, query, key| {
        let noise = ((layer * 7 + head * 13 + query * 31 + key * 17) % 11) as f32 / 6.1;
        noise + if key == 0 { 4.0 } else { 0.0 }
    });
    capture.id = u64::MAX;
    capture.layers[0].lse[7] = f32::NAN;
    capture.layers[1].score.softcap = Some(50.0);
    capture.layers[1].score.alibi_slopes = Some([0.1, 0.2, 1.0 / 3.0].into());
    capture.layers[1].score.sink_logits = Some([-3.0, 0.5, f64::NEG_INFINITY].into());
    capture.checks.max_row_sum_error = 1.0 / 3.0;
    capture.checks.nan_count = 1;
    capture.checks.first_nan = Some((0, 0, 7));
    capture.prefill_ms = 0.1 + 0.2;
    let tokens = Arc::get_mut(&mut capture.tokens).expect("nobody else holds them");
    tokens.tokens[3].bytes = vec![0xE4, 0xB8];
    tokens.warnings.push("a warning with \"quotes\"".to_owned());
    capture.nll_nats = (0..TOKENS - 1).map(|row| (row as f32).sqrt() / 3.0).collect();
    capture
}

pub(crate) fn runs(capture: &Capture) -> Vec<Arc<EvictionRun>> {
    let (n, spec) = (capture.len(), &capture.model.spec);
    let nll = |seed: f64| (0..n - 1).map(|row| (row as f64 + seed).sqrt() / 7.0).collect();
    let pins = Pins { tokens: BTreeSet::from([0, 5]), scored_from: 3 };
    let case = EvictionCase::fifo(16, PinChoice::Tokens(pins.tokens.clone()));
    let by_position = EvictionRun {
        retention: Retention::Shared(Schedule::of(&case, &pins.tokens, n)),
        case,
        pins,
        nll_nats: nll(0.5),
        first_differing_row: Some(17),
        wall_ms: 0.7 / 3.0,
    };
    let case = EvictionCase { policy: PolicyName::H2o, ..EvictionCase::fifo(20, PinChoice::None) };
    let gone = |key: usize| if key.is_multiple_of(3) { u32::MAX } else { (key + 20) as u32 };
    let by_attention = EvictionRun {
        retention: Retention::PerHead(vec![vec![(0..n).map(gone).collect(); spec.kv_heads]; spec.layers]),
        case,
        pins: Pins::default(),
        nll_nats: nll(1.5),
        first_differing_row: Some(21),
        wall_ms: 12.0,
    };
    vec![Arc::new(by_position), Arc::new(by_attention)]
}

pub(crate) fn session() -> Session {
    let capture = full_capture();
    Session {
        runs: runs(&capture),
        capture: Arc::new(capture),
        prompt: PromptInput::Text { text: "naïve 空\n'quoted'\u{1F600}".to_owned(), parse_specials: true },
        bos: BosChoice::Yes,
        model: Some("owner/name:Q4_K_M".to_owned()),
        view: serde_json::json!({"tab": "sinks", "selected": 3}),
    }
}

/// The session as a file in a folder of its own.
pub(crate) fn saved(session: &Session, kept: Kept) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sinkscope");
    write_session(session, kept, &path).expect("saved");
    (folder, path)
}

pub(crate) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Everything but the capture's id, the values and, where it says so, queries and keys.
pub(crate) fn assert_same(a: &Session, b: &Session, kept: Kept) {
    assert_eq!((&a.prompt, a.bos, &a.model, &a.view), (&b.prompt, b.bos, &b.model, &b.view));
    assert_eq!(a.runs, b.runs);
    let (a, b) = (&*a.capture, &*b.capture);
    assert_ne!(a.id, b.id, "caches of what is derived must not mix");
    assert_eq!((&a.model, &a.tokens, a.checks), (&b.model, &b.tokens, b.checks));
    assert_eq!(a.prefill_ms.to_bits(), b.prefill_ms.to_bits());
    assert_eq!(bits(&a.nll_nats), bits(&b.nll_nats));
    assert_eq!(a.layers.len(), b.layers.len());
    for (a, b) in a.layers.iter().zip(&b.layers) {
        assert_eq!(a.score, b.score);
        for (a, b) in [
            (&a.column_sums, &b.column_sums),
            (&a.far_column_sums, &b.far_column_sums),
            (&a.row_entropy_nats, &b.row_entropy_nats),
            (&a.hidden_norm, &b.hidden_norm),
            (&a.hidden_max_abs, &b.hidden_max_abs),
            (&a.key_norm, &b.key_norm),
            (&a.value_norm, &b.value_norm),
        ] {
            assert_eq!(bits(a), bits(b));
        }
        if kept == Kept::F32 {
            assert_eq!((bits(&a.q), bits(&a.k), bits(&a.lse)), (bits(&b.q), bits(&b.k), bits(&b.lse)));
        }
    }
}

/// The members of an archive in order, read by another path than the program's.
pub(crate) fn members(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).expect("the file")).expect("a zip");
    (0..zip.len())
        .map(|index| {
            let mut member = zip.by_index(index).expect("a member");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut member, &mut bytes).expect("read");
            (member.name().expect("a name").into_owned(), bytes)
        })
        .collect()
}
