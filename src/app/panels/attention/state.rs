//! The attention view's own state: what is zoomed where, which colours, which tiles.

use super::patterns::Patterns;
use super::pictures::{Look, Pictures};
use crate::capture::{Capture, PatternTile};
use crate::color::{ColorMap, ColorScale, ScaleKind};
use crate::engine::patterns::PatternKey;
use crate::widgets::level::{self, Screen, TileRequest};
use crate::widgets::viewport::Viewport;
use std::sync::Arc;

/// What the attention view can be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttentionCommand {
    /// How weights are placed on the colour map.
    SetScale(ScaleKind),
    /// The smallest weight that the logarithmic scale tells apart.
    SetFloor(f32),
    /// The colour map.
    SetMap(ColorMap),
    /// Whether the columns of detected sinks are hidden.
    HideSinks(bool),
    /// Show this part of the pattern.
    Zoom(Viewport),
    /// Show the whole pattern.
    Fit,
    /// The keyboard's cell (query, key).
    MoveCursor(usize, usize),
    /// How large the pattern and the pictures of the grid are on screen, in physical pixels.
    Measured {
        /// Side of the large pattern.
        side_px: f64,
        /// Width and height of a small one.
        cell_px: [usize; 2],
    },
}

/// The attention view's state: its options, and the tiles and textures that are derived from the capture.
#[derive(Debug, Default)]
pub struct AttentionState {
    pub(super) scale: ColorScale,
    pub(super) map: ColorMap,
    pub(super) hide_sinks: bool,
    pub(super) zoom: Option<Viewport>,
    pub(super) cursor: Option<(usize, usize)>,
    pub(super) side_px: f64,
    pub(super) cell_px: [usize; 2],
    pub(super) labels: Vec<String>,
    pub(super) pictures: Option<Pictures>,
    patterns: Patterns,
    capture: Option<u64>,
    detail: Option<TileRequest>,
    settled: bool,
}

impl AttentionState {
    /// Carries out one command.
    pub fn handle(&mut self, command: AttentionCommand) {
        match command {
            AttentionCommand::SetScale(kind) => self.scale.kind = kind,
            AttentionCommand::SetFloor(floor) => self.scale.floor = floor,
            AttentionCommand::SetMap(map) => self.map = map,
            AttentionCommand::HideSinks(hide) => self.hide_sinks = hide,
            AttentionCommand::Zoom(view) => self.zoom = Some(view),
            AttentionCommand::Fit => self.zoom = None,
            AttentionCommand::MoveCursor(query, key) => self.cursor = Some((query, key)),
            AttentionCommand::Measured { side_px, cell_px } => {
                self.side_px = side_px;
                self.cell_px = cell_px;
            }
        }
    }

    /// Once a frame, before drawing: takes finished tiles, asks for missing ones, colours new ones.
    pub fn frame(&mut self, ctx: &egui::Context, capture: Option<&Arc<Capture>>, focus: (usize, usize)) {
        self.patterns.poll();
        let look = Look { scale: self.scale, map: self.map, dark: ctx.global_style().visuals.dark_mode };
        self.pictures.get_or_insert_with(|| Pictures::new(look)).set_look(look);
        let Some(capture) = capture.filter(|capture| !capture.is_empty()) else { return };
        if self.capture != Some(capture.id) {
            self.begin(capture);
        }
        if self.side_px > 0.0 {
            self.update_focus(ctx, capture, focus);
            self.update_grid(ctx, capture);
        }
    }

    /// The colour scale.
    #[must_use]
    pub fn scale(&self) -> ColorScale {
        self.scale
    }

    /// Whether the columns of detected sinks are hidden.
    #[must_use]
    pub fn hides_sinks(&self) -> bool {
        self.hide_sinks
    }

    /// Heads whose thumbnail is there, and all heads.
    #[must_use]
    pub fn thumbnails_done(&self) -> (usize, usize) {
        self.patterns.thumbnails_done()
    }

    /// Whether every tile that the large pattern wants is shown.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// What is shown of a pattern of `side` tokens.
    pub(super) fn view(&self, side: usize) -> Viewport {
        self.zoom.unwrap_or_else(|| Viewport::fit(side))
    }

    /// Turns to another capture.
    fn begin(&mut self, capture: &Capture) {
        self.capture = Some(capture.id);
        self.labels = capture.tokens.tokens.iter().map(crate::model::tokenizer::Token::label).collect();
        (self.zoom, self.cursor, self.detail) = (None, None, None);
    }

    fn update_focus(&mut self, ctx: &egui::Context, capture: &Arc<Capture>, (layer, head): (usize, usize)) {
        let side = capture.len();
        let screen =
            Screen { side_px: self.side_px, max_texture_side: ctx.input(|input| input.max_texture_side) };
        let view = self.view(side);
        self.detail = level::detail(&view, side, screen, self.detail.as_ref());
        let key = |request: &TileRequest| PatternKey {
            capture: capture.id,
            layer,
            head,
            rows: request.rows.clone(),
            keys: request.columns.clone(),
            max_side: request.max_side,
        };
        let overview = key(&level::overview(side, screen));
        let detail = self.detail.as_ref().map(key);
        let wanted: Vec<PatternKey> =
            [Some(overview.clone()), detail.clone()].into_iter().flatten().collect();
        self.settled = self.patterns.show(ctx, capture, &wanted);

        let mut shown: Vec<(PatternKey, Arc<PatternTile>)> = Vec::new();
        match self.patterns.tile(&overview) {
            Some(tile) => shown.push((overview.clone(), tile)),
            None => shown.extend(self.patterns.thumbnail(capture, layer, head)),
        }
        match detail.and_then(|key| Some((key.clone(), self.patterns.tile(&key)?))) {
            Some(finest) => shown.push(finest),
            None => shown.extend(self.last_detail(capture, (layer, head), &overview, &view, screen)),
        }
        if let Some(pictures) = &mut self.pictures {
            pictures.show(ctx, shown);
        }
    }

    /// The finest tile of this head that was on screen: it bridges the time until the wanted one comes.
    fn last_detail(
        &mut self,
        capture: &Capture,
        head: (usize, usize),
        overview: &PatternKey,
        view: &Viewport,
        screen: Screen,
    ) -> Option<(PatternKey, Arc<PatternTile>)> {
        self.detail.as_ref()?;
        let of_this_head = |key: &&PatternKey| {
            key.capture == capture.id && (key.layer, key.head) == head && *key != overview
        };
        let key = self.pictures.as_ref()?.shown().filter(of_this_head).last()?.clone();
        let tile = self.patterns.tile(&key)?;
        level::loses_nothing(tile.pool, view, screen).then_some((key, tile))
    }

    fn update_grid(&mut self, ctx: &egui::Context, capture: &Arc<Capture>) {
        self.patterns.turn_to(ctx, capture, self.cell_px);
        let arrived = self.patterns.arrived();
        let count = capture.layers.len() * capture.model.spec.heads;
        let Some(pictures) = &mut self.pictures else { return };
        let patterns = &self.patterns;
        let of = (capture.id, count, self.cell_px);
        if pictures.fill_atlas(ctx, of, arrived, |index| patterns.thumbnail_at(index)) {
            ctx.request_repaint();
        }
    }
}
