//! `sinkscope render`: a view as a picture, or the numbers behind it, without a display.

pub use super::view_name::ViewName;

use super::arguments::inline_json;
use crate::analysis::HeadOrder;
use crate::capture::{AlignBy, Hiding, PatternOf};
use crate::color::{ColorMap, DivergingMap, ScaleKind};
use crate::export::{
    self, ExportError, FileFormat, GridView, LinesView, Material, Part, StripBy, StripView, Theme, View,
    ViewOptions,
};
use crate::progress::CancelToken;
use clap::Args;
use std::ops::Range;
use std::path::PathBuf;

/// What to draw, how, and where to.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct RenderArgs {
    /// The view to draw
    #[arg(value_enum)]
    pub view: ViewName,
    /// Layer of the head, difference, mean and lines views, counted from 0
    #[arg(long, required_if_eq_any([("view", "head"), ("view", "lines")]))]
    pub layer: Option<usize>,
    /// Query head of the head, difference and lines views, counted from 0; a difference without it is of a mean
    #[arg(long, required_if_eq_any([("view", "head"), ("view", "lines")]), requires = "layer")]
    pub head: Option<usize>,
    /// Layer and head that the difference subtracts, for example 4:5
    #[arg(long, value_name = "LAYER:HEAD", value_parser = parse_head, required_if_eq("view", "difference"))]
    pub minus: Option<(usize, usize)>,
    /// How the difference aligns the tokens of two runs
    #[arg(long, value_enum, default_value = "tokens")]
    pub align: AlignBy,
    /// Runs to compare with: the first is what the difference subtracts, all are in the stability view. A JSON file or
    /// that JSON itself: an array of objects with "prompt", "chat" or "token_ids", and "model", "bos", "dtype" where
    /// they are others
    #[arg(long, value_name = "RUNS.json|JSON")]
    pub others: Option<PathBuf>,
    /// Token of the token-heads, norms, strip and grid views (the strip adds up several: 3,7); without it the one with
    /// the largest share
    #[arg(long, value_name = "INDEX", value_delimiter = ',')]
    pub token: Vec<usize>,
    /// What the strip's colours mean
    #[arg(long, value_enum, default_value_t)]
    pub by: StripBy,
    /// By what the grid puts heads in order; similarity is to --layer and --head
    #[arg(long, value_enum, default_value_t)]
    pub order: HeadOrder,
    /// Colour the grid's heads by the values of --order, instead of drawing their patterns
    #[arg(long)]
    pub as_map: bool,
    /// Leave the columns of detected sinks out of similarities
    #[arg(long)]
    pub without_sinks: bool,
    /// First keys that the peak view counts as the peak
    #[arg(long, value_name = "KEYS", default_value_t = crate::analysis::PEAK_KEYS)]
    pub peak_keys: usize,
    /// More heads of the lines view, beside --head: 0,3,4
    #[arg(long, value_name = "HEADS", value_delimiter = ',')]
    pub also_heads: Vec<usize>,
    /// Least weight of a line
    #[arg(long, value_name = "WEIGHT", default_value_t = 0.02)]
    pub least: f32,
    /// Queries of a pattern, a difference or the lines, for example 100-163; without it all, or the first 40 of lines
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_positions)]
    pub queries: Option<Positions>,
    /// Keys of a pattern or a difference
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_positions)]
    pub keys: Option<Positions>,
    /// What becomes of the columns of detected sinks in a pattern
    #[arg(long, value_enum, default_value = "shown")]
    pub sinks: Hiding,
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
    /// Colour map of differences
    #[arg(long, value_enum, default_value_t)]
    pub difference_map: DivergingMap,
    /// Weights at the lower and the upper end of the colours of patterns, for example 0.001:0.5
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_range)]
    pub range: Option<(f32, f32)>,
    /// File to write: .png or .svg, or for the numbers .csv, .json, and of patterns .safetensors or .npy
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Positions from the first to before the last.
pub type Positions = Range<usize>;

impl RenderArgs {
    /// Queries that the lines view shows where none are chosen.
    pub const LINE_TOKENS: usize = 40;

