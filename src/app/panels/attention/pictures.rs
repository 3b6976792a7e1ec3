//! Tiles made into textures: coloured once, kept as long as they are shown.

use super::shades::{Look, Shades, percentile};
use crate::capture::PatternTile;
use crate::color::ColorTable;
use crate::engine::patterns::{MatrixId, PatternKey};
use crate::widgets::atlas::Atlas;
use crate::widgets::cell_colors::max_pooled;
use crate::widgets::heatmap::MatrixTile;
use egui::{Context, TextureHandle, TextureOptions};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Thumbnail cells coloured in one frame: about a millisecond.
const CELLS_A_FRAME: usize = 1 << 19;

/// Textures of the shown tiles, and the atlas of thumbnails.
#[derive(Debug)]
pub(super) struct Pictures {
    /// Colours of the grid.
    grid: Shades,
    /// Colours of the large matrix.
    large: Shades,
    tiles: Vec<TilePicture>,
    atlas: Option<Atlas>,
    /// What the atlas was made for: capture, pictures, size.
    atlas_of: Option<(u64, usize, [usize; 2])>,
    /// Pictures of the atlas that are not there or of an earlier look.
    stale: BTreeSet<usize>,
    /// The percentile that was last asked for, of which tile.
    drawn: Option<(PatternKey, f32, Option<f32>)>,
}

struct TilePicture {
    key: PatternKey,
    tile: Arc<PatternTile>,
    texture: TextureHandle,
    stale: bool,
}

impl std::fmt::Debug for TilePicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TilePicture").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Pictures {
    pub(super) fn new(grid: Look, large: Look) -> Self {
        Self {
            grid: Shades::new(grid),
            large: Shades::new(large),
            tiles: Vec::new(),
            atlas: None,
            atlas_of: None,
            stale: BTreeSet::new(),
            drawn: None,
        }
    }

    /// Colours of the large matrix.
    pub(super) fn table(&self) -> &ColorTable {
        &self.large.table
    }

    /// The atlas of thumbnails.
    pub(super) fn atlas(&self) -> Option<&Atlas> {
        self.atlas.as_ref()
    }

    /// The shown tiles, coarse first.
    pub(super) fn tiles(&self) -> Vec<MatrixTile<'_>> {
        self.tiles.iter().map(TilePicture::as_tile).collect()
    }

    /// Cells of the pattern that share one drawn cell, in the finest tile.
    pub(super) fn finest_pool(&self) -> usize {
        self.tiles.last().map_or(1, |picture| picture.tile.pool)
    }

    /// A percentile of the magnitudes in the finest shown tile of a matrix.
    pub(super) fn drawn_percentile(&mut self, matrix: &MatrixId, percent: f32) -> Option<f32> {
        let finest = self.tiles.last().filter(|picture| picture.key.matrix == *matrix)?;
        if let Some((key, of, value)) = &self.drawn
            && *key == finest.key
            && of.to_bits() == percent.to_bits()
        {
            return *value;
        }
        let value = percentile(&finest.tile.values, percent);
        self.drawn = Some((finest.key.clone(), percent, value));
        value
    }

    /// Changes the colours of everything.
    pub(super) fn set_looks(&mut self, grid: Look, large: Look) {
        if self.large.set(large) {
            self.tiles.iter_mut().for_each(|picture| picture.stale = true);
        }
        if self.grid.set(grid)
            && let Some((_, count, _)) = self.atlas_of
        {
            self.stale = (0..count).collect();
        }
    }

    /// Shows these tiles and no others, coarse first; colours those that are new.
    pub(super) fn show(&mut self, ctx: &Context, tiles: Vec<(PatternKey, Arc<PatternTile>)>) {
        let mut before = std::mem::take(&mut self.tiles);
        for (key, tile) in tiles {
            let known =
                before.iter().position(|picture| picture.key == key && Arc::ptr_eq(&picture.tile, &tile));
            let mut picture = match known {
                Some(index) => before.swap_remove(index),
                None => self.colored(ctx, key, tile),
            };
            if std::mem::take(&mut picture.stale) {
                let tile = &picture.tile;
                let image = self.large.colors.image(&tile.values, tile.width, tile.height);
                picture.texture.set(image, TextureOptions::NEAREST);
            }
            self.tiles.push(picture);
        }
    }

    fn colored(&self, ctx: &Context, key: PatternKey, tile: Arc<PatternTile>) -> TilePicture {
        let image = self.large.colors.image(&tile.values, tile.width, tile.height);
        let texture = ctx.load_texture("attention tile", image, TextureOptions::NEAREST);
        TilePicture { key, tile, texture, stale: false }
    }

    /// Keys of the shown tiles.
    pub(super) fn shown(&self) -> impl Iterator<Item = &PatternKey> {
        self.tiles.iter().map(|picture| &picture.key)
    }

    /// Fills the atlas with what has arrived, as much as one frame may do; whether more is to be done.
    pub(super) fn fill_atlas<'a>(
        &mut self,
        ctx: &Context,
        of: (u64, usize, [usize; 2]),
        arrived: Vec<usize>,
        thumbnail: impl Fn(usize) -> Option<&'a PatternTile>,
    ) -> bool {
        if self.atlas_of != Some(of) {
            self.atlas = Some(Atlas::new(ctx, "attention thumbnails", of.1, of.2));
            self.atlas_of = Some(of);
            self.stale = (0..of.1).collect();
        }
        self.stale.extend(arrived);
        let Some(atlas) = &mut self.atlas else { return false };
        let [width, height] = atlas.cell();
        let mut cells = 0;
        while cells < CELLS_A_FRAME
            && let Some(index) = self.stale.pop_first()
        {
            if let Some(tile) = thumbnail(index) {
                let values = max_pooled(&tile.values, (tile.width, tile.height), (width, height));
                atlas.set(index, self.grid.colors.image(&values, width, height));
                cells += tile.values.len() + values.len();
            }
        }
        !self.stale.is_empty()
    }
}

impl TilePicture {
    fn as_tile(&self) -> MatrixTile<'_> {
        let tile = &self.tile;
        MatrixTile {
            texture: self.texture.id(),
            rows: (tile.rows.start, tile.rows.end),
            columns: (tile.keys.start, tile.keys.end),
            pool: tile.pool,
            width: tile.width,
            height: tile.height,
            values: &tile.values,
            sketch: self.key.area.sketch,
        }
    }
}
