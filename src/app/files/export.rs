//! What can be exported of a run, and how: one description for the window, the file and the command.

use super::origin::Origin;
use super::shell::CommandLine;
use crate::app::view::{LayerChoice, ViewOptions};
use crate::capture::Capture;
use crate::cli::render::{self, RenderArgs, ViewName};
use crate::engine::PromptInput;
use crate::eviction::EvictionRun;
use crate::export::{
    AnalysisReport, EvictionReport, ExportError, evictions_csv, heads_csv, tokens_csv, write_json,
    write_patterns,
};
use crate::model::tokenizer::BosChoice;
use clap::ValueEnum;
use std::path::Path;
use std::sync::Arc;

/// Formats of exported files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// An image of pixels.
    Png,
    /// An image of lines, text as text.
    Svg,
    /// Numbers as a table.
    Csv,
    /// Numbers as JSON.
    Json,
    /// Patterns as safetensors.
    Safetensors,
    /// Patterns as a NumPy array.
    Npy,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Png, Self::Svg, Self::Csv, Self::Json, Self::Safetensors, Self::Npy];

    /// The extension of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Safetensors => "safetensors",
            Self::Npy => "npy",
        }
    }

    /// What a menu says of it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Png => "An image of pixels, as many a point as chosen",
            Self::Svg => "An image of lines, text as text",
            Self::Csv => "The numbers behind the view as a table",
            Self::Json => "The numbers behind the view as JSON",
            Self::Safetensors => "The patterns as tensors l{L}h{H}",
            Self::Npy => "The patterns as a NumPy array",
        }
    }

    /// Whether it is an image.
    #[must_use]
    pub fn is_image(self) -> bool {
        matches!(self, Self::Png | Self::Svg)
    }

    /// Whether it can hold what is behind a view.
    #[must_use]
    pub fn suits(self, view: ViewName) -> bool {
        match self {
            Self::Png | Self::Svg => true,
            Self::Csv | Self::Json => !matches!(view, ViewName::Mean | ViewName::Difference),
            Self::Safetensors | Self::Npy => matches!(view, ViewName::Grid | ViewName::Head),
        }
    }
}

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
    pub analysis: crate::analysis::Analysis,
    /// Wall time of the analysis.
    pub analysis_ms: f64,
    /// The runs that the eviction view shows.
    pub runs: Vec<Arc<EvictionRun>>,
}

impl ExportChoice {
    /// Writes the file. Returns what a reader should know of it, one line each.
    ///
    /// # Errors
    /// The file can't be written, or the picture is too large.
    pub fn write(&self, of: &Exported, path: &Path) -> Result<Vec<String>, ExportError> {
        let (capture, analysis) = (&*of.capture, &of.analysis);
        let runs: Vec<&EvictionRun> = of.runs.iter().map(|run| &**run).collect();
        let is_eviction = self.render.view == ViewName::Eviction;
        match self.format {
            FileFormat::Png | FileFormat::Svg => {
                let args = RenderArgs { out: path.to_owned(), ..self.render.clone() };
                if !is_eviction {
                    return render::run(capture, analysis, &args);
                }
                let runs: Vec<EvictionRun> = runs.into_iter().cloned().collect();
                return render::run_eviction(capture, &runs, &args);
            }
            FileFormat::Csv if is_eviction => evictions_csv(path, capture, &runs)?,
            FileFormat::Json if is_eviction => write_json(path, &EvictionReport::new(capture, &runs))?,
            FileFormat::Csv if self.render.view == ViewName::Grid => heads_csv(path, capture, analysis)?,
            FileFormat::Csv | FileFormat::Json if self.render.view == ViewName::Head => {
                write_patterns(path, capture, &self.heads(capture))?;
            }
            FileFormat::Csv => tokens_csv(path, capture, analysis)?,
            FileFormat::Json => write_json(path, &AnalysisReport::new(capture, analysis, of.analysis_ms))?,
            FileFormat::Safetensors | FileFormat::Npy => write_patterns(path, capture, &self.heads(capture))?,
        }
        Ok(Vec::new())
    }

    /// The heads whose patterns are behind the view.
    fn heads(&self, capture: &Capture) -> Vec<(usize, usize)> {
        if self.render.view == ViewName::Head {
            return vec![(self.render.layer.unwrap_or_default(), self.render.head.unwrap_or_default())];
        }
        let heads = capture.model.spec.heads;
        (0..capture.layers.len()).flat_map(|layer| (0..heads).map(move |head| (layer, head))).collect()
    }

