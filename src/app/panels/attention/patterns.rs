//! The tiles that the attention view has, and those that it waits for.

use crate::capture::{Capture, PatternTile};
use crate::engine::patterns::{PatternKey, PatternWorker, TileCache};
use std::sync::Arc;

/// All thumbnails together take no more than this.
const THUMBNAIL_BYTES: usize = 64 << 20;
/// Thumbnails come in sizes that are multiples of this, so that a small resize needs no new ones.
const THUMBNAIL_STEP: usize = 16;
const SMALLEST_THUMBNAIL: usize = 32;
const LARGEST_THUMBNAIL: usize = 128;

/// Tiles and thumbnails of one capture, filled by the pattern worker.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    worker: Option<PatternWorker>,
    cache: TileCache,
    thumbnails: Thumbnails,
}

/// One small tile per head.
#[derive(Debug, Default)]
struct Thumbnails {
    capture: Option<u64>,
    heads: usize,
    max_side: usize,
    tiles: Vec<Option<Arc<PatternTile>>>,
    arrived: Vec<usize>,
}

impl Patterns {
    /// Takes what the worker has done.
    pub(super) fn poll(&mut self) {
        while let Some((key, tile)) = self.worker.as_mut().and_then(PatternWorker::poll) {
            if self.thumbnails.wants(&key) {
                self.thumbnails.put(&key, tile);
            } else {
                self.cache.insert(key, tile);
            }
        }
    }

    /// Turns to a capture: asks for thumbnails of at least `cell_px`, unless they are there.
    pub(super) fn turn_to(&mut self, ctx: &egui::Context, capture: &Arc<Capture>, cell_px: [usize; 2]) {
        let (layers, heads) = (capture.layers.len(), capture.model.spec.heads);
        let max_side = thumbnail_side(cell_px, layers * heads);
        let same_capture = self.thumbnails.capture == Some(capture.id);
        if same_capture && max_side <= self.thumbnails.max_side {
            return;
        }
        let mut tiles = vec![None; layers * heads];
        if same_capture {
            // Coarser ones stay in sight until the finer ones come.
            tiles = std::mem::take(&mut self.thumbnails.tiles);
        } else {
            self.cache.retain_capture(capture.id);
        }
        self.thumbnails =
            Thumbnails { capture: Some(capture.id), heads, max_side, tiles, arrived: Vec::new() };
        let keys = (0..layers * heads)
            .map(|index| PatternKey::whole(capture, index / heads, index % heads, max_side))
            .collect();
        if let Some(worker) = self.worker(ctx) {
            worker.fill(capture, keys);
        }
    }

    /// Asks for those of the tiles that are not there, and stops work on others; whether all are there.
    pub(super) fn show(&mut self, ctx: &egui::Context, capture: &Arc<Capture>, keys: &[PatternKey]) -> bool {
        let missing: Vec<_> = keys.iter().filter(|key| !self.cache.contains(key)).cloned().collect();
        let complete = missing.is_empty();
        if let Some(worker) = self.worker(ctx) {
            worker.show(capture, missing);
        }
        complete
    }

    /// Thumbnails that are there, and all of them.
    pub(super) fn thumbnails_done(&self) -> (usize, usize) {
        let done = self.thumbnails.tiles.iter().flatten().count();
        (done, self.thumbnails.tiles.len())
    }

    /// A tile, if it is there.
    pub(super) fn tile(&mut self, key: &PatternKey) -> Option<Arc<PatternTile>> {
        self.cache.get(key)
    }

    /// A head's thumbnail with its name, if it is there.
    pub(super) fn thumbnail(
        &self,
        capture: &Capture,
        layer: usize,
        head: usize,
    ) -> Option<(PatternKey, Arc<PatternTile>)> {
        let tile = self.thumbnails.tiles.get(layer * self.thumbnails.heads + head)?.clone()?;
        Some((PatternKey::whole(capture, layer, head, self.thumbnails.max_side), tile))
    }

    /// Thumbnail number `layer · heads + head`, if it is there.
    pub(super) fn thumbnail_at(&self, index: usize) -> Option<&PatternTile> {
        self.thumbnails.tiles.get(index)?.as_deref()
    }

    /// Numbers of the thumbnails that came since this was last asked.
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
    fn wants(&self, key: &PatternKey) -> bool {
        self.capture == Some(key.capture) && self.max_side == key.max_side && key.rows == key.keys
    }

    fn put(&mut self, key: &PatternKey, tile: Arc<PatternTile>) {
        let index = key.layer * self.heads + key.head;
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
}
