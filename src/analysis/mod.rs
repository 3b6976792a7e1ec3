//! From column sums to sinks: profiles, the log-MAD detector, classes. Pure: numbers in, numbers out.
//!
//! [`MassTable`] (plain column sums) → [`Profiles`] → [`Detection`] → [`Sink`]s; [`Analysis`] does
//! it all for a capture.

mod classes;
mod detector;
mod find;
mod heads;
mod mass;
mod norms;
mod order;
mod partners;
mod peak;
mod profile;
mod sinks;
mod stability;
mod virtual_key;

pub use classes::{TokenClass, classify};
pub use detector::Detection;
pub use find::{QueryError, TokenQuery};
pub use heads::{ComparedRows, HeadMetrics, PEAK_KEYS, share_on_keys};
pub use mass::{LayerMass, MassTable, Selection, Visibility};
pub use norms::{NormRatios, norm_ratios_by_layer};
pub use order::{HeadOrder, ranked};
pub use partners::{HeadWeight, Partners, PartnersKey, partners_of};
pub use peak::{MOST_PEAK_KEYS, PEAK_BINS, PeakSplit, PeakTable, peak_bins};
pub use profile::{
    ProfileKind, Profiles, alpha_of_key, far_lift_of_key, far_lift_of_layers, profile_of_layers,
};
pub use sinks::{Corroboration, Sink, alpha_by_layer_head, birth_layer, far_lift_by_layer, profile_by_layer};
pub use stability::{Fate, RunSinks, fates, newcomers};
pub use virtual_key::VirtualKey;

use crate::capture::Capture;

/// Δ of far-lift: queries closer than this to the key are left out.
pub const FAR_DELTA: usize = 16;
/// m of far-lift: a key needs at least this many far queries.
pub const FAR_MIN_QUERIES: usize = 16;
/// ε of the sink rate (Gu et al., arXiv 2410.10781).
pub const SINK_RATE_EPSILON: f64 = 0.3;
/// Threshold of the log-MAD detector (Iglewicz & Hoaglin).
pub const DEFAULT_THRESHOLD: f64 = 3.5;
/// Usable keys that the detector needs before it flags anything.
pub const MIN_USABLE_KEYS: usize = 20;
/// Far-lift of a layer above which a sink counts as born.
pub const BIRTH_FAR_LIFT: f64 = 5.0;
/// A massive activation is larger than this (Sun et al., arXiv 2402.17762) …
pub const MASSIVE_MAGNITUDE: f64 = 100.0;
/// … and at least this many times the typical magnitude.
pub const MASSIVE_RATIO: f64 = 1000.0;

/// What the detector is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnalysisOptions {
    /// The profile that the detector looks at.
    pub profile: ProfileKind,
    /// The layers and heads.
    pub selection: Selection,
    /// The threshold; [`DEFAULT_THRESHOLD`] when `None`.
    pub threshold: Option<f64>,
}

/// Everything that the Sinks view and the JSON show, derived from a capture in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// What was asked.
    pub options: AnalysisOptions,
    /// `S_j / n`, sums to 1.
    pub share: Vec<Option<f64>>,
    /// α of each key.
    pub alpha: Vec<Option<f64>>,
    /// Lift of each key.
    pub lift: Vec<Option<f64>>,
    /// Far-lift of each key; `None` near the end.
    pub far_lift: Vec<Option<f64>>,
    /// Sink rate of each key over the selection.
    pub sink_rate: Vec<f64>,
    /// The detector's result on the chosen profile.
    pub detection: Detection,
    /// Class of each token.
    pub classes: Vec<TokenClass>,
    /// The flagged tokens.
    pub sinks: Vec<Sink>,
    /// What the model's virtual key takes; `None` where the chosen layers have none.
    pub virtual_key: Option<VirtualKey>,
}

impl Analysis {
    /// Analyses a capture. Pure and quick: it reads only the column sums and the tokens.
    #[must_use]
    pub fn of(capture: &Capture, options: AnalysisOptions) -> Self {
        let virtual_key = VirtualKey::of(capture, &options.selection, capture.len());
        let analysis = Self::of_table(&MassTable::of(capture), classify(&capture.tokens), options);
        Self { virtual_key, ..analysis }
    }

