//! The attention view's own state: what is zoomed where, which colours, which tiles.

use super::difference::Comparison;
use super::heads::{Heads, SimilarTo};
use super::lines::{LineWeights, LinesChoice};
use super::options::{AttentionCommand, HeadOrder, Hiding, Mode};
use super::patterns::{Patterns, pictures_of};
use super::pictures::Pictures;
use super::shades::{Look, Map};
use crate::capture::{Capture, PatternOf, PatternTile, Shaping, TileArea};
use crate::color::{ColorMap, ColorScale, DivergingMap, ScaleKind};
use crate::engine::patterns::{Matrix, PatternKey, TileOrder};
use crate::widgets::level::{self, Screen, TileRequest};
use crate::widgets::viewport::Viewport;
use std::sync::Arc;
use std::time::Duration;

/// How long a frame waits for the first sketch of a pattern: less than half of what a display takes for one.
const SKETCH_PATIENCE: Duration = Duration::from_millis(7);

/// What there is to show: a run, and what else about it matters to the attention view.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The run.
    pub capture: &'a Arc<Capture>,
    /// The other open runs, the latest first: what can be subtracted.
    pub others: &'a [&'a Arc<Capture>],
    /// Detected sinks, ascending.
    pub sinks: &'a [usize],
    /// The selected token.
    pub selected: Option<usize>,
    /// The focused head: layer, head.
    pub focus: (usize, usize),
}

/// A scale, and whether its upper end follows what is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaleChoice {
    pub(super) scale: ColorScale,
    pub(super) clamp: Option<f32>,
}

impl ScaleChoice {
    fn of_weights() -> Self {
        Self { scale: ColorScale::default(), clamp: None }
    }

    /// Differences are small: the square root shows them, up to the largest that is drawn.
    fn of_differences() -> Self {
        Self { scale: ColorScale::of(ScaleKind::Sqrt), clamp: Some(100.0) }
    }
}

/// What the grid of heads shows, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct GridChoice {
    pub(super) order: HeadOrder,
    /// Whether colours say the order's values, instead of patterns.
    pub(super) shows_values: bool,
    /// Whether similarity leaves out the sinks' columns.
    pub(super) compares_without_sinks: bool,
}

/// The attention view's state: its options, and the tiles and textures that are derived from the capture.
#[derive(Debug)]
pub struct AttentionState {
    pub(super) mode: Mode,
    pub(super) weights: ScaleChoice,
    pub(super) differences: ScaleChoice,
    pub(super) map: ColorMap,
    pub(super) diverging: DivergingMap,
    pub(super) hiding: Hiding,
    pub(super) mean: Option<PatternOf>,
    pub(super) grid: GridChoice,
    pub(super) box_zoom: bool,
    pub(super) zoom: Option<Viewport>,
    pub(super) cursor: Option<(usize, usize)>,
    pub(super) lines: LinesChoice,
    pub(super) line_weights: LineWeights,
    pub(super) line_tokens: usize,
    pub(super) plot: egui::Rect,
    pub(super) side_px: f64,
    pub(super) cell_px: [usize; 2],
    pub(super) labels: Vec<String>,
    pub(super) pictures: Option<Pictures>,
    pub(super) heads: Heads,
    pub(super) comparison: Comparison,
    pub(super) matrix: Option<Matrix>,
    patterns: Patterns,
    current: Option<Arc<Capture>>,
    last_focus: (usize, usize),
    shaping: Arc<Shaping>,
    detail: Option<TileRequest>,
    settled: bool,
    /// The sketch that a frame has waited for.
    waited_for: Option<PatternKey>,
}

