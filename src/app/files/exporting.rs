//! Exports of the window: which view, of which runs, under which name; called by [`AppState::handle`] alone.

use super::command::{json, other_run};
use super::export::{ExportChoice, Exported};
use super::handle::name_of;
use super::origin::Origin;
use super::worker::FileJob;
use crate::analysis::{Analysis, HeadOrder};
use crate::app::state::AppState;
use crate::app::view::{SinksPage, StripColour, Tab};
use crate::capture::Capture;
use crate::cli::OtherRun;
use crate::cli::render::{RenderArgs, ViewName};
use crate::engine::PromptInput;
use crate::eviction::EvictionRun;
use crate::export::{ExportError, FileFormat, StripBy, Theme, write_atomically};
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A prompt longer than this is named by a file in a command: systems bound the length of an argument.
const MOST_ARGUMENT_BYTES: usize = 64 << 10;

impl AppState {
    /// The export that the view in the centre suggests.
    pub(super) fn suggested_export(&self) -> Option<ExportChoice> {
        let has_patterns = self.run.as_ref()?.capture.has_patterns();
        let focus = (self.view.focus.layer, self.view.focus.head);
        let view = match (self.view.tab, self.view.sinks_page) {
            (Tab::Attention, _) if has_patterns => self.attention.exported_view(focus),
            (Tab::Sinks, SinksPage::Maps) => ViewName::TokenHeads,
            (Tab::Sinks, SinksPage::Peak) => ViewName::Peak,
            (Tab::Sinks, SinksPage::Norms) => ViewName::Norms,
            (Tab::Sinks, SinksPage::Runs) if self.can_export(ViewName::Stability) => ViewName::Stability,
            (Tab::Attention, _) | (Tab::Sinks, SinksPage::Runs) => ViewName::Profile,
            (Tab::Eviction, _) => ViewName::Eviction,
        };
        let render = self.exported_args(view)?;
        Some(self.named(ExportChoice { render, format: FileFormat::Png }))
    }

    /// Whether there is something to export of a view.
    #[must_use]
    pub fn can_export(&self, view: ViewName) -> bool {
        let Some(run) = &self.run else { return false };
        match view {
            ViewName::Eviction => !self.shown_evictions().is_empty(),
            ViewName::Stability => !self.shelf.runs().is_empty(),
            ViewName::Difference => self.attention.shown_difference().is_some(),
            ViewName::Head | ViewName::Grid | ViewName::Mean | ViewName::Lines => run.capture.has_patterns(),
            _ => true,
        }
    }

    /// A view as it is looked at now.
    fn exported_args(&self, view: ViewName) -> Option<RenderArgs> {
        let run = self.run.as_ref()?;
        let focus = (self.view.focus.layer, self.view.focus.head);
        Some(RenderArgs {
            theme: if self.is_dark { Theme::Dark } else { Theme::Light },
            token: self.exported_tokens(view),
            by: match self.view.strip {
                _ if self.view.selected.is_none() => StripBy::Mass,
                StripColour::Mass => StripBy::Mass,
                StripColour::Incoming => StripBy::Incoming,
                StripColour::Outgoing => StripBy::Outgoing,
            },
            peak_keys: self.view.peak_keys,
            ..self.attention.exported(view, &run.capture, focus)
        })
    }

    /// The tokens that a view is about.
    fn exported_tokens(&self, view: ViewName) -> Vec<usize> {
        match view {
            ViewName::Strip => self.view.selection().all(),
            ViewName::Grid => self.view.selected.into_iter().collect(),
            _ => self.run.iter().filter_map(|run| Some(run.focus.as_ref()?.index)).collect(),
        }
    }

    /// Queries and keys of a view that are seen, where it is on show and zoomed.
    #[must_use]
    pub fn export_part(&self, view: ViewName) -> Option<(Range<usize>, Range<usize>)> {
        let args = self.exported_args(view)?;
        args.queries.zip(args.keys)
    }

    /// Turns to another view in the dialog; format, paper and scale stay where they can.
    pub(super) fn export_view(&mut self, view: ViewName) {
        let Some((before, render)) = self.files.export.take().zip(self.exported_args(view)) else { return };
        let (theme, scale) = (before.render.theme, before.render.scale);
        self.set_export(ExportChoice {
            render: RenderArgs { theme, scale, ..render },
            format: before.format,
        });
    }

    pub(super) fn set_export(&mut self, mut choice: ExportChoice) {
        if !choice.render.view.takes(choice.format) {
            choice.format = FileFormat::Png;
        }
        self.files.export = Some(self.named(choice));
    }

    /// Carries out what the dialog describes.
    pub(super) fn export_to(&mut self, path: PathBuf) {
        let Some(choice) = self.files.export.take() else { return };
        let Some(of) = self.material_of(choice.render.view) else { return };
        self.files.doing.push(format!("Exporting {}", name_of(&path)));
        self.files.worker.submit(FileJob::Export { choice: Box::new(choice), of: Box::new(of), path });
    }

    fn material_of(&self, view: ViewName) -> Option<Exported> {
        let run = self.run.as_ref()?;
        Some(Exported {
            capture: Arc::clone(&run.capture),
            analysis: run.analysis.clone(),
            analysis_ms: run.analysis_ms,
            others: self.exported_others(view),
            evictions: self.shown_evictions(),
        })
    }

