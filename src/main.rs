//! Arguments to the window or to a headless command.

use clap::Parser;
use sinkscope::cli::{self, Arguments, Context};
use sinkscope::model::source::ModelRef;
use sinkscope::progress::CancelToken;
use sinkscope::{Error, app};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let context = arguments.context();
    let result = match arguments.command {
        Some(command) => cli::run(command, context, &CancelToken::new()),
        None => open_window(&arguments.model, context),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sinkscope: {}", sinkscope::text::one_line(&error.to_string()));
            ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
        }
    }
}

/// Opens the window; where that is impossible, says why and does the same job headless.
fn open_window(model: &str, context: Context) -> sinkscope::Result<()> {
    let options = app::RunOptions::new(ModelRef::parse(model), context.offline, context.load);
    match app::run(&options) {
        Ok(()) => Ok(()),
        Err(why) => {
            eprintln!("No window: {why}");
            eprintln!(
                "Running the same job headless. The commands are: sinkscope analyze, render, models, bench"
            );
            cli::run_headless_default(model, context, &CancelToken::new())
        }
    }
}