impl Default for AttentionState {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            weights: ScaleChoice::of_weights(),
            differences: ScaleChoice::of_differences(),
            map: ColorMap::default(),
            diverging: DivergingMap::default(),
            hiding: Hiding::default(),
            mean: None,
            grid: GridChoice::default(),
            box_zoom: false,
            zoom: None,
            cursor: None,
            lines: LinesChoice::default(),
            line_weights: LineWeights::default(),
            line_tokens: 0,
            plot: egui::Rect::NOTHING,
            side_px: 0.0,
            cell_px: [0, 0],
            labels: Vec::new(),
            pictures: None,
            heads: Heads::default(),
            comparison: Comparison::default(),
            matrix: None,
            patterns: Patterns::default(),
            current: None,
            last_focus: (0, 0),
            shaping: Arc::default(),
            detail: None,
            settled: false,
            waited_for: None,
        }
    }
}

impl AttentionState {
    /// Carries out one command.
    pub fn handle(&mut self, command: AttentionCommand) {
        match command {
            AttentionCommand::SetMode(mode) => {
                if mode != self.mode {
                    (self.mode, self.zoom, self.cursor) = (mode, None, None);
                }
            }
            AttentionCommand::SetScale(kind) => self.choice_mut().scale.kind = kind,
            AttentionCommand::SetFloor(floor) => {
                let choice = self.choice_mut();
                choice.scale =
                    ColorScale { kind: ScaleKind::Log, ..choice.scale }.over(floor, choice.scale.max);
            }
            AttentionCommand::SetRange(scale) => {
                *self.choice_mut() = ScaleChoice { scale, clamp: None };
                if self.mode == Mode::Pattern && self.hiding == Hiding::Rescaled {
                    // A range that is chosen does not follow what is left.
                    self.hiding = Hiding::AsTheyAre;
                }
            }
            AttentionCommand::SetClamp(clamp) => self.choice_mut().clamp = clamp,
            AttentionCommand::ResetScale => {
                let kind = self.choice().scale.kind;
                let first = if self.mode == Mode::Difference {
                    ScaleChoice::of_differences()
                } else {
                    ScaleChoice::of_weights()
                };
                *self.choice_mut() = ScaleChoice { scale: ColorScale { kind, ..first.scale }, ..first };
            }
            AttentionCommand::SetMap(map) => self.map = map,
            AttentionCommand::SetDivergingMap(map) => self.diverging = map,
            AttentionCommand::SetHiding(hiding) => self.hiding = hiding,
            AttentionCommand::Zoom(view) => self.zoom = Some(view),
            AttentionCommand::Fit => self.zoom = None,
            AttentionCommand::SetBoxZoom(on) => self.box_zoom = on,
            AttentionCommand::MoveCursor(query, key) => self.cursor = Some((query, key)),
            AttentionCommand::ShowMean(mean) => self.mean = mean,
            AttentionCommand::SetOrder(order) => self.grid.order = order,
            AttentionCommand::ShowValues(values) => self.grid.shows_values = values,
            AttentionCommand::CompareWithoutSinks(without) => self.grid.compares_without_sinks = without,
            AttentionCommand::Subtract(subtrahend) => self.comparison.subtrahend = Some(subtrahend),
            AttentionCommand::ToggleLineHead(head) => self.toggle_line_head(head),
            AttentionCommand::AllLineHeads(all) => {
                let heads = self.current.as_ref().map_or(0, |capture| capture.model.spec.heads);
                self.lines.heads = if all { (0..heads).collect() } else { std::collections::BTreeSet::new() };
            }
            AttentionCommand::LinesFrom(first) => self.lines.first = first,
            AttentionCommand::SetLeastLine(least) => self.lines.least = least.clamp(0.0, 1.0),
            AttentionCommand::FitLines(tokens) => self.line_tokens = tokens,
            AttentionCommand::Measured { plot, side_px, cell_px } => {
                self.plot = plot;
                self.side_px = side_px;
                self.cell_px = cell_px;
            }
        }
    }

    fn toggle_line_head(&mut self, head: usize) {
        if self.lines.heads.is_empty() {
            self.lines.heads.insert(self.last_focus.1);
        }
        if !self.lines.heads.remove(&head) {
            self.lines.heads.insert(head);
        }
    }

