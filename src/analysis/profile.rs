//! The four normalisations of the attention-mass profile, per key, over a choice of layers and heads.

use super::mass::{MassTable, Selection, Visibility};
use super::{FAR_DELTA, FAR_MIN_QUERIES, MIN_USABLE_KEYS, SINK_RATE_EPSILON};

/// The four normalisations of the attention-mass profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Mass against uniform attention, far queries only; the default for detection.
    #[default]
    FarLift,
    /// Share of all attention.
    Share,
    /// Mean weight that a query which can see the key gives it.
    Alpha,
    /// Mass against uniform attention.
    Lift,
}

impl ProfileKind {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 4] = [Self::FarLift, Self::Share, Self::Alpha, Self::Lift];

    /// The name that a menu and an axis show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FarLift => "far-lift",
            Self::Share => "share",
            Self::Alpha => "α",
            Self::Lift => "lift",
        }
    }

    /// The unit that stands beside a value.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::FarLift | Self::Lift => "× uniform",
            Self::Share => "of all attention",
            Self::Alpha => "mean weight",
        }
    }

    /// Tokens that a prompt needs before the detector tests this profile, global layers present.
    #[must_use]
    pub fn tokens_needed(self) -> usize {
        match self {
            Self::FarLift => MIN_USABLE_KEYS + FAR_DELTA + FAR_MIN_QUERIES - 1,
            Self::Share | Self::Alpha | Self::Lift => MIN_USABLE_KEYS,
        }
    }
}

/// All four profiles and the sink rate of each key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profiles {
    /// `S_j / n`, mean over the selection.
    pub share: Vec<Option<f64>>,
    /// `S_j / (queries that can see j)`, mean over the selection (Gu et al., arXiv 2410.10781).
    pub alpha: Vec<Option<f64>>,
    /// `ΣS_j / Σ(what uniform attention gives)`, sums over the selection.
    pub lift: Vec<Option<f64>>,
    /// The same over queries at least Δ behind the key; `None` for a key that has fewer than m of
    /// them in every chosen layer.
    pub far_lift: Vec<Option<f64>>,
    /// Share of (layer, head) pairs with `α_j > ε`, strictly.
    pub sink_rate: Vec<f64>,
}

/// Sums over the selection, per key.
struct Sums {
    share: Vec<f64>,
    alpha: Vec<f64>,
    mass: Vec<f64>,
    uniform: Vec<f64>,
    far_mass: Vec<f64>,
    far_uniform: Vec<f64>,
    far_queries: Vec<usize>,
    sinking_heads: Vec<usize>,
}

impl Profiles {
    /// Computes the profiles of a table of column sums. With an empty selection all values are `None`.
    #[must_use]
    pub fn of(table: &MassTable<'_>, selection: &Selection) -> Self {
        let layers = selection.layers_of(table.layers.len());
        let heads = selection.heads_of(table.heads);
        let pairs = layers.len() * heads.len();
        if pairs == 0 {
            return Self::unknown(table.n);
        }
        let sums = Sums::over(table, &layers, &heads);
        let mean = |sums: &[f64]| sums.iter().map(|sum| Some(sum / pairs as f64)).collect();
        Self {
            share: mean(&sums.share),
            alpha: mean(&sums.alpha),
            lift: ratios(&sums.mass, &sums.uniform).collect(),
            far_lift: ratios(&sums.far_mass, &sums.far_uniform)
                .zip(&sums.far_queries)
                .map(|(ratio, &queries)| ratio.filter(|_| queries >= FAR_MIN_QUERIES))
                .collect(),
            sink_rate: sums.sinking_heads.iter().map(|&heads| heads as f64 / pairs as f64).collect(),
        }
    }

    fn unknown(n: usize) -> Self {
        let unknown = vec![None; n];
        Self {
            share: unknown.clone(),
            alpha: unknown.clone(),
            lift: unknown.clone(),
            far_lift: unknown,
            sink_rate: vec![0.0; n],
        }
    }
}

