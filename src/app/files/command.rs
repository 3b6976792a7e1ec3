//! The command line that writes what the window exports.

use super::export::ExportChoice;
use super::origin::Origin;
use super::shell::CommandLine;
use crate::analysis::HeadOrder;
use crate::app::view::{LayerChoice, ViewOptions};
use crate::cli::OtherRun;
use crate::cli::render::{RenderArgs, ViewName};
use crate::engine::PromptInput;
use crate::eviction::EvictionRun;
use crate::export::StripBy;
use crate::model::placement::DeviceChoice;
use crate::model::tokenizer::BosChoice;
use clap::ValueEnum;
use std::ops::Range;
use std::sync::Arc;

impl ExportChoice {
    /// The command that writes the same file: bit for bit for images, under the same fonts. The other runs are
    /// named by `render.others`.
    #[must_use]
    pub fn command(&self, origin: &Origin, view: &ViewOptions, evictions: &[Arc<EvictionRun>]) -> String {
        let mut line = CommandLine::new("render");
        render_words(&mut line, &self.render, self.format.is_image());
        if self.render.view == ViewName::Eviction {
            let cases: Vec<_> = evictions.iter().map(|run| &run.case).collect();
            line.option("cases", &json(&cases));
        }
        line.option("out", &self.render.out.to_string_lossy());
        detector_words(&mut line, view);
        origin_words(&mut line, origin);
        line.finish()
    }
}

/// Another run as `--others` takes it.
#[must_use]
pub fn other_run(other: &Origin, origin: &Origin) -> OtherRun {
    let same_model = (&other.model, other.load) == (&origin.model, origin.load);
    let mut run = OtherRun { bos: other.bos, ..OtherRun::default() };
    if !same_model {
        run.model = Some(other.model.clone().unwrap_or_else(|| "default".to_owned()));
        run.dtype = other.load.precision;
        run.device = (other.load.device != DeviceChoice::Auto).then(|| other.load.device.to_string());
    }
    match &other.prompt {
        PromptInput::Text { text, parse_specials } => {
            (run.prompt, run.parse_specials) = (Some(text.clone()), *parse_specials);
        }
        PromptInput::Chat(turns) => run.chat = Some(turns.clone()),
        PromptInput::Ids(ids) => run.token_ids = Some(ids.clone()),
    }
    run
}

/// What the view is, in the words of `render`: only those that it reads.
fn render_words(line: &mut CommandLine, args: &RenderArgs, is_image: bool) {
    let view = args.view;
    line.word(&name_of(&view));
    let number = |line: &mut CommandLine, name: &str, value: Option<usize>| {
        if let Some(value) = value {
            line.option(name, &value.to_string());
        }
    };
    let is_similar = view == ViewName::Grid && args.order == HeadOrder::Similarity;
    let takes_head = is_similar || matches!(view, ViewName::Head | ViewName::Difference | ViewName::Lines);
    number(line, "layer", args.layer.filter(|_| takes_head || view == ViewName::Mean));
    number(line, "head", args.head.filter(|_| takes_head));
    grid_and_strip_words(line, args);
    number(line, "peak-keys", (view == ViewName::Peak).then_some(args.peak_keys));
    if let Some((layer, head)) = args.minus.filter(|_| view == ViewName::Difference) {
        line.option("minus", &format!("{layer}:{head}"));
    }
    if let Some(others) = &args.others {
        line.option("others", &others.to_string_lossy());
        if view == ViewName::Difference {
            line.option("align", &name_of(&args.align));
        }
    }
    if view == ViewName::Lines {
        if !args.also_heads.is_empty() {
            let heads: Vec<String> = args.also_heads.iter().map(usize::to_string).collect();
            line.option("also-heads", &heads.join(","));
        }
        line.option("least", &args.least.to_string());
    }
    if view.has_part() || view == ViewName::Lines {
        positions(line, "queries", args.queries.as_ref());
        positions(line, "keys", args.keys.as_ref().filter(|_| view.has_part()));
    }
    if matches!(view, ViewName::Head | ViewName::Mean) {
        line.option("sinks", &name_of(&args.sinks));
    }
    if is_image {
        look_words(line, args);
    }
}

fn grid_and_strip_words(line: &mut CommandLine, args: &RenderArgs) {
    let of_token = match args.view {
        ViewName::TokenHeads | ViewName::Norms => true,
        ViewName::Grid => args.order == HeadOrder::OnSelected,
        ViewName::Strip => args.by != StripBy::Mass,
        _ => false,
    };
    if of_token && !args.token.is_empty() {
        let tokens: Vec<String> = args.token.iter().map(usize::to_string).collect();
        line.option("token", &tokens.join(","));
    }
    if args.view == ViewName::Strip {
        line.option("by", &name_of(&args.by));
    }
    if args.view == ViewName::Grid && args.order != HeadOrder::Layer {
        line.option("order", &name_of(&args.order));
        for (name, is_so) in [("--as-map", args.as_map), ("--without-sinks", args.without_sinks)] {
            if is_so {
                line.word(name);
            }
        }
    }
}

fn look_words(line: &mut CommandLine, args: &RenderArgs) {
    line.option("theme", &name_of(&args.theme));
    line.option("scale", &args.scale.to_string());
    line.option("color", &name_of(&args.color));
    if args.view == ViewName::Difference {
        line.option("difference-map", &name_of(&args.difference_map));
    } else {
        line.option("map", &name_of(&args.map));
    }
    if let Some((low, high)) = args.range {
        line.option("range", &format!("{low}:{high}"));
    }
}

fn positions(line: &mut CommandLine, name: &str, range: Option<&Range<usize>>) {
    if let Some(range) = range.filter(|range| !range.is_empty()) {
        line.option(name, &format!("{}-{}", range.start, range.end - 1));
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
    if origin.load.device != DeviceChoice::Auto {
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

pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
