//! Tiles that were computed, up to a number of bytes; the least recently used go first.

use super::PatternKey;
use crate::capture::PatternTile;
use std::collections::HashMap;
use std::sync::Arc;

/// A cache of tiles of bounded size.
#[derive(Debug)]
pub struct TileCache {
    entries: HashMap<PatternKey, Entry>,
    max_bytes: usize,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    tile: Arc<PatternTile>,
    used: u64,
}

impl Default for TileCache {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

impl TileCache {
    /// Bound of the default cache.
    pub const DEFAULT_BYTES: usize = 256 << 20;

    /// A cache that holds at most `max_bytes` (and always the newest tile).
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self { entries: HashMap::new(), max_bytes, bytes: 0, clock: 0 }
    }

    /// The tile, if it is there; counts as a use.
    pub fn get(&mut self, key: &PatternKey) -> Option<Arc<PatternTile>> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(Arc::clone(&entry.tile))
    }

    /// Whether the tile is there; counts as no use.
    #[must_use]
    pub fn contains(&self, key: &PatternKey) -> bool {
        self.entries.contains_key(key)
    }

    /// Keeps a tile; drops what was not used for longest until the bound holds.
    pub fn insert(&mut self, key: PatternKey, tile: Arc<PatternTile>) {
        self.clock += 1;
        self.bytes += size_bytes(&tile);
        let entry = Entry { tile, used: self.clock };
        if let Some(replaced) = self.entries.insert(key, entry) {
            self.bytes -= size_bytes(&replaced.tile);
        }
        while self.bytes > self.max_bytes && self.entries.len() > 1 {
            self.drop_oldest();
        }
    }

    /// Drops the tiles that are made of other runs than these.
    pub fn retain_captures(&mut self, captures: &[u64]) {
        self.entries.retain(|key, _| key.matrix.is_made_of(captures));
        self.bytes = self.entries.values().map(|entry| size_bytes(&entry.tile)).sum();
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_oldest(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        if let Some(entry) = oldest.and_then(|key| self.entries.remove(&key)) {
            self.bytes -= size_bytes(&entry.tile);
        }
    }
}

fn size_bytes(tile: &PatternTile) -> usize {
    size_of::<PatternTile>() + size_of_val(tile.values.as_slice())
}

#[cfg(test)]
mod tests {
    use super::super::MatrixId;
    use super::*;
    use crate::capture::{PatternOf, TileArea};

    fn key(head: usize) -> PatternKey {
        let matrix = MatrixId::Weights {
            capture: head as u64 / 100,
            of: PatternOf::Head { layer: 0, head },
            shaping: Arc::default(),
        };
        PatternKey { matrix, area: TileArea::whole(8, 8) }
    }

    fn tile(cells: usize) -> Arc<PatternTile> {
        let values = vec![0.5; cells];
        Arc::new(PatternTile { rows: 0..8, keys: 0..8, pool: 1, height: 1, width: cells, values })
    }

    #[test]
    fn the_least_recently_used_tile_goes_first() {
        let each = size_bytes(&tile(1000));
        let mut cache = TileCache::new(3 * each);
        for head in 0..3 {
            cache.insert(key(head), tile(1000));
        }
        assert!(cache.get(&key(0)).is_some());
        cache.insert(key(3), tile(1000));
        let there: Vec<usize> = (0..4).filter(|&head| cache.contains(&key(head))).collect();
        assert_eq!((there, cache.bytes()), (vec![0, 2, 3], 3 * each));
    }

    #[test]
    fn replacing_a_tile_counts_it_once() {
        let mut cache = TileCache::new(1 << 20);
        cache.insert(key(0), tile(1000));
        cache.insert(key(0), tile(10));
        assert_eq!(cache.bytes(), size_bytes(&tile(10)));
    }

    #[test]
    fn a_tile_larger_than_the_cache_is_kept_until_the_next() {
        let mut cache = TileCache::new(100);
        cache.insert(key(0), tile(1000));
        assert!(cache.get(&key(0)).is_some());
        cache.insert(key(1), tile(1000));
        assert!(!cache.contains(&key(0)) && cache.contains(&key(1)));
    }

    #[test]
    fn another_capture_s_tiles_can_be_dropped() {
        let mut cache = TileCache::new(1 << 20);
        cache.insert(key(1), tile(10));
        cache.insert(key(101), tile(10));
        cache.retain_captures(&[1]);
        assert!(!cache.contains(&key(1)) && cache.contains(&key(101)));
        assert_eq!(cache.bytes(), size_bytes(&tile(10)));
    }
}
