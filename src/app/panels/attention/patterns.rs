//! The tiles that the attention view has, and those that it waits for.

use crate::capture::{Capture, PatternOf, PatternTile, TileArea};
use crate::engine::patterns::{Matrix, PatternKey, PatternWorker, TileCache, TileOrder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All thumbnails together take no more than this.
const THUMBNAIL_BYTES: usize = 64 << 20;
/// Thumbnails come in sizes that are multiples of this, so that a small resize needs no new ones.
const THUMBNAIL_STEP: usize = 16;
const SMALLEST_THUMBNAIL: usize = 32;
const LARGEST_THUMBNAIL: usize = 128;

/// Tiles and thumbnails, filled by the pattern worker.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    worker: Option<PatternWorker>,
    cache: TileCache,
    thumbnails: Thumbnails,
    /// The runs whose tiles are of use.
    runs: Vec<u64>,
}

/// One small tile for each picture of the grid.
#[derive(Debug, Default)]
struct Thumbnails {
    capture: Option<u64>,
    heads: usize,
    layers: usize,
    max_side: usize,
    tiles: Vec<Option<Arc<PatternTile>>>,
    arrived: Vec<usize>,
}

/// Pictures of the grid: all heads, the mean of each layer, the mean of the model.
pub(super) fn pictures_of(capture: &Capture) -> usize {
    capture.layers.len() * (capture.model.spec.heads + 1) + 1
}

/// The number of a pattern's picture: heads by `layer · heads + head`, then layer means, then the model's.
pub(super) fn picture_of(of: PatternOf, layers: usize, heads: usize) -> usize {
    match of {
        PatternOf::Head { layer, head } => layer * heads + head,
        PatternOf::LayerMean(layer) => layers * heads + layer,
        PatternOf::ModelMean => layers * (heads + 1),
    }
}

fn pattern_at(index: usize, layers: usize, heads: usize) -> PatternOf {
    let mean = index.checked_sub(layers * heads);
    match mean {
        None => PatternOf::Head { layer: index / heads, head: index % heads },
        Some(layer) if layer < layers => PatternOf::LayerMean(layer),
        Some(_) => PatternOf::ModelMean,
    }
}

impl Patterns {
    /// Takes what the worker has done.
    pub(super) fn poll(&mut self) {
        while let Some((key, tile)) = self.worker.as_mut().and_then(PatternWorker::poll) {
            self.take(key, tile);
        }
    }

    /// Waits for a tile that was asked for, for so long at most: a sketch comes within a few milliseconds, and a
    /// frame without any pattern would be seen as a flash.
    pub(super) fn wait_for(&mut self, wanted: &PatternKey, patience: Duration) -> Option<Arc<PatternTile>> {
        let until = Instant::now() + patience;
        while !self.cache.contains(wanted) {
            let (key, tile) = self.worker.as_mut()?.poll_until(until)?;
            self.take(key, tile);
        }
        self.cache.get(wanted)
    }

    fn take(&mut self, key: PatternKey, tile: Arc<PatternTile>) {
        // A short prompt's thumbnail is its large tile as well.
        if let Some(index) = self.thumbnails.place_of(&key) {
            self.thumbnails.put(index, Arc::clone(&tile));
        }
        if key.matrix.is_made_of(&self.runs) {
            self.cache.insert(key, tile);
        }
    }

    /// Turns to a capture: asks for thumbnails of at least `cell_px`, unless they are there.
    pub(super) fn turn_to(&mut self, ctx: &egui::Context, capture: &Arc<Capture>, cell_px: [usize; 2]) {
        let (layers, heads) = (capture.layers.len(), capture.model.spec.heads);
        let count = pictures_of(capture);
        let max_side = thumbnail_side(cell_px, count);
        let same_capture = self.thumbnails.capture == Some(capture.id);
        if same_capture && max_side <= self.thumbnails.max_side {
            return;
        }
        let mut tiles = vec![None; count];
        if same_capture {
            // Coarser ones stay in sight until the finer ones come.
            tiles = std::mem::take(&mut self.thumbnails.tiles);
        }
        self.thumbnails =
            Thumbnails { capture: Some(capture.id), heads, layers, max_side, tiles, arrived: Vec::new() };
        let orders = (0..count)
            .map(|index| TileOrder {
                matrix: Matrix::plain(capture, pattern_at(index, layers, heads)),
                area: TileArea::whole(capture.len(), max_side),
            })
            .collect();
        if let Some(worker) = self.worker(ctx) {
            worker.fill(orders);
        }
    }

    /// Drops the tiles of all runs but these, by the ids of their captures; whether the runs are others
    /// than before.
    pub(super) fn retain(&mut self, runs: &[u64]) -> bool {
        if self.runs == runs {
            return false;
        }
        self.runs = runs.to_vec();
        self.cache.retain_captures(runs);
        if self.thumbnails.capture.is_some_and(|capture| !runs.contains(&capture)) {
            self.thumbnails = Thumbnails::default();
            if let Some(worker) = &mut self.worker {
                worker.fill(Vec::new());
            }
        }
        true
    }

