//! The window with a synthetic run, for looking at it while there is no engine.

#[path = "../tests/support/mod.rs"]
mod support;

use sinkscope::app::{RunOptions, run};
use sinkscope::engine::{Event, JobId};
use sinkscope::model::source::ModelRef;
use support::ScriptedEngine;

fn main() {
    if let Some(path) = std::env::args().nth(1) {
        if let Err(why) = run(RunOptions::new(ModelRef::Path(path.into()), true)) {
            eprintln!("{why}");
        }
        return;
    }
    let options = RunOptions {
        model: ModelRef::Default,
        offline: true,
        prompt: None,
        engine: Box::new(|_| {
            let engine = ScriptedEngine::default();
            let model = support::model(30, 9, 16);
            let tokens = support::tokens(support::CHAT);
            let sinks = [(0, 14.0), (22, 9.0), (80, 7.5)];
            let capture = support::capture(1, &model, &tokens, &sinks);
            engine.say_of(JobId(1), Event::Notice("Found in the app's cache".into()));
            engine.say_of(JobId(1), Event::ModelReady(model));
            engine.say_of(JobId(2), Event::TokensReady(tokens, support::plan()));
            engine.say_of(JobId(2), Event::CaptureReady(capture));
            Box::new(engine)
        }),
    };
    if let Err(why) = run(options) {
        eprintln!("{why}");
    }
}
