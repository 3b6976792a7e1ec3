//! A finished run with all that the views derive from it.

use super::partners::PartnersKey;
use super::view::{HeadId, ViewOptions};
use crate::analysis::{
    Analysis, Corroboration, NormRatios, PeakTable, ProfileKind, alpha_by_layer_head, birth_layer,
    far_lift_by_layer, norm_ratios_by_layer,
};
use crate::capture::Capture;
use std::sync::Arc;
use std::time::Instant;

/// A capture and what is derived from it. Rebuilt, never patched.
pub struct Run {
    /// The capture.
    pub capture: Arc<Capture>,
    /// Its analysis under the chosen options.
    pub analysis: Analysis,
    /// Far-lift of each key by layer, over all heads: `[layer][key]`.
    pub far_lift_by_layer: Vec<Vec<Option<f64>>>,
    /// The chosen profile of each key by layer, over all heads: `[layer][key]`.
    pub profile_by_layer: Vec<Vec<Option<f64>>>,
    /// The two components of each head's mass.
    pub peaks: PeakTable,
    /// Wall time of the analysis.
    pub analysis_ms: f64,
    /// Facts about the selected token, or about the strongest sink when none is selected.
    pub focus: Option<TokenFacts>,
}

/// What the inspector and the maps show of one token.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenFacts {
    /// Position.
    pub index: usize,
    /// α of the token in every head: `[layer][head]`.
    pub alpha: Vec<Vec<f64>>,
    /// Norms, birth layer, share of heads.
    pub corroboration: Option<Corroboration>,
    /// Norms against the median token's, by layer.
    pub norms: Vec<NormRatios>,
}

impl TokenFacts {
    /// Gathers them; `index` must be a position of the capture.
    #[must_use]
    pub fn of(capture: &Capture, index: usize) -> Self {
        Self {
            index,
            alpha: alpha_by_layer_head(capture, index),
            corroboration: Corroboration::of(capture, index),
            norms: norm_ratios_by_layer(capture, index),
        }
    }
}

impl Run {
    /// Derives everything from a capture.
    #[must_use]
    pub fn new(capture: Arc<Capture>, view: &ViewOptions) -> Self {
        let began = Instant::now();
        let analysis = Analysis::of(&capture, view.analysis_options(&capture.model.spec));
        let far_lift_by_layer = far_lift_by_layer(&capture);
        let analysis_ms = began.elapsed().as_secs_f64() * 1e3;
        let profile_by_layer = profile_by_layer(&capture, view.profile, &far_lift_by_layer);
        let peaks = PeakTable::of(&capture);
        let mut run =
            Self { capture, analysis, far_lift_by_layer, profile_by_layer, peaks, analysis_ms, focus: None };
        run.refocus(view);
        run
    }

    /// Derives again what depends on the options.
    pub fn reanalyse(&mut self, view: &ViewOptions) {
        let options = view.analysis_options(&self.capture.model.spec);
        if options.profile != self.analysis.options.profile {
            self.profile_by_layer = profile_by_layer(&self.capture, options.profile, &self.far_lift_by_layer);
        }
        self.analysis = if options.selection == self.analysis.options.selection {
            self.analysis.with_detector(view.profile, view.threshold)
        } else {
            Analysis::of(&self.capture, options)
        };
        self.refocus(view);
    }

    /// Derives again what depends on the selected token.
    pub fn refocus(&mut self, view: &ViewOptions) {
        let Some(index) = view.selected.or_else(|| self.strongest()).filter(|&i| i < self.capture.len())
        else {
            self.focus = None;
            return;
        };
        if self.focus.as_ref().is_some_and(|facts| facts.index == index) {
            return;
        }
        self.focus = Some(TokenFacts::of(&self.capture, index));
    }

    /// The token with the largest share of all attention.
    #[must_use]
    pub fn strongest(&self) -> Option<usize> {
        self.analysis.strongest()
    }

    /// The head that shows best what sinks are: the largest sum of √α over the sinks (or over the
    /// strongest token, when none is flagged), so that several columns count for more than one.
    #[must_use]
    pub fn telling_head(&self) -> Option<HeadId> {
        /// More sinks than these don't change the picture.
        const MOST: usize = 8;
        let spec = &self.capture.model.spec;
        let mut sinks: Vec<usize> = self.analysis.sinks.iter().map(|sink| sink.index).take(MOST).collect();
        if sinks.is_empty() {
            sinks.extend(self.strongest());
        }
        let alphas: Vec<_> = sinks.iter().map(|&sink| alpha_by_layer_head(&self.capture, sink)).collect();
        let score = |head: &HeadId| -> f64 {
            let roots = alphas.iter().map(|alpha| alpha[head.layer][head.head].max(0.0).sqrt());
            roots.filter(|root| root.is_finite()).sum()
        };
        (0..spec.layers)
            .flat_map(|layer| (0..spec.heads).map(move |head| HeadId { layer, head }))
            .max_by(|a, b| score(a).total_cmp(&score(b)))
    }

    /// Whether a token is flagged.
    #[must_use]
    pub fn is_sink(&self, index: usize) -> bool {
        self.analysis.detection.flagged.binary_search(&index).is_ok()
    }

    /// The layer in which a token becomes a sink.
    #[must_use]
    pub fn birth_layer(&self, index: usize) -> Option<usize> {
        birth_layer(&self.far_lift_by_layer, index)
    }

    /// Share of all attention that the flagged tokens receive together.
    #[must_use]
    pub fn sinks_share(&self) -> f64 {
        self.analysis.sinks.iter().filter_map(|sink| self.analysis.share[sink.index]).sum()
    }

    /// The partners of some tokens, ascending, in the direction that the strip shows; `None` of none.
    #[must_use]
    pub fn partners_key(&self, view: &ViewOptions, tokens: &[usize]) -> Option<PartnersKey> {
        (!tokens.is_empty()).then(|| PartnersKey {
            capture: self.capture.id,
            tokens: tokens.to_vec(),
            outgoing: view.strip.is_outgoing(),
            layers: view.layers.of(&self.capture.model.spec),
            head: view.head,
        })
    }

    /// Whether another run is of the same model, kept the same way, over the same tokens.
    #[must_use]
    pub fn is_same_input(&self, other: &Self) -> bool {
        let (a, b) = (&self.capture.model, &other.capture.model);
        let same_model = (&a.name, &a.sha256, &a.source, &a.dtype, &a.device)
            == (&b.name, &b.sha256, &b.source, &b.dtype, &b.device);
        same_model && self.capture.tokens.tokens == other.capture.tokens.tokens
    }
}

fn profile_by_layer(
    capture: &Capture,
    kind: ProfileKind,
    far_lift_by_layer: &[Vec<Option<f64>>],
) -> Vec<Vec<Option<f64>>> {
    match kind {
        ProfileKind::FarLift => far_lift_by_layer.to_vec(),
        _ => crate::analysis::profile_by_layer(capture, kind),
    }
}