    /// Asks for those of the tiles that are not there, and stops work on others; whether all are there.
    pub(super) fn show(&mut self, ctx: &egui::Context, orders: Vec<TileOrder>) -> bool {
        let missing: Vec<_> = orders.into_iter().filter(|order| !self.cache.contains(&order.key())).collect();
        let complete = missing.iter().all(|order| order.area.sketch);
        if let Some(worker) = self.worker(ctx) {
            worker.show(missing);
        }
        complete
    }

    /// Pictures of the grid that are there, and all of them.
    pub(super) fn thumbnails_done(&self) -> (usize, usize) {
        let done = self.thumbnails.tiles.iter().flatten().count();
        (done, self.thumbnails.tiles.len())
    }

    /// A tile, if it is there.
    pub(super) fn tile(&mut self, key: &PatternKey) -> Option<Arc<PatternTile>> {
        self.cache.get(key)
    }

    /// Bytes of the cached tiles and the thumbnails.
    pub(super) fn bytes(&self) -> usize {
        let thumbnails = self.thumbnails.tiles.iter().flatten();
        self.cache.bytes() + thumbnails.map(|tile| size_of_val(tile.values.as_slice())).sum::<usize>()
    }

    /// A pattern's thumbnail with its name, if it is there.
    pub(super) fn thumbnail(
        &self,
        capture: &Arc<Capture>,
        of: PatternOf,
    ) -> Option<(PatternKey, Arc<PatternTile>)> {
        let thumbnails = &self.thumbnails;
        if thumbnails.capture != Some(capture.id) {
            return None;
        }
        let index = picture_of(of, thumbnails.layers, thumbnails.heads);
        let tile = thumbnails.tiles.get(index)?.clone()?;
        let area = TileArea::whole(capture.len(), thumbnails.max_side);
        Some((TileOrder { matrix: Matrix::plain(capture, of), area }.key(), tile))
    }

    /// Picture number `index`, if it is there.
    pub(super) fn thumbnail_at(&self, index: usize) -> Option<&PatternTile> {
        self.thumbnails.tiles.get(index)?.as_deref()
    }

    /// Numbers of the pictures that came since this was last asked.
    pub(super) fn arrived(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.thumbnails.arrived)
    }

    fn worker(&mut self, ctx: &egui::Context) -> Option<&mut PatternWorker> {
        if self.worker.is_none() {
            let wake = ctx.clone();
            self.worker = PatternWorker::spawn(move || wake.request_repaint())
                .inspect_err(|error| tracing::error!(%error, "no thread for the attention patterns"))
                .ok();
        }
        self.worker.as_mut()
    }
}

impl Thumbnails {
    /// The number of the picture that a tile is.
    fn place_of(&self, key: &PatternKey) -> Option<usize> {
        let crate::engine::patterns::MatrixId::Weights { capture, of, shaping } = &key.matrix else {
            return None;
        };
        let is_whole =
            key.area.max_side == self.max_side && key.area.rows == key.area.keys && !key.area.sketch;
        let wanted = self.capture == Some(*capture) && shaping.is_plain() && is_whole;
        wanted.then(|| picture_of(*of, self.layers, self.heads))
    }

    fn put(&mut self, index: usize, tile: Arc<PatternTile>) {
        if let Some(place) = self.tiles.get_mut(index) {
            *place = Some(tile);
            self.arrived.push(index);
        }
    }
}

/// Side of the thumbnails, in cells, that serves pictures of `cell_px`.
fn thumbnail_side(cell_px: [usize; 2], count: usize) -> usize {
    let wanted = cell_px[0].max(cell_px[1]).next_multiple_of(THUMBNAIL_STEP);
    let affordable = (THUMBNAIL_BYTES / size_of::<f32>() / count.max(1)).isqrt();
    wanted.clamp(SMALLEST_THUMBNAIL, LARGEST_THUMBNAIL).min(affordable.max(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_serve_their_pictures_within_the_memory() {
        assert_eq!(thumbnail_side([17, 21], 270), 32);
        assert_eq!(thumbnail_side([34, 42], 270), 48);
        assert_eq!(thumbnail_side([500, 500], 16), LARGEST_THUMBNAIL);
        let many = thumbnail_side([96, 96], 5120);
        assert!(many * many * 4 * 5120 <= THUMBNAIL_BYTES, "{many}");
    }

    #[test]
    fn every_pattern_has_a_picture_of_its_own() {
        let (layers, heads) = (3, 4);
        for index in 0..=layers * (heads + 1) {
            assert_eq!(picture_of(pattern_at(index, layers, heads), layers, heads), index);
        }
        assert_eq!(pattern_at(15, layers, heads), PatternOf::ModelMean);
        assert_eq!(pattern_at(12, layers, heads), PatternOf::LayerMean(0));
    }
}
