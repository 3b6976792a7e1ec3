//! Arguments to the window or to a headless command.

use clap::Parser;
use sinkscope::Error;
use sinkscope::cli::{self, Arguments};
use sinkscope::progress::CancelToken;
use std::process::ExitCode;

// The default allocator gives large tensors back to the system after each layer and page-faults
// them in again for the next: a quarter of a long prefill.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Some(command) => cli::run(command, arguments.offline, &CancelToken::new()),
        None => cli::run_headless_default(&arguments.model, arguments.offline, &CancelToken::new()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sinkscope: {error}");
            ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
        }
    }
}
