//! What the export of a view takes over from the attention view.

use super::lines::chosen_heads;
use super::options::{Hiding, Mode};
use super::state::AttentionState;
use crate::capture::{Capture, Difference, PatternOf};
use crate::cli::render::{RenderArgs, ViewName};
use crate::color::ColorScale;
use crate::engine::patterns::Matrix;
use std::path::PathBuf;
use std::sync::Arc;

impl AttentionState {
    /// The view that is shown large, by its name.
    #[must_use]
    pub fn exported_view(&self, focus: (usize, usize)) -> ViewName {
        match (self.mode, self.focused(focus)) {
            (Mode::Difference, _) => ViewName::Difference,
            (Mode::Lines, _) => ViewName::Lines,
            (Mode::Pattern, PatternOf::Head { .. }) => ViewName::Head,
            (Mode::Pattern, PatternOf::LayerMean(_) | PatternOf::ModelMean) => ViewName::Mean,
        }
    }

    /// A view as it is looked at here: patterns, colours, what is hidden, and where it is zoomed the part that is
    /// seen.
    #[must_use]
    pub fn exported(&self, view: ViewName, capture: &Capture, focus: (usize, usize)) -> RenderArgs {
        let args = RenderArgs {
            map: self.map,
            difference_map: self.diverging,
            ..RenderArgs::of(view, focus.0, focus.1, PathBuf::new())
        };
        match view {
            ViewName::Head | ViewName::Mean => {
                let is_shown = self.mode == Mode::Pattern && self.exported_view(focus) == view;
                let scale = if is_shown { self.drawn_scale() } else { self.weights.scale };
                let mut args = RenderArgs { sinks: self.hiding, ..with_scale(scale, args) };
                if is_shown {
                    args = self.with_part(args);
                    if self.hiding == Hiding::Rescaled {
                        // What the colours span follows what is drawn here, whatever part is exported.
                        args.range = Some((scale.min(), scale.max));
                    }
                }
                match self.mean {
                    Some(PatternOf::ModelMean) if view == ViewName::Mean => {
                        RenderArgs { layer: None, ..args }
                    }
                    _ => args,
                }
            }
            ViewName::Difference => self.difference_args(args),
            ViewName::Lines => self.lines_args(args, capture, focus),
            ViewName::Grid => RenderArgs {
                order: self.grid.order,
                as_map: self.grid.shows_values,
                without_sinks: self.grid.compares_without_sinks,
                ..with_scale(self.weights.scale, with_pattern(self.focused(focus), args))
            },
            _ => with_scale(self.weights.scale, args),
        }
    }

    /// The difference on show: what its export reads.
    #[must_use]
    pub fn shown_difference(&self) -> Option<&Arc<Difference>> {
        self.comparison.shown().filter(|_| self.mode == Mode::Difference)
    }

    fn with_part(&self, args: RenderArgs) -> RenderArgs {
        let Some((view, side)) = self.zoom.zip(self.matrix.as_ref().map(Matrix::side)) else { return args };
        RenderArgs { queries: Some(view.rows(side)), keys: Some(view.columns(side)), ..args }
    }

    fn difference_args(&self, args: RenderArgs) -> RenderArgs {
        let Some(difference) = self.shown_difference() else { return args };
        let minus = match difference.b.1 {
            PatternOf::Head { layer, head } => Some((layer, head)),
            PatternOf::LayerMean(_) | PatternOf::ModelMean => None,
        };
        let scale = self.drawn_scale();
        let args = RenderArgs {
            minus,
            align: difference.by,
            color: scale.kind,
            range: Some((scale.min(), scale.max)),
            ..with_pattern(difference.a.1, args)
        };
        self.with_part(args)
    }

    fn lines_args(&self, args: RenderArgs, capture: &Capture, focus: (usize, usize)) -> RenderArgs {
        let heads = chosen_heads(&self.lines, focus.1, capture.model.spec.heads);
        let n = capture.len();
        let tokens = if self.line_tokens == 0 { RenderArgs::LINE_TOKENS } else { self.line_tokens };
        let first = self.lines.first.min(n.saturating_sub(tokens));
        RenderArgs {
            head: heads.first().copied(),
            also_heads: heads.iter().skip(1).copied().collect(),
            least: self.lines.least,
            queries: Some(first..(first + tokens).min(n)),
            ..args
        }
    }
}

/// A scale's range is named where it is not the kind's own.
fn with_scale(scale: ColorScale, args: RenderArgs) -> RenderArgs {
    let is_own = scale == ColorScale::of(scale.kind);
    RenderArgs { color: scale.kind, range: (!is_own).then(|| (scale.min(), scale.max)), ..args }
}

/// Names a pattern: a mean has no head, the model's no layer either.
fn with_pattern(of: PatternOf, args: RenderArgs) -> RenderArgs {
    let (layer, head) = match of {
        PatternOf::Head { layer, head } => (Some(layer), Some(head)),
        PatternOf::LayerMean(layer) => (Some(layer), None),
        PatternOf::ModelMean => (None, None),
    };
    RenderArgs { layer, head, ..args }
}
