//! The engine thread: events in order, cancellation, latest wins, panics contained.

mod common;

use common::{fixture, smollm2_path};
use sinkscope::Error;
use sinkscope::engine::{Engine, Event, Job, JobId, PromptInput};
use sinkscope::model::LoadOptions;
use sinkscope::model::source::{Locator, ModelRef};
use sinkscope::model::tokenizer::BosChoice;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn open(path: PathBuf) -> Job {
    Job::Open { model: ModelRef::Path(path), offline: true, options: LoadOptions::default() }
}

fn analyze(text: &str) -> Job {
    let prompt = PromptInput::Text { text: text.to_owned(), parse_specials: false };
    Job::Analyze { prompt, bos: BosChoice::Auto, spare_bytes: 0 }
}

/// Events until `last` says that one of them ends the wait.
fn events_until(engine: &Engine, last: impl Fn(JobId, &Event) -> bool) -> Vec<(JobId, Event)> {
    let deadline = Instant::now() + Duration::from_mins(1);
    let mut events = Vec::new();
    while Instant::now() < deadline {
        if let Some((id, event)) = engine.recv_timeout(Duration::from_millis(100)) {
            let ends = last(id, &event);
            events.push((id, event));
            if ends {
                return events;
            }
        }
    }
    panic!("no such event within a minute: {events:?}");
}

fn ends(id: JobId) -> impl Fn(JobId, &Event) -> bool {
    move |other, event| {
        other == id && matches!(event, Event::ModelReady(_) | Event::CaptureReady(_) | Event::Failed(_))
    }
}

#[test]
fn a_model_opens_and_a_prompt_runs_layer_by_layer() {
    let engine = Engine::start(|| {});
    let opening = engine.submit(open(fixture("tiny/llama")));
    // Handed in while the model is still loading: it waits for it.
    let running = engine.submit(analyze("the quick brown fox"));
    assert!(running > opening);
    let events = events_until(&engine, ends(running));
    let ready = events.iter().position(|(_, event)| matches!(event, Event::ModelReady(_)));
    let tokens = events.iter().position(|(_, event)| matches!(event, Event::TokensReady(..)));
    assert!(ready.expect("a model") < tokens.expect("tokens"));
    let layers = events.iter().filter(|(id, event)| *id == running && matches!(event, Event::Progress(_)));
    assert_eq!(layers.count(), 3);
    let Some((_, Event::CaptureReady(capture))) = events.last() else { panic!("{events:?}") };
    assert_eq!(capture.layers.len(), 3);
    assert_eq!(capture.nll_nats.len(), capture.len() - 1);
}

#[test]
fn a_run_without_a_model_says_so() {
    let engine = Engine::start(|| {});
    let id = engine.submit(analyze("x"));
    let events = events_until(&engine, ends(id));
    let Some((_, Event::Failed(error))) = events.last() else { panic!("{events:?}") };
    assert_eq!(error.to_string(), "No model is open: open one first");
}

#[test]
fn a_panic_is_an_error_and_the_next_job_runs() {
    let engine = Engine::start_with(
        |offline| if offline { Locator::from_environment(true) } else { panic!("a planted panic") },
        || {},
    );
    let id = engine.submit(Job::Open {
        model: ModelRef::Default,
        offline: false,
        options: LoadOptions::default(),
    });
    let events = events_until(&engine, ends(id));
    let Some((_, Event::Failed(error @ Error::Panic(_)))) = events.last() else { panic!("{events:?}") };
    assert!(error.to_string().contains("a planted panic"));
    let id = engine.submit(open(fixture("tiny/llama")));
    assert!(matches!(events_until(&engine, ends(id)).last(), Some((_, Event::ModelReady(_)))));
}

#[test]
fn cancelling_takes_less_than_200_ms_and_the_latest_job_wins() {
    let engine = Engine::start(|| {});
    let id = engine.submit(open(smollm2_path()));
    events_until(&engine, ends(id));
    let long = "All happy families are alike. ".repeat(300);
    let first = engine.submit(analyze(&long));
    events_until(&engine, |id, event| id == first && matches!(event, Event::Progress(p) if p.done >= 3));
    let start = Instant::now();
    engine.cancel();
    let events = events_until(&engine, ends(first));
    let Some((_, Event::Failed(error))) = events.last() else { panic!("{events:?}") };
    assert!(error.is_cancelled());
    let took = start.elapsed();
    assert!(took < Duration::from_millis(200), "{took:?}");

    let second = engine.submit(analyze(&long));
    events_until(&engine, |id, event| id == second && matches!(event, Event::Progress(_)));
    let third = engine.submit(analyze("short"));
    let events = events_until(&engine, ends(third));
    assert!(events.iter().any(|(id, event)| {
        *id == second && matches!(event, Event::Failed(error) if error.is_cancelled())
    }));
    assert!(matches!(events.last(), Some((_, Event::CaptureReady(capture))) if capture.len() < 10));
}