impl Sums {
    fn over(table: &MassTable<'_>, layers: &[usize], heads: &[usize]) -> Self {
        let n = table.n;
        let mut sums = Self {
            share: vec![0.0; n],
            alpha: vec![0.0; n],
            mass: vec![0.0; n],
            uniform: vec![0.0; n],
            far_mass: vec![0.0; n],
            far_uniform: vec![0.0; n],
            far_queries: vec![0; n],
            sinking_heads: vec![0; n],
        };
        for &layer in layers {
            let visibility = table.visibility(layer);
            sums.expect_uniform(&visibility, heads.len());
            for &head in heads {
                sums.add_head(&visibility, table.mass(layer, head), table.far_mass(layer, head));
            }
        }
        sums
    }

    fn expect_uniform(&mut self, visibility: &Visibility, heads: usize) {
        for key in 0..self.mass.len() {
            self.uniform[key] += heads as f64 * visibility.uniform_mass(key);
            self.far_uniform[key] += heads as f64 * visibility.uniform_far_mass(key);
            self.far_queries[key] = self.far_queries[key].max(visibility.far_queries(key).len());
        }
    }

    fn add_head(&mut self, visibility: &Visibility, mass: &[f32], far_mass: &[f32]) {
        let n = self.mass.len() as f64;
        for (key, (&mass, &far_mass)) in mass.iter().zip(far_mass).enumerate() {
            let mass = f64::from(mass);
            let alpha = mass / visibility.queries(key).len() as f64;
            self.share[key] += mass / n;
            self.alpha[key] += alpha;
            self.mass[key] += mass;
            self.far_mass[key] += f64::from(far_mass);
            self.sinking_heads[key] += usize::from(alpha > SINK_RATE_EPSILON);
        }
    }
}

fn ratios<'a>(mass: &'a [f64], uniform: &'a [f64]) -> impl Iterator<Item = Option<f64>> + 'a {
    mass.iter().zip(uniform).map(|(mass, uniform)| (*uniform > 0.0).then(|| mass / uniform))
}

/// α of one key in every head: `[layer][head]`.
#[must_use]
pub fn alpha_of_key(table: &MassTable<'_>, key: usize) -> Vec<Vec<f64>> {
    (0..table.layers.len())
        .map(|layer| {
            let queries = table.visibility(layer).queries(key).len() as f64;
            (0..table.heads).map(|head| f64::from(table.mass(layer, head)[key]) / queries).collect()
        })
        .collect()
}

/// One profile of every key in every layer, over all heads: `[layer][key]`.
#[must_use]
pub fn profile_of_layers(table: &MassTable<'_>, kind: ProfileKind) -> Vec<Vec<Option<f64>>> {
    let of_layer = |layer| {
        let selection = Selection { layers: Some(vec![layer]), heads: None };
        let profiles = Profiles::of(table, &selection);
        match kind {
            ProfileKind::FarLift => profiles.far_lift,
            ProfileKind::Share => profiles.share,
            ProfileKind::Alpha => profiles.alpha,
            ProfileKind::Lift => profiles.lift,
        }
    };
    (0..table.layers.len()).map(of_layer).collect()
}

/// Far-lift of every key in every layer, over all heads: `[layer][key]`.
#[must_use]
pub fn far_lift_of_layers(table: &MassTable<'_>) -> Vec<Vec<Option<f64>>> {
    profile_of_layers(table, ProfileKind::FarLift)
}

/// Far-lift of one key in every layer, over all heads: a column of [`far_lift_of_layers`], for less.
#[must_use]
pub fn far_lift_of_key(table: &MassTable<'_>, key: usize) -> Vec<Option<f64>> {
    let of_layer = |layer| {
        let visibility = table.visibility(layer);
        let mass: f64 = (0..table.heads).map(|head| f64::from(table.far_mass(layer, head)[key])).sum();
        let uniform = table.heads as f64 * visibility.uniform_far_mass(key);
        (visibility.far_queries(key).len() >= FAR_MIN_QUERIES).then(|| mass / uniform)
    };
    (0..table.layers.len()).map(of_layer).collect()
}