    /// A view as it is drawn when nothing else is asked for; `layer` and `head` matter to the head view.
    #[must_use]
    pub fn of(view: ViewName, layer: usize, head: usize, out: PathBuf) -> Self {
        Self {
            view,
            layer: Some(layer),
            head: Some(head),
            minus: None,
            align: AlignBy::Tokens,
            others: None,
            token: Vec::new(),
            by: StripBy::Mass,
            order: HeadOrder::Layer,
            as_map: false,
            without_sinks: false,
            peak_keys: crate::analysis::PEAK_KEYS,
            also_heads: Vec::new(),
            least: 0.02,
            queries: None,
            keys: None,
            sinks: Hiding::Shown,
            theme: Theme::default(),
            scale: 2.0,
            color: ScaleKind::default(),
            map: ColorMap::default(),
            difference_map: DivergingMap::default(),
            range: None,
            out,
        }
    }

    /// Checks what can be checked before a model is loaded.
    ///
    /// # Errors
    /// [`ExportError::UnknownFormat`] when the file's name says no format, [`ExportError::NoTensors`] when it says
    /// one that the view has not.
    pub fn check(&self) -> Result<(), ExportError> {
        let format = FileFormat::of(&self.out)?;
        if self.view.takes(format) {
            return Ok(());
        }
        Err(ExportError::NoTensors { extension: format.extension(), path: self.out.clone() })
    }

    /// The other runs' JSON, where it stands on the line itself.
    #[must_use]
    pub fn inline_others(&self) -> Option<&str> {
        self.others.as_deref().and_then(inline_json)
    }

    fn pattern(&self) -> PatternOf {
        match (self.layer, self.head) {
            (Some(layer), Some(head)) => PatternOf::Head { layer, head },
            (Some(layer), None) => PatternOf::LayerMean(layer),
            (None, _) => PatternOf::ModelMean,
        }
    }

    fn view(&self, material: &Material<'_>) -> View {
        let tokens = || {
            let mut tokens = self.token.clone();
            if tokens.is_empty() {
                tokens.extend(material.run.analysis.strongest());
            }
            tokens.sort_unstable();
            tokens.dedup();
            tokens
        };
        let token = || tokens().first().copied().unwrap_or_default();
        match self.view {
            ViewName::Grid => View::Grid(GridView {
                order: self.order,
                as_map: self.as_map,
                token: (self.order == HeadOrder::OnSelected).then(token),
                similar_to: self.pattern(),
                without_sinks: self.without_sinks,
            }),
            ViewName::Head => View::Pattern(self.pattern()),
            ViewName::Mean => View::Pattern(self.layer.map_or(PatternOf::ModelMean, PatternOf::LayerMean)),
            ViewName::Difference => {
                // The parser asks for it; a caller that leaves it out subtracts the first head.
                let (layer, head) = self.minus.unwrap_or_default();
                View::Difference { a: self.pattern(), b: PatternOf::Head { layer, head }, by: self.align }
            }
            ViewName::Lines => {
                let mut heads = self.also_heads.clone();
                heads.extend(self.head);
                heads.sort_unstable();
                heads.dedup();
                let queries = self.queries.clone().unwrap_or(0..Self::LINE_TOKENS);
                View::Lines(LinesView {
                    layer: self.layer.unwrap_or_default(),
                    heads,
                    first: queries.start,
                    tokens: queries.len(),
                    least: self.least,
                })
            }
            ViewName::Profile => View::Profile,
            ViewName::Strip => {
                let tokens = if self.by == StripBy::Mass { Vec::new() } else { tokens() };
                View::Strip(StripView { by: self.by, tokens })
            }
            ViewName::TokenHeads => View::TokenHeads(token()),
            ViewName::Layers => View::Layers,
            ViewName::Peak => View::Peak(self.peak_keys),
            ViewName::Norms => View::Norms(token()),
            ViewName::Stability => View::Stability,
            ViewName::Eviction => View::Eviction,
        }
    }

