//! Arguments to the window or to a headless command.

use clap::Parser;
use sinkscope::cli::{self, Arguments};
use sinkscope::model::source::ModelRef;
use sinkscope::progress::CancelToken;
use sinkscope::{Error, app};
use std::process::ExitCode;

// The default allocator gives large tensors back to the system after each layer and page-faults
// them in again for the next: a quarter of a long prefill.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(command) => cli::run(command, arguments.offline, &CancelToken::new()),
        None => open_window(&arguments.model, arguments.offline),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sinkscope: {error}");
            ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
        }
    }
}

/// Opens the window; where that is impossible, says why and does the same job headless.
fn open_window(model: &str, offline: bool) -> sinkscope::Result<()> {
    let options = app::RunOptions::new(ModelRef::parse(model), offline);
    match app::run(&options) {
        Ok(()) => Ok(()),
        Err(why) => {
            eprintln!("No window: {why}");
            eprintln!(
                "Running the same job headless. The commands are: sinkscope analyze, render, models, bench"
            );
            cli::run_headless_default(model, offline, &CancelToken::new())
        }
    }
}
