//! The thread that re-materialises patterns: what comes first, what is dropped.

use crate::synthetic::capture;
use sinkscope::engine::patterns::{PatternKey, PatternWorker, TileOrder};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn the_shown_tile_overtakes_the_thumbnails() {
    let capture = Arc::new(capture(8, 8, 300, 4));
    let mut worker = PatternWorker::spawn(|| {}).expect("a thread");
    let thumbnails = (0..64).map(|index| TileOrder::whole(&capture, index / 8, index % 8, 32)).collect();
    worker.fill(thumbnails);
    let shown = TileOrder::whole(&capture, 7, 7, 300);
    worker.show(vec![shown.clone()]);
    let keys = results(&mut worker, 65);
    let place = keys.iter().position(|key| *key == shown.key()).expect("it was computed");
    assert!(place < 8, "it came as number {place}");
}

#[test]
fn a_newer_wish_replaces_the_older_and_nothing_comes_twice() {
    let capture = Arc::new(capture(1, 8, 600, 4));
    let mut worker = PatternWorker::spawn(|| {}).expect("a thread");
    for head in 0..8 {
        worker.show(vec![TileOrder::whole(&capture, 0, head, 600)]);
    }
    let last = TileOrder::whole(&capture, 0, 7, 600).key();
    let mut keys = Vec::new();
    while keys.last() != Some(&last) {
        keys.extend(results(&mut worker, 1));
    }
    assert!(keys.len() < 8, "stale wishes were computed: {keys:?}");
    std::thread::sleep(Duration::from_millis(50));
    assert!(worker.poll().is_none());
}

#[test]
fn the_window_is_woken_when_tiles_are_there() {
    let (woken, wakes) = std::sync::mpsc::channel();
    let capture = Arc::new(capture(1, 2, 20, 4));
    let mut worker =
        PatternWorker::spawn(move || woken.send(()).expect("the test listens")).expect("a thread");
    worker.show(vec![TileOrder::whole(&capture, 0, 0, 8)]);
    wakes.recv_timeout(Duration::from_secs(20)).expect("a wake");
    assert!(worker.poll().is_some());
}

#[test]
fn a_broken_capture_does_not_end_the_thread() {
    let mut broken = capture(2, 1, 20, 4);
    broken.layers[0].q.truncate(3);
    let capture = Arc::new(broken);
    let mut worker = PatternWorker::spawn(|| {}).expect("a thread");
    let keys: Vec<_> = (0..2).map(|layer| TileOrder::whole(&capture, layer, 0, 8)).collect();
    worker.show(keys.clone());
    assert_eq!(
        results(&mut worker, 1),
        [keys[1].key()],
        "the whole layer is computed, the broken one is not"
    );
}

fn results(worker: &mut PatternWorker, count: usize) -> Vec<PatternKey> {
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut keys = Vec::new();
    while keys.len() < count {
        assert!(Instant::now() < deadline, "{} of {count} came", keys.len());
        match worker.poll() {
            Some((key, _)) => keys.push(key),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    keys
}