    fn options(&self) -> ViewOptions {
        let part = (self.queries.is_some() || self.keys.is_some()).then(|| Part {
            rows: self.queries.clone().unwrap_or(0..usize::MAX),
            keys: self.keys.clone().unwrap_or(0..usize::MAX),
        });
        ViewOptions {
            theme: self.theme,
            color: self.color,
            map: self.map,
            diverging: self.difference_map,
            range: self.range,
            hiding: self.sinks,
            part,
            scale: self.scale,
        }
    }
}

fn parse_head(text: &str) -> Result<(usize, usize), String> {
    let pair = text.split_once(':').and_then(|(layer, head)| Some((layer.parse().ok()?, head.parse().ok()?)));
    pair.ok_or_else(|| format!("{text} is no layer and head, such as 4:5"))
}

fn parse_positions(text: &str) -> Result<Positions, String> {
    let pair: Option<(usize, usize)> =
        text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    pair.filter(|(first, last)| first <= last && *last < usize::MAX)
        .map(|(first, last)| first..last + 1)
        .ok_or_else(|| format!("{text} is no range of positions, such as 100-163"))
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

/// Writes the view of an analysed run. Returns what a reader should know of it (borrowed or missing fonts), one
/// line each, for stderr.
///
/// # Errors
/// [`ExportError`]: an unknown format, a head that the model lacks, a file that can't be written.
pub fn run(material: &Material<'_>, args: &RenderArgs) -> Result<Vec<String>, ExportError> {
    args.check()?;
    export::write_view(&args.view(material), material, &args.options(), &args.out, &CancelToken::new())
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
        assert_eq!(args.pattern(), PatternOf::Head { layer: 3, head: 4 });
        let expected = ViewOptions {
            theme: Theme::Dark,
            color: ScaleKind::Sqrt,
            map: ColorMap::Cividis,
            scale: 1.5,
            ..ViewOptions::default()
        };
        assert_eq!(args.options(), expected);
        assert_eq!(parse("grid --out a.png").unwrap().options(), ViewOptions::default());
    }

    #[test]
    fn means_and_differences_name_their_patterns() {
        let pattern = |line: &str| parse(line).expect("a line").pattern();
        assert_eq!(pattern("mean --out a.png"), PatternOf::ModelMean);
        assert_eq!(pattern("mean --layer 2 --out a.png"), PatternOf::LayerMean(2));
        let difference =
            parse("difference --layer 3 --minus 5:6 --align position --out a.png").expect("a line");
        assert_eq!(difference.pattern(), PatternOf::LayerMean(3));
        assert_eq!((difference.minus, difference.align), (Some((5, 6)), AlignBy::Position));
        assert!(parse("difference --layer 3 --head 4 --out a.png").unwrap_err().contains("--minus"));
        assert!(
            parse("difference --layer 3 --head 4 --minus 5 --out a.png").unwrap_err().contains("such as 4:5")
        );
    }

    #[test]
    fn a_part_is_chosen_by_first_and_last() {
        let part = |line: &str| parse(line).expect("a line").options().part.expect("a part");
        let both = part("head --layer 0 --head 0 --queries 10-19 --keys 0-4 --out a.png");
        assert_eq!(both, Part { rows: 10..20, keys: 0..5 });
        assert_eq!(part("mean --queries 3-3 --out a.png").rows, 3..4);
        assert!(parse("grid --out a.png").expect("a line").options().part.is_none());
        for wrong in ["9-3", "a-b", "7", "0-18446744073709551615"] {
            let line = format!("mean --queries {wrong} --out a.png");
            assert!(parse(&line).unwrap_err().contains("such as 100-163"), "{wrong}");
        }
    }

    #[test]
    fn only_patterns_fit_into_tensors() {
        for view in ViewName::ALL {
            let args = RenderArgs::of(view, 0, 0, "a.npy".into());
            assert_eq!(args.check().is_ok(), view.takes(FileFormat::Npy), "{view:?}");
            let args = RenderArgs::of(view, 0, 0, "a.csv".into());
            assert!(args.check().is_ok(), "{view:?}");
        }
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