    /// The command that writes the same file: bit for bit for images, under the same fonts.
    #[must_use]
    pub fn command(&self, origin: &Origin, view: &ViewOptions, runs: &[Arc<EvictionRun>]) -> String {
        let is_eviction = self.render.view == ViewName::Eviction;
        let out = self.render.out.to_string_lossy();
        let mut line = if self.format.is_image() {
            let mut line = CommandLine::new("render");
            self.render_words(&mut line);
            line.option("out", &out);
            line
        } else if is_eviction {
            let mut line = CommandLine::new("evict");
            line.option(self.format.extension(), &out);
            line
        } else {
            let mut line = CommandLine::new("analyze");
            match (self.format, self.render.view) {
                (FileFormat::Csv, ViewName::Grid) => line.option("heads-csv", &out),
                (FileFormat::Csv, ViewName::Profile | ViewName::Strip) => line.option("csv", &out),
                (FileFormat::Json, ViewName::Grid | ViewName::Profile | ViewName::Strip) => {
                    line.option("json", &out);
                }
                (_, ViewName::Head) => {
                    let (layer, head) = (self.render.layer, self.render.head);
                    let pair = format!("{}:{}", layer.unwrap_or_default(), head.unwrap_or_default());
                    line.option("patterns", &pair);
                    line.option("patterns-out", &out);
                }
                _ => {
                    line.option("patterns", "all");
                    line.option("patterns-out", &out);
                }
            }
            line
        };
        if is_eviction {
            let cases: Vec<_> = runs.iter().map(|run| &run.case).collect();
            line.option("cases", &json(&cases));
        }
        detector_words(&mut line, view);
        origin_words(&mut line, origin);
        line.finish()
    }

    fn render_words(&self, line: &mut CommandLine) {
        let args = &self.render;
        line.word(&name_of(&args.view));
        let takes_head = matches!(args.view, ViewName::Head | ViewName::Difference);
        if let Some(layer) = args.layer.filter(|_| takes_head || args.view == ViewName::Mean) {
            line.option("layer", &layer.to_string());
        }
        if let Some(head) = args.head.filter(|_| takes_head) {
            line.option("head", &head.to_string());
        }
        if let Some((layer, head)) = args.minus.filter(|_| args.view == ViewName::Difference) {
            line.option("minus", &format!("{layer}:{head}"));
        }
        line.option("theme", &name_of(&args.theme));
        line.option("scale", &args.scale.to_string());
        line.option("color", &name_of(&args.color));
        line.option("map", &name_of(&args.map));
        if let Some((low, high)) = args.range {
            line.option("range", &format!("{low}:{high}"));
        }
    }
}

/// The name of a choice as the command line takes it.
fn name_of(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn detector_words(line: &mut CommandLine, view: &ViewOptions) {
    let profile = match view.profile {
        crate::analysis::ProfileKind::FarLift => "far_lift",
        crate::analysis::ProfileKind::Share => "share",
        crate::analysis::ProfileKind::Alpha => "alpha",
        crate::analysis::ProfileKind::Lift => "lift",
    };
    line.option("profile", profile);
    match view.layers {
        LayerChoice::All => {}
        LayerChoice::Global => line.option("layers", "global"),
        LayerChoice::Range(first, last) => line.option("layers", &format!("{first}-{last}")),
    }
    if let Some(head) = view.head {
        line.option("heads", &head.to_string());
    }
    line.option("threshold", &view.threshold.to_string());
}

fn origin_words(line: &mut CommandLine, origin: &Origin) {
    if let Some(model) = origin.model.as_ref().filter(|model| *model != "default") {
        line.option("model", model);
    }
    if let Some(precision) = origin.load.precision {
        line.option("dtype", precision.name());
    }
    if origin.load.device != crate::model::placement::DeviceChoice::Auto {
        line.option("device", &origin.load.device.to_string());
    }
    if origin.offline {
        line.word("--offline");
    }
    match origin.bos {
        BosChoice::Auto => {}
        BosChoice::Yes => line.option("bos", "yes"),
        BosChoice::No => line.option("bos", "no"),
    }
    let file = origin.file.as_ref().map(|file| file.to_string_lossy());
    let file = file.as_deref();
    match &origin.prompt {
        PromptInput::Text { text, parse_specials } => {
            if *parse_specials {
                line.word("--parse-specials");
            }
            match file {
                Some(file) => line.option("prompt-file", file),
                None => line.option("prompt", text),
            }
        }
        PromptInput::Chat(turns) => line.option("chat", file.unwrap_or(&json(turns))),
        PromptInput::Ids(ids) => line.option("token-ids", file.unwrap_or(&json(ids))),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