    /// The runs that a view compares the shown one with.
    fn exported_others(&self, view: ViewName) -> Vec<(Arc<Capture>, Analysis)> {
        let open = |id: Option<u64>| {
            let runs = self.shelf.runs().iter().filter(move |run| id.is_none_or(|id| run.capture.id == id));
            runs.map(|run| (Arc::clone(&run.capture), run.analysis.clone())).collect()
        };
        match view {
            ViewName::Stability => open(None),
            ViewName::Difference => match self.attention.shown_difference() {
                Some(difference) if difference.a.0.id != difference.b.0.id => open(Some(difference.b.0.id)),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn shown_evictions(&self) -> Vec<Arc<EvictionRun>> {
        let shown = self.eviction.runs.iter().filter(|run| run.shown);
        shown.filter_map(|run| run.finished.clone()).collect()
    }

    /// The choice with the name that its file gets unless another is chosen.
    fn named(&self, mut choice: ExportChoice) -> ExportChoice {
        let name = self.suggested_name(Some(&choice));
        choice.render.out = format!("{name}.{}", choice.format.extension()).into();
        choice
    }

    /// A file name without its extension, from the model and the view.
    pub(super) fn suggested_name(&self, choice: Option<&ExportChoice>) -> String {
        let model = self.run.as_ref().map_or("session", |run| run.capture.model.name.as_str());
        let model: String =
            model.chars().map(|c| if c.is_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect();
        choice.map_or_else(|| model.clone(), |choice| format!("{model}-{}", view_in_name(&choice.render)))
    }

    pub(super) fn copy_command(&mut self) {
        let Some(choice) = self.files.export.clone().or_else(|| self.suggested_export()) else {
            self.say_error("There is no view yet: run a prompt first".to_owned());
            return;
        };
        if choice.render.view == ViewName::Eviction && !self.can_export(ViewName::Eviction) {
            self.say_error("There is no finished run yet: wait for the curve".to_owned());
            return;
        }
        match self.command_of(choice) {
            Ok(Some(line)) => {
                self.clipboard = Some(line);
                self.say("Command copied".to_owned());
            }
            Ok(None) => self.say_error("It is not known where this run came from: run it again".to_owned()),
            Err(why) => self.say_error(why.to_string()),
        }
    }

    /// The line; `None` where a run's origin is not known.
    fn command_of(&self, mut choice: ExportChoice) -> Result<Option<String>, ExportError> {
        let origin = |id: u64| self.files.origin(id).cloned();
        let Some(mut own) = self.run.as_ref().and_then(|run| origin(run.capture.id)) else { return Ok(None) };
        let mut others: Vec<OtherRun> = Vec::new();
        for (capture, _) in self.exported_others(choice.render.view) {
            let Some(other) = origin(capture.id) else { return Ok(None) };
            others.push(other_run(&other, &own));
        }
        if !others.is_empty() {
            choice.render.others = Some(self.argument(json(&others), "runs.json")?);
        }
        self.keep_long_prompt(&mut own)?;
        Ok(Some(choice.command(&own, &self.view, &self.shown_evictions())))
    }

    /// Names a file for a prompt that is too long for a command line.
    fn keep_long_prompt(&self, origin: &mut Origin) -> Result<(), ExportError> {
        let (text, extension) = match &origin.prompt {
            PromptInput::Text { text, .. } => (text.clone(), "txt"),
            PromptInput::Chat(turns) => (json(turns), "chat.json"),
            PromptInput::Ids(ids) => (json(ids), "ids.json"),
        };
        if text.len() > MOST_ARGUMENT_BYTES {
            origin.file = Some(self.argument(text, extension)?);
        }
        Ok(())
    }

    /// A text as an argument: itself, or where it is too long a file with it, named by its hash.
    fn argument(&self, text: String, extension: &str) -> Result<PathBuf, ExportError> {
        if text.len() <= MOST_ARGUMENT_BYTES {
            return Ok(text.into());
        }
        let folder = self.files.folder.clone().unwrap_or_else(std::env::temp_dir).join("prompts");
        std::fs::create_dir_all(&folder)
            .map_err(|error| ExportError::Write { why: error.kind().to_string(), path: folder.clone() })?;
        let name = crate::session::hex(&Sha256::digest(text.as_bytes())[..8]);
        let path = folder.join(format!("{name}.{extension}"));
        write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
        Ok(path)
    }
}

/// What a file's name says of a view.
fn view_in_name(args: &RenderArgs) -> String {
    let of = |layer: Option<usize>, head: Option<usize>| match (layer, head) {
        (Some(layer), Some(head)) => format!("l{layer}h{head}"),
        (Some(layer), None) => format!("l{layer}-mean"),
        (None, _) => "mean".to_owned(),
    };
    let token = || args.token.first().copied().unwrap_or_default();
    match args.view {
        ViewName::Grid if args.order != HeadOrder::Layer => {
            format!("heads-by-{}", args.order.name().replace(' ', "-"))
        }
        ViewName::Grid => "heads".to_owned(),
        ViewName::Head => of(args.layer, args.head),
        ViewName::Mean => of(args.layer, None),
        ViewName::Difference => {
            let minus = args.minus.map(|(layer, head)| of(Some(layer), Some(head)));
            format!("{}-minus-{}", of(args.layer, args.head), minus.unwrap_or_default())
        }
        ViewName::Lines => format!("{}-lines", of(args.layer, args.head)),
        ViewName::Profile => "profile".to_owned(),
        ViewName::Strip if args.by != StripBy::Mass => format!("tokens-with-{}", token()),
        ViewName::Strip => "tokens".to_owned(),
        ViewName::TokenHeads => format!("token-{}", token()),
        ViewName::Layers => "layers".to_owned(),
        ViewName::Peak => "peak".to_owned(),
        ViewName::Norms => format!("norms-{}", token()),
        ViewName::Stability => "stability".to_owned(),
        ViewName::Eviction => "eviction".to_owned(),
    }
}