    /// The scale of what is shown.
    pub(super) fn choice(&self) -> ScaleChoice {
        if self.mode == Mode::Difference { self.differences } else { self.weights }
    }

    fn choice_mut(&mut self) -> &mut ScaleChoice {
        if self.mode == Mode::Difference { &mut self.differences } else { &mut self.weights }
    }

    /// Once a frame, before drawing: takes finished tiles, asks for missing ones, colours new ones.
    pub fn frame(&mut self, ctx: &egui::Context, shown: Option<Shown<'_>>) {
        self.patterns.poll();
        let shown = shown.filter(|shown| !shown.capture.is_empty());
        self.let_go_of_closed_runs(shown);
        let Some(shown) = shown else { return };
        if self.current.as_ref().is_none_or(|current| current.id != shown.capture.id) {
            self.begin(shown.capture);
        }
        if self.last_focus != shown.focus {
            (self.last_focus, self.mean) = (shown.focus, None);
        }
        self.matrix = self.wanted_matrix(ctx, shown);
        self.update_looks(ctx);
        if self.side_px > 0.0 {
            self.update_large(ctx, shown);
            self.update_grid(ctx, shown.capture);
        }
        let keys = match self.grid.order {
            HeadOrder::OnSelected => shown.selected.as_slice(),
            _ => shown.sinks,
        };
        let hidden = if self.grid.compares_without_sinks { shown.sinks.to_vec() } else { Vec::new() };
        let similar = SimilarTo { capture: shown.capture.id, focus: self.focused(shown.focus), hidden };
        self.heads.update(ctx, shown.capture, self.grid.order, keys, &similar);
        if self.mode == Mode::Lines {
            let tokens = self.line_tokens.max(1);
            self.line_weights.update(shown.capture, &self.lines, shown.focus, shown.sinks, tokens);
        }
    }

    /// The colour scale that is chosen.
    #[must_use]
    pub fn scale(&self) -> ColorScale {
        self.choice().scale
    }

    /// The colour map of weights.
    #[must_use]
    pub fn map(&self) -> ColorMap {
        self.map
    }

    /// The colour scale that is drawn.
    #[must_use]
    pub fn drawn_scale(&self) -> ColorScale {
        self.pictures.as_ref().map_or_else(|| self.scale(), |pictures| pictures.table().scale())
    }

    /// What becomes of the columns of detected sinks.
    #[must_use]
    pub fn hiding(&self) -> Hiding {
        self.hiding
    }

    /// What fills the large half of the view.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The pattern that is shown large.
    #[must_use]
    pub fn focused(&self, (layer, head): (usize, usize)) -> PatternOf {
        self.mean.unwrap_or(PatternOf::Head { layer, head })
    }

    /// The run that was chosen to be subtracted, by its capture's id.
    #[must_use]
    pub fn subtracted_run(&self) -> Option<u64> {
        self.comparison.subtrahend?.run
    }

    /// Head numbers (`layer · heads + head`) in the order of the grid.
    #[must_use]
    pub fn ranked_heads(&self) -> &[usize] {
        &self.heads.ranking().order
    }

    /// Where the large matrix was drawn, in points.
    #[must_use]
    pub fn plot(&self) -> egui::Rect {
        self.plot
    }

    /// The cell that a click or the keyboard chose.
    #[must_use]
    pub fn cursor(&self) -> Option<(usize, usize)> {
        self.cursor
    }

    /// Pictures of the grid that are there, and all of them.
    #[must_use]
    pub fn thumbnails_done(&self) -> (usize, usize) {
        self.patterns.thumbnails_done()
    }

    /// Bytes of tiles and thumbnails on the host.
    #[must_use]
    pub fn tile_bytes(&self) -> usize {
        self.patterns.bytes()
    }

