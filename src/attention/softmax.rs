//! Softmax over one row of scores, in place, over the visible columns only.

use super::Real;
use std::ops::Range;

/// Enough independent accumulators to fill two 512-bit vectors of f32.
const LANES: usize = 32;

/// What one row's softmax leaves behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowSummary<T> {
    /// `ln Σ exp(score)`, the virtual key counted; not finite when a score is not.
    pub lse: T,
    /// `−Σ A ln A` over the keys in nats.
    pub entropy_nats: T,
    /// Weight on the virtual key; 0 where the model has none.
    pub sink_weight: T,
}

/// Runs `work` compiled for the widest vectors that this processor has.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Turns scores into weights over `visible` and sets every other column to exactly 0. `sink` is the
/// logit of a virtual key that takes its part of the mass.
#[inline(always)]
pub(crate) fn softmax_row<T: Real>(
    scores: &mut [T],
    visible: &[Range<usize>],
    softcap: Option<T>,
    sink: Option<T>,
) -> RowSummary<T> {
    let mut masked_from = 0;
    let mut max = sink.unwrap_or(T::neg_infinity());
    for range in visible {
        scores[masked_from..range.start].fill(T::zero());
        masked_from = range.end;
        let part = &mut scores[range.clone()];
        if let Some(cap) = softcap {
            part.iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
        }
        max = larger(max, max_of(part));
    }
    scores[masked_from..].fill(T::zero());

    let (mut sum, mut moment) = (T::zero(), T::zero());
    for range in visible {
        let (part_sum, part_moment) = exponentiate(&mut scores[range.clone()], max);
        sum += part_sum;
        moment += part_moment;
    }
    let on_keys = sum;
    let on_sink = sink.map_or(T::zero(), |logit| (logit - max).exp_nonpositive());
    sum += on_sink;
    let inverse = T::one() / sum;
    for range in visible {
        scores[range.clone()].iter_mut().for_each(|weight| *weight = *weight * inverse);
    }
    RowSummary {
        lse: max + sum.ln(),
        entropy_nats: (sum.ln() * on_keys - moment) * inverse,
        sink_weight: on_sink * inverse,
    }
}

/// Turns scores into weights with a known log-sum-exp: `exp(score − lse)`.
#[inline(always)]
pub(crate) fn exp_shifted_row<T: Real>(scores: &mut [T], lse: T, softcap: Option<T>) {
    for score in scores {
        let capped = softcap.map_or(*score, |cap| cap * (*score / cap).tanh());
        // Rounding can leave a score a hair above its own lse.
        let shifted = capped - lse;
        *score = if shifted > T::zero() { T::one() } else { shifted.exp_nonpositive() };
    }
}

/// `ln Σ exp(x)` of a row.
pub(crate) fn log_sum_exp(row: &[f32]) -> f32 {
    vectorized(
        #[inline(always)]
        || {
            let max = max_of(row);
            let mut lanes = [0.0_f32; LANES];
            let (chunks, rest) = row.as_chunks::<LANES>();
            for chunk in chunks {
                for (lane, x) in lanes.iter_mut().zip(chunk) {
                    *lane += (x - max).exp_nonpositive();
                }
            }
            let rest = rest.iter().map(|x| (x - max).exp_nonpositive());
            max + lanes.into_iter().chain(rest).sum::<f32>().ln()
        },
    )
}

#[inline(always)]
fn larger<T: Real>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

#[inline(always)]
fn max_of<T: Real>(row: &[T]) -> T {
    let mut lanes = [T::neg_infinity(); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &score) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, score);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(T::neg_infinity(), larger)
}

/// Replaces each score by `e = exp(score − max)`; returns `Σ e` and `Σ e · (score − max)`.
#[inline(always)]
fn exponentiate<T: Real>(row: &mut [T], max: T) -> (T, T) {
    let (mut sums, mut moments) = ([T::zero(); LANES], [T::zero(); LANES]);
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for ((score, sum), moment) in chunk.iter_mut().zip(&mut sums).zip(&mut moments) {
            let shifted = *score - max;
            let e = shifted.exp_nonpositive();
            *score = e;
            *sum += e;
            *moment += e * shifted;
        }
    }
    let (mut sum, mut moment) = (sums.into_iter().sum::<T>(), moments.into_iter().sum::<T>());
    for score in rest {
        let shifted = *score - max;
        let e = shifted.exp_nonpositive();
        *score = e;
        sum += e;
        moment += e * shifted;
    }
    (sum, moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a row with one visible range")]
    fn weights_are_exact_and_masked_columns_are_zero() {
        let mut scores = [9.0_f64, 1.0, 2.0, 3.0, 9.0];
        let summary = softmax_row(&mut scores, &[1..4], None, None);
        let z: f64 = [1.0_f64, 2.0, 3.0].iter().map(|s| s.exp()).sum();
        assert_eq!((scores[0], scores[4]), (0.0, 0.0));
        for (j, s) in [(1, 1.0_f64), (2, 2.0), (3, 3.0)] {
            assert!((scores[j] - s.exp() / z).abs() < 1e-15);
        }
        let entropy: f64 = scores[1..4].iter().map(|w| -w * w.ln()).sum();
        assert!((summary.lse - z.ln()).abs() < 1e-14);
        assert!((summary.entropy_nats - entropy).abs() < 1e-14);
    }

    #[test]
    fn an_infinite_score_is_not_hidden() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut scores = vec![0.5_f32; 40];
            scores[37] = bad;
            assert!(!softmax_row(&mut scores, &[0..3, 5..40], None, None).lse.is_finite());
        }
    }
}
