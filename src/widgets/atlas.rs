//! Many small pictures of one size in one texture, filled in one by one.

use egui::{Color32, ColorImage, Context, Rect, TextureHandle, TextureId, TextureOptions, pos2};

/// A texture of equally sized pictures.
pub struct Atlas {
    texture: TextureHandle,
    /// Width and height of a picture in texels.
    cell: [usize; 2],
    columns: usize,
    filled: Vec<bool>,
}

impl std::fmt::Debug for Atlas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filled = self.filled.iter().filter(|&&filled| filled).count();
        f.debug_struct("Atlas").field("cell", &self.cell).field("filled", &filled).finish_non_exhaustive()
    }
}

impl Atlas {
    /// An empty atlas for `count` pictures; they are made smaller than `cell` where the texture would get too large.
    #[must_use]
    pub fn new(ctx: &Context, name: &str, count: usize, cell: [usize; 2]) -> Self {
        let max_side = ctx.input(|input| input.max_texture_side);
        let (cell, columns, rows) = packed(count, cell, max_side);
        let size = [columns * cell[0], rows * cell[1]];
        let image = ColorImage::filled(size, Color32::TRANSPARENT);
        let texture = ctx.load_texture(name, image, TextureOptions::NEAREST);
        Self { texture, cell, columns, filled: vec![false; count] }
    }

    /// Width and height of a picture in texels.
    #[must_use]
    pub fn cell(&self) -> [usize; 2] {
        self.cell
    }

    /// The texture.
    #[must_use]
    pub fn texture(&self) -> TextureId {
        self.texture.id()
    }

    /// Puts a picture of [`Atlas::cell`]'s size in its place; others are ignored.
    pub fn set(&mut self, index: usize, image: ColorImage) {
        let place = [index % self.columns * self.cell[0], index / self.columns * self.cell[1]];
        if let Some(filled) = self.filled.get_mut(index)
            && image.size == self.cell
        {
            *filled = true;
            self.texture.set_partial(place, image, TextureOptions::NEAREST);
        }
    }

    /// Where a picture lies in the texture; `None` until it is there.
    #[must_use]
    pub fn uv(&self, index: usize) -> Option<Rect> {
        self.filled.get(index).copied().filter(|&filled| filled)?;
        let [width, height] = self.texture.size().map(to_f32);
        let [cell_width, cell_height] = self.cell.map(to_f32);
        let min = [to_f32(index % self.columns) * cell_width, to_f32(index / self.columns) * cell_height];
        Some(Rect::from_min_max(
            pos2(min[0] / width, min[1] / height),
            pos2((min[0] + cell_width) / width, (min[1] + cell_height) / height),
        ))
    }
}

/// Picture size, columns and rows of an atlas that stays within `max_side`.
fn packed(count: usize, cell: [usize; 2], max_side: usize) -> ([usize; 2], usize, usize) {
    let count = count.max(1);
    let mut cell = cell.map(|side| side.clamp(1, max_side.max(1)));
    loop {
        let columns = (max_side / cell[0]).clamp(1, count);
        let rows = count.div_ceil(columns);
        if rows * cell[1] <= max_side || cell == [1, 1] {
            // No wider than needed: a square-ish texture wastes the least.
            return (cell, count.div_ceil(rows), rows);
        }
        cell = cell.map(|side| (side / 2).max(1));
    }
}

fn to_f32(texels: usize) -> f32 {
    texels as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atlas_stays_within_the_texture() {
        for (count, cell) in
            [(270, [17, 21]), (5120, [24, 24]), (5120, [64, 64]), (1, [500, 500]), (16, [96, 77])]
        {
            let (packed_cell, columns, rows) = packed(count, cell, 2048);
            assert!(columns * packed_cell[0] <= 2048 && rows * packed_cell[1] <= 2048, "{count} {cell:?}");
            assert!(columns * rows >= count);
        }
        assert_eq!(packed(270, [17, 21], 2048).0, [17, 21], "no smaller than it must be");
        assert_eq!(packed(5120, [64, 64], 2048).0, [16, 16]);
    }

    #[test]
    fn pictures_appear_once_they_are_set() {
        let ctx = Context::default();
        let mut atlas = Atlas::new(&ctx, "test", 3, [4, 2]);
        assert_eq!(atlas.uv(1), None);
        atlas.set(1, ColorImage::filled([4, 2], Color32::RED));
        atlas.set(2, ColorImage::filled([9, 9], Color32::RED));
        atlas.set(7, ColorImage::filled([4, 2], Color32::RED));
        let uv = atlas.uv(1).expect("it was set");
        assert!((uv.left() - 1.0 / 3.0).abs() < 1e-6 && (uv.width() - 1.0 / 3.0).abs() < 1e-6);
        assert_eq!((atlas.uv(2), atlas.uv(7)), (None, None), "a wrong size, no such place");
    }
}