    /// Whether every tile that the large matrix wants is shown.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether some tile of the large matrix is shown, coarse or fine.
    #[must_use]
    pub fn shows_something(&self) -> bool {
        let shown = self.pictures.as_ref().and_then(|pictures| pictures.shown().last());
        shown.is_some_and(|key| self.matrix.as_ref().is_some_and(|matrix| matrix.id() == key.matrix))
    }

    /// What is shown of a matrix of `side` cells.
    #[must_use]
    pub fn view(&self, side: usize) -> Viewport {
        self.zoom.unwrap_or_else(|| Viewport::fit(side))
    }

    /// Turns to another capture.
    fn begin(&mut self, capture: &Arc<Capture>) {
        self.current = Some(Arc::clone(capture));
        self.labels = capture.tokens.tokens.iter().map(crate::model::tokenizer::Token::label).collect();
        (self.zoom, self.cursor, self.detail, self.mean) = (None, None, None, None);
        self.lines.first = 0;
        self.comparison.forget();
    }

    /// Drops what is derived from runs that are no longer open.
    fn let_go_of_closed_runs(&mut self, shown: Option<Shown<'_>>) {
        let others = shown.iter().flat_map(|shown| shown.others).copied();
        let open: Vec<u64> =
            shown.iter().map(|shown| shown.capture).chain(others).map(|run| run.id).collect();
        if self.patterns.retain(&open) {
            self.comparison.retain(&open);
        }
        if shown.is_none() {
            (self.current, self.matrix) = (None, None);
        }
    }

    /// The matrix that fills the large half; `None` where there is none (yet).
    fn wanted_matrix(&mut self, ctx: &egui::Context, shown: Shown<'_>) -> Option<Matrix> {
        let of = self.focused(shown.focus);
        match self.mode {
            Mode::Lines => None,
            Mode::Difference => {
                let difference = self.comparison.difference(ctx, shown, of)?;
                Some(Matrix::Difference(difference))
            }
            Mode::Pattern => {
                let shaping = self.hiding.shaping(shown.sinks);
                if *self.shaping != shaping {
                    self.shaping = Arc::new(shaping);
                }
                let (capture, shaping) = (Arc::clone(shown.capture), Arc::clone(&self.shaping));
                Some(Matrix::Weights { capture, of, shaping })
            }
        }
    }

    fn update_looks(&mut self, ctx: &egui::Context) {
        let dark = ctx.global_style().visuals.dark_mode;
        let grid = Look { scale: self.weights.scale, map: Map::Weights(self.map), dark };
        let choice = self.choice();
        let rescaled = self.mode == Mode::Pattern && self.hiding == Hiding::Rescaled;
        let percent = choice.clamp.or(rescaled.then_some(100.0));
        let (Some(matrix), Some(pictures)) = (&self.matrix, &mut self.pictures) else {
            self.pictures.get_or_insert_with(|| Pictures::new(grid, grid)).set_looks(grid, grid);
            return;
        };
        let highest = percent.and_then(|percent| pictures.drawn_percentile(&matrix.id(), percent));
        let scale = match highest {
            // A log scale keeps at least two decades.
            Some(high) if choice.scale.kind == ScaleKind::Log => {
                choice.scale.over(choice.scale.floor.min(high / 100.0), high)
            }
            Some(high) => choice.scale.over(choice.scale.low, high),
            // Until there is something to follow, what was drawn stays.
            None if percent.is_some() => pictures.table().scale(),
            None => choice.scale,
        };
        let map = match self.mode {
            Mode::Difference => Map::Differences(self.diverging),
            _ => Map::Weights(self.map),
        };
        let scale = ColorScale { kind: choice.scale.kind, ..scale };
        pictures.set_looks(grid, Look { scale, map, dark });
    }

