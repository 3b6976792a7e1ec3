//! What can be exported of a run, and how: one description for the window, the file and the command.

use crate::analysis::Analysis;
use crate::capture::Capture;
use crate::cli::render::{self, RenderArgs};
use crate::eviction::EvictionRun;
use crate::export::{ExportError, FileFormat, Material, RunRef};
use std::path::Path;
use std::sync::Arc;

/// An export as the dialog describes it. Its file is not known yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportChoice {
    /// View, colours and scale, as `render` takes them; `out` holds the suggested name.
    pub render: RenderArgs,
    /// What is written.
    pub format: FileFormat,
}

/// All that an export reads; it can be carried out on another thread.
pub struct Exported {
    /// The run.
    pub capture: Arc<Capture>,
    /// Its analysis.
    pub analysis: Analysis,
    /// Wall time of the analysis.
    pub analysis_ms: f64,
    /// The runs that it is compared with.
    pub others: Vec<(Arc<Capture>, Analysis)>,
    /// The simulated caches that the eviction view shows.
    pub evictions: Vec<Arc<EvictionRun>>,
}

impl ExportChoice {
    /// Writes the file. Returns what a reader should know of it, one line each.
    ///
    /// # Errors
    /// The file can't be written, or the picture is too large.
    pub fn write(&self, of: &Exported, path: &Path) -> Result<Vec<String>, ExportError> {
        let others: Vec<RunRef<'_>> =
            of.others.iter().map(|(capture, analysis)| RunRef { capture, analysis }).collect();
        let evictions: Vec<&EvictionRun> = of.evictions.iter().map(|run| &**run).collect();
        let material = Material {
            run: RunRef { capture: &of.capture, analysis: &of.analysis },
            analysis_ms: of.analysis_ms,
            others: &others,
            evictions: &evictions,
        };
        let args = RenderArgs { out: path.to_owned(), ..self.render.clone() };
        render::run(&material, &args)
    }
}
