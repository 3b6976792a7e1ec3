//! What is known of each head: metrics and similarities, computed by workers, and the order they give.

use super::options::HeadOrder;
use crate::analysis::{ComparedRows, HeadMetrics, ranked, share_on_keys};
use crate::capture::{Capture, PatternOf};
use crate::engine::latest::LatestWorker;
use rayon::prelude::*;
use std::sync::Arc;

/// What similarities depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimilarTo {
    pub(super) capture: u64,
    pub(super) focus: PatternOf,
    pub(super) hidden: Vec<usize>,
}

/// What an order depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RankingOf {
    capture: u64,
    order: HeadOrder,
    keys: Vec<usize>,
    similar: Option<SimilarTo>,
    has_metrics: bool,
}

/// The heads by a value, the largest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranking {
    of: Option<RankingOf>,
    /// One value for each head, by `layer · heads + head`.
    pub(super) values: Vec<Option<f64>>,
    /// Head numbers in order; those without a value last.
    pub(super) order: Vec<usize>,
}

type MetricsWorker = LatestWorker<Arc<Capture>, (u64, Vec<HeadMetrics>)>;
type SimilarityWorker = LatestWorker<(Arc<Capture>, SimilarTo), (SimilarTo, Vec<Option<f64>>)>;

/// Metrics and similarities of the heads of one capture.
#[derive(Debug, Default)]
pub(super) struct Heads {
    metrics_worker: Option<MetricsWorker>,
    similarity_worker: Option<SimilarityWorker>,
    asked_metrics: Option<u64>,
    asked_similar: Option<SimilarTo>,
    metrics: Option<(u64, Vec<HeadMetrics>)>,
    similar: Option<(SimilarTo, Vec<Option<f64>>)>,
    ranking: Ranking,
}

impl Heads {
    /// Takes what the workers have done, and asks for what is missing.
    pub(super) fn update(
        &mut self,
        ctx: &egui::Context,
        capture: &Arc<Capture>,
        order: HeadOrder,
        keys: &[usize],
        similar: &SimilarTo,
    ) {
        if let Some(answer) = self.metrics_worker.as_ref().and_then(LatestWorker::poll) {
            self.metrics = Some(answer);
        }
        if let Some(answer) = self.similarity_worker.as_ref().and_then(LatestWorker::poll) {
            self.similar = Some(answer);
        }
        if self.asked_metrics != Some(capture.id) {
            self.asked_metrics = Some(capture.id);
            self.ask_metrics(ctx, capture);
        }
        let wants_similar = order == HeadOrder::Similarity;
        if wants_similar && self.asked_similar.as_ref() != Some(similar) {
            self.asked_similar = Some(similar.clone());
            self.ask_similar(ctx, capture, similar.clone());
        }
        let of = RankingOf {
            capture: capture.id,
            order,
            keys: keys.to_vec(),
            similar: self
                .similar
                .as_ref()
                .map(|(of, _)| of.clone())
                .filter(|of| wants_similar && of == similar),
            has_metrics: self.metrics_of(capture).is_some(),
        };
        if self.ranking.of.as_ref() != Some(&of) {
            self.ranking = self.rank(capture, of);
        }
    }

    /// The metrics of a head, once they are there.
    pub(super) fn metrics_at(&self, capture: &Capture, index: usize) -> Option<&HeadMetrics> {
        self.metrics_of(capture)?.get(index)
    }

    /// The order that was last asked for.
    pub(super) fn ranking(&self) -> &Ranking {
        &self.ranking
    }

    fn metrics_of(&self, capture: &Capture) -> Option<&Vec<HeadMetrics>> {
        self.metrics.as_ref().filter(|(of, _)| *of == capture.id).map(|(_, metrics)| metrics)
    }

    fn rank(&self, capture: &Capture, of: RankingOf) -> Ranking {
        let heads = capture.model.spec.heads;
        let count = capture.layers.len() * heads;
        let values: Vec<Option<f64>> = match of.order {
            HeadOrder::Layer => vec![None; count],
            HeadOrder::OnSinks | HeadOrder::OnSelected => {
                let share = |index| share_on_keys(capture, index / heads, index % heads, &of.keys);
                if of.keys.is_empty() { vec![None; count] } else { (0..count).map(share).collect() }
            }
            HeadOrder::Similarity => match (&self.similar, &of.similar) {
                (Some((_, values)), Some(_)) => values.clone(),
                _ => vec![None; count],
            },
            metric => match self.metrics_of(capture) {
                Some(metrics) => metrics.iter().map(|metrics| metric.of(metrics)).collect(),
                None => vec![None; count],
            },
        };
        let order = ranked(&values);
        Ranking { of: Some(of), values, order }
    }

    fn ask_metrics(&mut self, ctx: &egui::Context, capture: &Arc<Capture>) {
        if self.metrics_worker.is_none() {
            let answer = |capture: &Arc<Capture>, cancel: &_| {
                let heads = capture.model.spec.heads;
                let one = |index| HeadMetrics::of(capture, index / heads, index % heads);
                unless_cancelled(capture.layers.len() * heads, cancel, one)
                    .map(|metrics| (capture.id, metrics))
            };
            self.metrics_worker = spawned("head metrics", answer, ctx);
        }
        if let Some(worker) = &mut self.metrics_worker {
            worker.ask(Arc::clone(capture));
        }
    }

    fn ask_similar(&mut self, ctx: &egui::Context, capture: &Arc<Capture>, to: SimilarTo) {
        if self.similarity_worker.is_none() {
            let answer = |(capture, to): &(Arc<Capture>, SimilarTo), cancel: &_| {
                let heads = capture.model.spec.heads;
                let rows = ComparedRows::of(capture, to.focus, &to.hidden);
                let one = |index| {
                    rows.cosine(capture, PatternOf::Head { layer: index / heads, head: index % heads })
                };
                let values = unless_cancelled(capture.layers.len() * heads, cancel, one)?;
                Some((to.clone(), values))
            };
            self.similarity_worker = spawned("similar heads", answer, ctx);
        }
        if let Some(worker) = &mut self.similarity_worker {
            worker.ask((Arc::clone(capture), to));
        }
    }
}

/// One value for each index, in parallel; `None` when it was cancelled.
fn unless_cancelled<T: Send>(
    count: usize,
    cancel: &crate::progress::CancelToken,
    one: impl Fn(usize) -> T + Sync + Send,
) -> Option<Vec<T>> {
    (0..count).into_par_iter().map(|index| cancel.check().ok().map(|()| one(index))).collect()
}

pub(super) fn spawned<Q: Send + 'static, A: Send + 'static>(
    name: &str,
    answer: impl Fn(&Q, &crate::progress::CancelToken) -> Option<A> + Send + 'static,
    ctx: &egui::Context,
) -> Option<LatestWorker<Q, A>> {
    let wake = ctx.clone();
    LatestWorker::spawn(name, answer, move || wake.request_repaint())
        .inspect_err(|error| tracing::error!(%error, "no thread for {name}"))
        .ok()
}
