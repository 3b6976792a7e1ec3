//! `sinkscope models list|info|fetch|where`.

mod describe;
mod info;
mod list;
mod stored;

use crate::model::source::{LocatedModel, Locator, ModelRef, SourceError};
use crate::progress::{CancelToken, Reporter};
use clap::{Args, Subcommand};
use std::io::{self, Write};

/// See which models are known and on this machine, and fetch them.
#[derive(Debug, Clone, Args)]
pub struct ModelsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ModelsCommand,
}

/// The subcommands of `sinkscope models`.
#[derive(Debug, Clone, Subcommand)]
pub enum ModelsCommand {
    /// List the known models and where they are; with a repository, its models on the Hub with their sizes.
    List {
        /// `owner/name[@REVISION]`, or the address of its page. Nothing is downloaded.
        repository: Option<String>,
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Say what a model is without loading its weights: architecture, memory by precision, tokenizer, template.
    ///
    /// Of a model that is not on this machine only the configuration and the tokenizer are fetched, or the header
    /// of its GGUF file is read.
    Info {
        /// A GGUF file, a folder, an id from `models list`, `default`, or `owner/name[@REVISION][:Q4_K_M]`.
        #[arg(default_value = "default", value_name = "PATH|REPO")]
        model: String,
        /// JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model into the cache and print its path.
    Fetch {
        /// An id from `models list`, `default`, or `owner/name[@REVISION]` with `:Q4_K_M`, `:FILE.gguf` or
        /// `:safetensors` behind it where the repository has several models.
        #[arg(default_value = "default")]
        model: String,
    },
    /// Print where a model is, without fetching it; without a name, the cache folders.
    Where {
        /// An id from `models list`, `default`, or `owner/name[@REVISION]` with `:Q4_K_M`, `:FILE.gguf` or
        /// `:safetensors` behind it where the repository has several models.
        model: Option<String>,
    },
}

/// Runs the command; paths and tables go to `out`, the rest to the reporter.
///
/// # Errors
/// [`crate::Error::Source`] when the model can't be had or, for `where`, is not here.
pub fn run(
    args: &ModelsArgs,
    locator: &Locator,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
    out: &mut dyn Write,
) -> crate::Result<()> {
    let text = match &args.command {
        ModelsCommand::List { repository: None, json: false } => list::catalogue_table(&locator.catalogue()),
        ModelsCommand::List { repository: None, json: true } => list::catalogue_json(&locator.catalogue()),
        ModelsCommand::List { repository: Some(repository), json } => {
            list::repository(repository, *json, locator, reporter, cancel)?
        }
        ModelsCommand::Info { model, json } => info::text(model, *json, locator, reporter, cancel)?,
        ModelsCommand::Fetch { model } => {
            say(&locator.locate(&ModelRef::parse(model), reporter, cancel)?, reporter)
        }
        ModelsCommand::Where { model: Some(model) } => {
            let found = match ModelRef::parse(model) {
                // Nothing is fetched for a path, and the error says what is wrong with it.
                path @ ModelRef::Path(_) => locator.locate(&path, reporter, cancel)?,
                other => {
                    locator.cached(&other).ok_or_else(|| SourceError::NotHere { name: model.clone() })?
                }
            };
            say(&found, reporter)
        }
        ModelsCommand::Where { model: None } => folders(locator),
    };
    print(&text, out)
}

/// The path alone goes to stdout, so that a script can use it.
fn say(model: &LocatedModel, reporter: &dyn Reporter) -> String {
    let sha256 = model.sha256.as_ref().map(|hash| format!(", sha256 {hash}")).unwrap_or_default();
    reporter.notice(&format!("{} from {}{sha256}", model.name, model.source));
    format!("{}\n", model.path.display())
}

fn folders(locator: &Locator) -> String {
    format!("sinkscope\t{}\nhub\t{}\n", locator.home().display(), locator.hub_cache().display())
}

/// A count with thin spaces between thousands.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join("\u{202f}")
}

fn print(text: &str, out: &mut dyn Write) -> crate::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let why = error.to_string();
            Err(crate::export::ExportError::Write { why, path: "standard output".into() }.into())
        }
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::source::Catalogue;
    use crate::progress::Silent;
    use std::fs;
    use std::path::Path;

    fn run_offline(folder: &Path, command: ModelsCommand) -> crate::Result<String> {
        let locator = Locator::new(folder.join("home"), folder.join("hub")).offline(true);
        let mut out = Vec::new();
        let args = ModelsArgs { command };
        run(&args, &locator, &Silent, &CancelToken::new(), &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// A file of the pinned size in the pinned entry's place, without taking up room.
    fn place_gguf(folder: &Path) -> String {
        let package = Catalogue::built_in().get("smollm2-135m-q4_1").unwrap().package.as_ref().unwrap();
        let path = folder.join("home/models/smollm2-135m-q4_1").join(package.file_name());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(&path).unwrap().set_len(package.file_bytes).unwrap();
        path.display().to_string()
    }

    #[test]
    fn list_says_which_models_are_here() {
        let folder = tempfile::tempdir().unwrap();
        let path = place_gguf(folder.path());
        let text = run_offline(folder.path(), ModelsCommand::List { repository: None, json: false }).unwrap();
        let lines: Vec<_> =
            text.lines().map(|line| line.split("  ").filter(|c| !c.is_empty()).map(str::trim)).collect();
        let cells: Vec<Vec<_>> = lines.into_iter().map(Iterator::collect).collect();
        assert_eq!(cells[0], ["ID", "MODEL", "WEIGHTS", "DOWNLOAD", "LICENCE", "WHERE"]);
        assert_eq!(
            cells[1],
            ["smollm2-135m", "SmolLM2-135M-Instruct", "BF16", "259 MiB", "Apache-2.0", "not here"]
        );
        assert_eq!(
            cells[2],
            ["smollm2-135m-q4_1", "SmolLM2-135M-Instruct", "Q4_1", "89 MiB", "Apache-2.0", &path]
        );
    }

    #[test]
    fn the_catalogue_is_json_where_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = place_gguf(folder.path());
        let list = ModelsCommand::List { repository: None, json: true };
        let json: serde_json::Value =
            serde_json::from_str(&run_offline(folder.path(), list).unwrap()).unwrap();
        assert_eq!(json[1]["id"], "smollm2-135m-q4_1");
        assert_eq!((&json[0]["path"], &json[1]["path"]), (&serde_json::Value::Null, &path.into()));
        assert_eq!(json[1]["download_bytes"], 92_871_040);
    }

    #[test]
    fn where_prints_a_path_or_fails_and_never_fetches() {
        let folder = tempfile::tempdir().unwrap();
        let locate = |model: &str| ModelsCommand::Where { model: Some(model.into()) };
        let error = run_offline(folder.path(), locate("default")).unwrap_err().to_string();
        assert_eq!(error, "default is not on this machine; fetch it with: sinkscope models fetch default");
        let error = run_offline(folder.path(), locate("gpt9")).unwrap_err().to_string();
        assert_eq!(error, "There is no file or folder here, and it is no Hub name (owner/name): gpt9");
        let path = place_gguf(folder.path());
        for model in ["default", "smollm2-135m-q4_1", path.as_str()] {
            assert_eq!(run_offline(folder.path(), locate(model)).unwrap(), format!("{path}\n"));
        }
        let folders = run_offline(folder.path(), ModelsCommand::Where { model: None }).unwrap();
        assert!(folders.contains(&folder.path().join("hub").display().to_string()), "{folders}");
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        struct Gone(io::ErrorKind);
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(print("x", &mut Gone(io::ErrorKind::BrokenPipe)).is_ok());
        assert!(print("x", &mut Gone(io::ErrorKind::StorageFull)).is_err());
    }
}
