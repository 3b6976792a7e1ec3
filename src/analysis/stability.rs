//! Which sinks of one run are sinks of another too: the same token elsewhere, or another token at the
//! same place.

/// What the comparison needs of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunSinks<'a> {
    /// Flagged positions, ascending.
    pub flagged: &'a [usize],
    /// z of each position.
    pub z: &'a [Option<f64>],
}

impl RunSinks<'_> {
    fn has(&self, position: usize) -> bool {
        self.flagged.binary_search(&position).is_ok()
    }

    fn z_of(&self, position: usize) -> Option<f64> {
        self.z.get(position).copied().flatten()
    }
}

/// What became of a sink in another run. Positions are the other run's.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// The same token at the same position is a sink there too.
    Stays {
        /// Its z there.
        z: Option<f64>,
    },
    /// The same token stands elsewhere, and is a sink there.
    Moves {
        /// Where it stands.
        to: usize,
        /// Its z there.
        z: Option<f64>,
    },
    /// The token is not in the other text, but what stands at its position is a sink.
    PlaceStays {
        /// The z of what stands there.
        z: Option<f64>,
    },
    /// The token is in the other text, and is no sink there.
    Fades {
        /// Where it stands.
        to: usize,
        /// Its z there; `None` where it is n/a.
        z: Option<f64>,
    },
    /// The token is not in the other text, and its position holds no sink.
    Absent,
}

impl Fate {
    /// Whether it is a sink in the other run as well, here or elsewhere.
    #[must_use]
    pub fn is_sink(self) -> bool {
        matches!(self, Self::Stays { .. } | Self::Moves { .. } | Self::PlaceStays { .. })
    }
}

/// The fate of each sink of one run in another. `place` says where a token of the first text stands in
/// the second; `None` where it is not in it.
#[must_use]
pub fn fates(sinks: &[usize], other: RunSinks<'_>, place: impl Fn(usize) -> Option<usize>) -> Vec<Fate> {
    let fate = |&sink: &usize| match place(sink) {
        Some(to) if other.has(to) && to == sink => Fate::Stays { z: other.z_of(to) },
        Some(to) if other.has(to) => Fate::Moves { to, z: other.z_of(to) },
        Some(to) => Fate::Fades { to, z: other.z_of(to) },
        None if other.has(sink) => Fate::PlaceStays { z: other.z_of(sink) },
        None => Fate::Absent,
    };
    sinks.iter().map(fate).collect()
}

/// Sinks of another run whose token is no sink of ours: where they stand there, and here. `place` has for each
/// of our positions its position there.
#[must_use]
pub fn newcomers(ours: &[usize], theirs: &[usize], place: &[Option<usize>]) -> Vec<(usize, Option<usize>)> {
    let is_ours = |position: usize| ours.binary_search(&position).is_ok();
    let here = |position: usize| place.iter().position(|there| *there == Some(position));
    // Where the token is not in our text, a sink of ours at its position says that the place stays.
    let is_new = |&(position, here): &(usize, Option<usize>)| match here {
        Some(here) => !is_ours(here),
        None => !is_ours(position),
    };
    theirs.iter().map(|&position| (position, here(position))).filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_is_told_apart() {
        let z: Vec<Option<f64>> = (0..10).map(|i| (i < 9).then_some(f64::from(i))).collect();
        let other = RunSinks { flagged: &[0, 3, 7], z: &z };
        // Token 1 is cut out of the text, so that what follows moves down by one; 3 and 9 are not in it either.
        let place = |position: usize| match position {
            0 => Some(0),
            1 | 3 | 9 => None,
            later => Some(later - 1),
        };
        let fates = fates(&[0, 1, 3, 4, 8, 9], other, place);
        assert_eq!(
            fates,
            [
                Fate::Stays { z: Some(0.0) },
                Fate::Absent,
                Fate::PlaceStays { z: Some(3.0) },
                Fate::Moves { to: 3, z: Some(3.0) },
                Fate::Moves { to: 7, z: Some(7.0) },
                Fate::Absent,
            ]
        );
        let fades = super::fates(&[2], other, place);
        assert_eq!(fades, [Fate::Fades { to: 1, z: Some(1.0) }]);
        assert!(!fades[0].is_sink() && fates[0].is_sink());
    }

    #[test]
    fn a_newcomer_is_no_sink_of_ours_by_token_or_by_place() {
        // Their token 3 is ours at 2, their 5 is not in our text, 7 is neither.
        let place = [Some(0), Some(1), Some(3), None];
        assert_eq!(newcomers(&[0, 5], &[0, 3, 5, 7], &place), [(3, Some(2)), (7, None)]);
        assert!(newcomers(&[2], &[3], &place).is_empty());
    }
}
