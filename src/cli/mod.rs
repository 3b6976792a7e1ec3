//! The command line: arguments as typed, and the headless commands.

/// A line on stdout. A reader that went away (`| head`) ends the program quietly.
macro_rules! say {
    () => { $crate::cli::say_line(format_args!("")) };
    ($($line:tt)*) => { $crate::cli::say_line(format_args!($($line)*)) };
}

fn say_line(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    if let Err(error) = writeln!(std::io::stdout(), "{line}") {
        // Nobody reads: there is nothing left to do, and nothing went wrong.
        let went_away = error.kind() == std::io::ErrorKind::BrokenPipe;
        std::process::exit(i32::from(!went_away));
    }
}

mod analyze;
mod arguments;
mod bench;
mod cases;
mod draw;
mod evict;
pub mod models;
mod others;
pub mod render;
mod reporter;
mod summary;
mod view_name;

pub use arguments::{Arguments, Command};
pub use draw::run_headless_default;
pub use others::OtherRun;
pub use reporter::TerminalReporter;

use crate::Result;
use crate::model::LoadOptions;
use crate::model::source::Locator;
use crate::progress::CancelToken;

/// What holds for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context {
    /// Whether the network is off limits.
    pub offline: bool,
    /// Where and how weights are kept.
    pub load: LoadOptions,
}

/// Runs a headless command.
///
/// # Errors
/// Whatever the command failed with; its one line is for the terminal.
pub fn run(command: Command, context: Context, cancel: &CancelToken) -> Result<()> {
    match command {
        Command::Analyze(args) => analyze::run(&args, context, cancel),
        Command::Evict(args) => evict::run(&args, context, cancel),
        Command::Render(args) => draw::run(&args, context, cancel),
        Command::Models(args) => {
            let reporter = TerminalReporter::default();
            let locator = Locator::from_environment(context.offline);
            let result = models::run(&args, &locator, &reporter, cancel, &mut std::io::stdout());
            reporter.finish();
            result
        }
        Command::Bench(args) => bench::run(&args, cancel),
    }
}