    /// Analyses the first `prefix` tokens as if the text ended there: earlier rows know nothing of
    /// later tokens, so their weights are the capture's own.
    #[must_use]
    pub fn of_prefix(capture: &Capture, prefix: usize, options: AnalysisOptions) -> Self {
        let spec = &capture.model.spec;
        let narrow = |sums: Vec<f64>| sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>();
        let sums: Vec<(Vec<f32>, Vec<f32>)> = (0..spec.layers)
            .map(|layer| {
                let heads =
                    (0..spec.heads).map(|head| capture.head_column_sums(layer, head, prefix, FAR_DELTA));
                let (all, far): (Vec<_>, Vec<_>) = heads.unzip();
                (narrow(all.concat()), narrow(far.concat()))
            })
            .collect();
        let layers = sums.iter().zip(&spec.windows).map(|((column_sums, far_column_sums), &window)| {
            LayerMass { window, column_sums, far_column_sums }
        });
        let table = MassTable { n: prefix, heads: spec.heads, layers: layers.collect() };
        let mut classes = classify(&capture.tokens);
        classes.truncate(prefix);
        let virtual_key = VirtualKey::of(capture, &options.selection, prefix);
        Self { virtual_key, ..Self::of_table(&table, classes, options) }
    }

    /// Analyses column sums of `n` tokens with the tokens' classes.
    #[must_use]
    pub fn of_table(table: &MassTable<'_>, classes: Vec<TokenClass>, options: AnalysisOptions) -> Self {
        let profiles = Profiles::of(table, &options.selection);
        Self::of_profiles(profiles, classes, options)
    }

    /// The same capture with another threshold or profile, its selection unchanged: microseconds,
    /// for dragging the line.
    #[must_use]
    pub fn with_detector(&self, profile: ProfileKind, threshold: f64) -> Self {
        let profiles = Profiles {
            share: self.share.clone(),
            alpha: self.alpha.clone(),
            lift: self.lift.clone(),
            far_lift: self.far_lift.clone(),
            sink_rate: self.sink_rate.clone(),
        };
        let options = AnalysisOptions {
            profile,
            threshold: Some(threshold),
            selection: self.options.selection.clone(),
        };
        let virtual_key = self.virtual_key.clone();
        Self { virtual_key, ..Self::of_profiles(profiles, self.classes.clone(), options) }
    }

    fn of_profiles(profiles: Profiles, classes: Vec<TokenClass>, options: AnalysisOptions) -> Self {
        let profile = match options.profile {
            ProfileKind::FarLift => &profiles.far_lift,
            ProfileKind::Share => &profiles.share,
            ProfileKind::Alpha => &profiles.alpha,
            ProfileKind::Lift => &profiles.lift,
        };
        let detection = Detection::of(profile, options.threshold.unwrap_or(DEFAULT_THRESHOLD));
        let sinks = sinks::sinks_of(&detection, profile, &profiles, &classes);
        let Profiles { share, alpha, lift, far_lift, sink_rate } = profiles;
        Self {
            options,
            share,
            alpha,
            lift,
            far_lift,
            sink_rate,
            detection,
            classes,
            sinks,
            virtual_key: None,
        }
    }

    /// The token with the largest share of all attention.
    #[must_use]
    pub fn strongest(&self) -> Option<usize> {
        let share = |&i: &usize| self.share[i].unwrap_or(0.0);
        (0..self.share.len()).max_by(|a, b| share(a).total_cmp(&share(b)))
    }

    /// The profile of a kind.
    #[must_use]
    pub fn profile(&self, kind: ProfileKind) -> &[Option<f64>] {
        match kind {
            ProfileKind::FarLift => &self.far_lift,
            ProfileKind::Share => &self.share,
            ProfileKind::Alpha => &self.alpha,
            ProfileKind::Lift => &self.lift,
        }
    }

    /// The virtual key's value in a profile; `None` where there is no virtual key. In far-lift it has
    /// none: it stands at no position that a query could be far from, so its lift stands in.
    #[must_use]
    pub fn virtual_value(&self, kind: ProfileKind) -> Option<f64> {
        let virtual_key = self.virtual_key.as_ref()?;
        Some(match kind {
            ProfileKind::FarLift | ProfileKind::Lift => virtual_key.lift,
            ProfileKind::Share | ProfileKind::Alpha => virtual_key.share,
        })
    }

    /// Why nothing was tested, one line for the table's place; `None` when it was.
    #[must_use]
    pub fn not_tested(&self) -> Option<String> {
        let needed = self.options.profile.tokens_needed();
        let usable = self.detection.usable;
        if self.detection.tested {
            None
        } else if self.classes.len() < needed {
            Some(format!("Not tested: needs {needed} tokens"))
        } else {
            Some(format!("Not tested: needs {MIN_USABLE_KEYS} keys with a value, has {usable}"))
        }
    }

    /// Tokens whose numbers are shown even when nothing is flagged or tested: index 0 and every
    /// structural token, ascending.
    #[must_use]
    pub fn evidence(&self) -> Vec<usize> {
        let shown = |&index: &usize| index == 0 || self.classes[index] == TokenClass::Structural;
        (0..self.classes.len()).filter(shown).collect()
    }
}
