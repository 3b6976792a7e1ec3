//! What tiles are made of, and how tiles are named.

use crate::capture::{AlignBy, Capture, Difference, PatternOf, PatternTile, Shaping, TileArea};
use crate::progress::{CancelToken, Cancelled};
use std::sync::Arc;

/// A matrix of which tiles can be computed. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// A pattern of a run.
    Weights {
        /// The run.
        capture: Arc<Capture>,
        /// Which of its patterns.
        of: PatternOf,
        /// What is done to it.
        shaping: Arc<Shaping>,
    },
    /// The difference of two.
    Difference(Arc<Difference>),
}

/// Names a matrix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MatrixId {
    /// A pattern of a run.
    Weights {
        /// [`Capture::id`].
        capture: u64,
        /// Which of its patterns.
        of: PatternOf,
        /// What is done to it.
        shaping: Arc<Shaping>,
    },
    /// The difference of two.
    Difference {
        /// [`Capture::id`] and pattern of the first.
        a: (u64, PatternOf),
        /// [`Capture::id`] and pattern of the second.
        b: (u64, PatternOf),
        /// How their tokens are aligned.
        by: AlignBy,
    },
}

impl Matrix {
    /// A pattern as it is.
    #[must_use]
    pub fn plain(capture: &Arc<Capture>, of: PatternOf) -> Self {
        Self::Weights { capture: Arc::clone(capture), of, shaping: Arc::default() }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> MatrixId {
        match self {
            Self::Weights { capture, of, shaping } => {
                MatrixId::Weights { capture: capture.id, of: *of, shaping: Arc::clone(shaping) }
            }
            Self::Difference(difference) => MatrixId::Difference {
                a: (difference.a.0.id, difference.a.1),
                b: (difference.b.0.id, difference.b.1),
                by: difference.by,
            },
        }
    }

    /// Cells along each side.
    #[must_use]
    pub fn side(&self) -> usize {
        match self {
            Self::Weights { capture, .. } => capture.len(),
            Self::Difference(difference) => difference.side(),
        }
    }

    /// The exact value of a cell; `None` where it is masked.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<f32> {
        match self {
            Self::Weights { capture, of, shaping } => capture.cell(*of, shaping, row, column),
            Self::Difference(difference) => difference.cell(row, column),
        }
    }

    /// A tile.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn tile(&self, area: &TileArea, cancel: &CancelToken) -> Result<PatternTile, Cancelled> {
        match self {
            Self::Weights { capture, of, shaping } => capture.tile(*of, area, shaping, cancel),
            Self::Difference(difference) => difference.tile(area, cancel),
        }
    }
}

impl MatrixId {
    /// Whether the matrix is made of these runs alone.
    #[must_use]
    pub fn is_made_of(&self, runs: &[u64]) -> bool {
        match self {
            Self::Weights { capture, .. } => runs.contains(capture),
            Self::Difference { a, b, .. } => runs.contains(&a.0) && runs.contains(&b.0),
        }
    }
}

/// Names a tile: of which matrix, which cells, how coarse.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PatternKey {
    /// The matrix.
    pub matrix: MatrixId,
    /// The part.
    pub area: TileArea,
}

/// A tile to compute.
#[derive(Debug, Clone)]
pub struct TileOrder {
    /// Of what.
    pub matrix: Matrix,
    /// Which part.
    pub area: TileArea,
}

impl TileOrder {
    /// The whole pattern of a head, at most `max_side` cells a side.
    #[must_use]
    pub fn whole(capture: &Arc<Capture>, layer: usize, head: usize, max_side: usize) -> Self {
        let matrix = Matrix::plain(capture, PatternOf::Head { layer, head });
        Self { matrix, area: TileArea::whole(capture.len(), max_side) }
    }

    /// The name of the tile.
    #[must_use]
    pub fn key(&self) -> PatternKey {
        PatternKey { matrix: self.matrix.id(), area: self.area.clone() }
    }
}
