//! `sinkscope render`: a view as a PNG or SVG file, without a display.

use crate::analysis::Analysis;
use crate::capture::Capture;
use crate::color::{ColorMap, ScaleKind};
use crate::eviction::EvictionRun;
use crate::export::{self, ExportError, ImageFormat, Theme, View, ViewOptions};
use crate::progress::CancelToken;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What to draw, how, and where to.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct RenderArgs {
    /// The view to draw
    #[arg(value_enum)]
    pub view: ViewName,
    /// Layer of the head view, of the difference and of the mean, counted from 0
    #[arg(long, required_if_eq_any([("view", "head"), ("view", "difference")]))]
    pub layer: Option<usize>,
    /// Query head of the head view and of the difference, counted from 0
    #[arg(long, required_if_eq_any([("view", "head"), ("view", "difference")]))]
    pub head: Option<usize>,
    /// Layer and head that the difference subtracts, for example 4:5
    #[arg(long, value_name = "LAYER:HEAD", value_parser = parse_head, required_if_eq("view", "difference"))]
    pub minus: Option<(usize, usize)>,
    /// Paper
    #[arg(long, value_enum, default_value_t)]
    pub theme: Theme,
    /// Pixels per point, 1 to 4
    #[arg(long, default_value_t = 2.0, value_parser = parse_scale)]
    pub scale: f32,
    /// How values are placed on the colour map
    #[arg(long, value_enum, default_value_t)]
    pub color: ScaleKind,
    /// Colour map
    #[arg(long, value_enum, default_value_t)]
    pub map: ColorMap,
    /// Weights at the lower and the upper end of the colours of patterns, for example 0.001:0.5
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_range)]
    pub range: Option<(f32, f32)>,
    /// File to write; its name ends in .png or .svg
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// The views by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewName {
    /// Small patterns of all heads
    Grid,
    /// One head's pattern, with --layer and --head
    Head,
    /// Mean over the heads of --layer, or of the whole model without it
    Mean,
    /// One head's pattern minus another's, with --layer, --head and --minus
    Difference,
    /// Attention-mass profile with the detector's line
    Profile,
    /// Tokens coloured by attention mass
    Strip,
    /// Perplexity under smaller caches, with --policy and --budget, or --cases
    Eviction,
}

impl RenderArgs {
    /// A view as it is drawn when nothing else is asked for; `layer` and `head` matter to the head view.
    #[must_use]
    pub fn of(view: ViewName, layer: usize, head: usize, out: PathBuf) -> Self {
        Self {
            view,
            layer: Some(layer),
            head: Some(head),
            minus: None,
            theme: Theme::default(),
            scale: 2.0,
            color: ScaleKind::default(),
            map: ColorMap::default(),
            range: None,
            out,
        }
    }

    /// Checks what can be checked before a model is loaded.
    ///
    /// # Errors
    /// [`ExportError::UnknownFormat`] when the file's name says no format.
    pub fn check(&self) -> Result<(), ExportError> {
        ImageFormat::of(&self.out).map(|_| ())
    }

    /// The view of a capture alone; `None` for the eviction view, which needs runs.
    fn view(&self) -> Option<View> {
        Some(match self.view {
            ViewName::Grid => View::Grid,
            // The parser asks for both; a caller that builds the arguments itself gets the first head.
            ViewName::Head => {
                View::Head { layer: self.layer.unwrap_or_default(), head: self.head.unwrap_or_default() }
            }
            ViewName::Mean => View::Mean { layer: self.layer },
            ViewName::Difference => {
                let a = (self.layer.unwrap_or_default(), self.head.unwrap_or_default());
                View::Difference { a, b: self.minus.unwrap_or(a) }
            }
            ViewName::Profile => View::Profile,
            ViewName::Strip => View::Strip,
            ViewName::Eviction => return None,
        })
    }

    fn options(&self) -> ViewOptions {
        ViewOptions {
            theme: self.theme,
            color: self.color,
            map: self.map,
            range: self.range,
            scale: self.scale,
        }
    }
}

fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let pair = text.split_once(':').and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    pair.ok_or_else(|| format!("{text} is no layer and head, such as 4:5"))
}