    fn update_large(&mut self, ctx: &egui::Context, shown: Shown<'_>) {
        let Some(matrix) = self.matrix.clone() else {
            self.settled = self.mode == Mode::Lines;
            self.patterns.show(ctx, Vec::new());
            if let Some(pictures) = &mut self.pictures {
                pictures.show(ctx, Vec::new());
            }
            return;
        };
        let side = matrix.side();
        let screen =
            Screen { side_px: self.side_px, max_texture_side: ctx.input(|input| input.max_texture_side) };
        let view = self.view(side);
        self.detail = level::detail(&view, side, screen, self.detail.as_ref());
        let order = |request: &TileRequest| TileOrder {
            matrix: matrix.clone(),
            area: TileArea {
                rows: request.rows.clone(),
                keys: request.columns.clone(),
                max_side: request.max_side,
                sketch: false,
            },
        };
        let overview = order(&level::overview(side, screen));
        let detail = self.detail.as_ref().map(order);
        let sketch = TileOrder { matrix: matrix.clone(), area: overview.area.sketched() };
        let mut coarse = self.coarse(shown, &matrix, &overview, &sketch);
        // A detail says more than the overview: when both are missing, it comes first.
        let mut wanted = Vec::new();
        wanted.extend(coarse.is_none().then(|| sketch.clone()));
        wanted.extend(detail.clone());
        wanted.push(overview.clone());
        self.settled = self.patterns.show(ctx, wanted);
        let is_new = self.waited_for.as_ref() != Some(&sketch.key());
        if coarse.is_none() && is_new {
            let key = sketch.key();
            coarse = self.patterns.wait_for(&key, SKETCH_PATIENCE).map(|tile| (key.clone(), tile));
            // Once a matrix: where it takes longer, frames go on without.
            self.waited_for = Some(key);
        }

        let mut tiles: Vec<(PatternKey, Arc<PatternTile>)> = coarse.into_iter().collect();
        match detail.and_then(|order| Some((order.key(), self.patterns.tile(&order.key())?))) {
            Some(finest) => tiles.push(finest),
            None => tiles.extend(self.last_detail(&overview.key(), &view, screen)),
        }
        if let Some(pictures) = &mut self.pictures {
            pictures.show(ctx, tiles);
        }
    }

    /// The best tile that there is of the whole matrix.
    fn coarse(
        &mut self,
        shown: Shown<'_>,
        matrix: &Matrix,
        overview: &TileOrder,
        sketch: &TileOrder,
    ) -> Option<(PatternKey, Arc<PatternTile>)> {
        let tile = self.patterns.tile(&overview.key());
        if let Some(tile) = tile {
            return Some((overview.key(), tile));
        }
        let thumbnail = match matrix {
            Matrix::Weights { of, shaping, .. } if shaping.is_plain() => {
                self.patterns.thumbnail(shown.capture, *of)
            }
            _ => None,
        };
        thumbnail.or_else(|| Some((sketch.key(), self.patterns.tile(&sketch.key())?)))
    }

    /// The finest tile of this matrix that was on screen: it bridges the time until the wanted one comes.
    fn last_detail(
        &mut self,
        overview: &PatternKey,
        view: &Viewport,
        screen: Screen,
    ) -> Option<(PatternKey, Arc<PatternTile>)> {
        self.detail.as_ref()?;
        let of_this = |key: &&PatternKey| {
            key.matrix == overview.matrix && *key != overview && key.area.rows != overview.area.rows
        };
        let key = self.pictures.as_ref()?.shown().filter(of_this).last()?.clone();
        let tile = self.patterns.tile(&key)?;
        level::loses_nothing(tile.pool, view, screen).then_some((key, tile))
    }

    fn update_grid(&mut self, ctx: &egui::Context, capture: &Arc<Capture>) {
        self.patterns.turn_to(ctx, capture, self.cell_px);
        let arrived = self.patterns.arrived();
        let Some(pictures) = &mut self.pictures else { return };
        let patterns = &self.patterns;
        let of = (capture.id, pictures_of(capture), self.cell_px);
        if pictures.fill_atlas(ctx, of, arrived, |index| patterns.thumbnail_at(index)) {
            ctx.request_repaint();
        }
    }
}