fn parse_range(text: &str) -> Result<(f32, f32), String> {
    let pair: Option<(f32, f32)> =
        text.split_once(':').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    pair.filter(|(low, high)| 0.0 <= *low && low < high && *high <= 1.0)
        .ok_or_else(|| format!("{text} is no range of weights, such as 0.001:0.5"))
}

fn parse_scale(text: &str) -> Result<f32, String> {
    let scale: f32 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    if (1.0..=4.0).contains(&scale) { Ok(scale) } else { Err("choose a scale from 1 to 4".to_owned()) }
}

/// Draws the view of an analysed capture and writes the file. Returns what a reader should know of
/// it (borrowed or missing fonts), one line each, for stderr.
///
/// # Errors
/// [`ExportError`]: an unknown format, a head that the model lacks, a file that can't be written.
pub fn run(capture: &Capture, analysis: &Analysis, args: &RenderArgs) -> Result<Vec<String>, ExportError> {
    args.check()?;
    let Some(view) = args.view() else { return run_eviction(capture, &[], args) };
    let drawing = export::draw(view, capture, analysis, &args.options(), &CancelToken::new())?;
    export::write_image(&drawing, &args.out, args.scale)
}

/// Draws simulated runs over a capture and writes the file. Returns the same as [`run`].
///
/// # Errors
/// [`ExportError`]: an unknown format, a file that can't be written.
pub fn run_eviction(
    capture: &Capture,
    runs: &[EvictionRun],
    args: &RenderArgs,
) -> Result<Vec<String>, ExportError> {
    args.check()?;
    export::write_image(&export::draw_eviction(capture, runs, &args.options()), &args.out, args.scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        render: RenderArgs,
    }

    fn parse(line: &str) -> Result<RenderArgs, String> {
        let words = std::iter::once("render").chain(line.split(' '));
        Line::try_parse_from(words).map(|line| line.render).map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_says_what_to_draw_and_how() {
        let args =
            parse("head --layer 3 --head 4 --theme dark --scale 1.5 --color sqrt --map cividis --out a.svg");
        let args = args.unwrap();
        assert_eq!(args.view(), Some(View::Head { layer: 3, head: 4 }));
        let expected = ViewOptions {
            theme: Theme::Dark,
            color: ScaleKind::Sqrt,
            map: ColorMap::Cividis,
            range: None,
            scale: 1.5,
        };
        assert_eq!(args.options(), expected);
        assert_eq!(parse("grid --out a.png").unwrap().options(), ViewOptions::default());
    }

    #[test]
    fn means_and_differences_name_their_patterns() {
        let view = |line: &str| parse(line).expect("a line").view();
        assert_eq!(view("mean --out a.png"), Some(View::Mean { layer: None }));
        assert_eq!(view("mean --layer 2 --out a.png"), Some(View::Mean { layer: Some(2) }));
        let difference = view("difference --layer 3 --head 4 --minus 5:6 --out a.png");
        assert_eq!(difference, Some(View::Difference { a: (3, 4), b: (5, 6) }));
        assert!(parse("difference --layer 3 --head 4 --out a.png").unwrap_err().contains("--minus"));
        assert!(
            parse("difference --layer 3 --head 4 --minus 5 --out a.png").unwrap_err().contains("such as 4:5")
        );
    }

    #[test]
    fn what_is_missing_or_out_of_range_is_named() {
        assert!(parse("head --layer 3 --out a.png").unwrap_err().contains("--head"));
        assert!(parse("grid").unwrap_err().contains("--out"));
        for scale in ["0.5", "5", "big"] {
            assert!(parse(&format!("grid --scale {scale} --out a.png")).is_err(), "{scale}");
        }
        assert!(parse("grid --scale 9 --out a.png").unwrap_err().contains("choose a scale from 1 to 4"));
    }

    #[test]
    fn the_format_is_checked_before_anything_is_drawn() {
        let error = parse("grid --out a.jpg").unwrap().check().unwrap_err();
        assert!(matches!(error, ExportError::UnknownFormat { .. }));
    }
}
