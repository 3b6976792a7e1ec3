//! Rotary embedding as data; the formulas are those of transformers' `modeling_rope_utils`.

/// Rotary embedding: base, width and scaling.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RopeSpec {
    /// The base θ.
    pub theta: f64,
    /// Leading elements of a head that are rotated; the two halves of them are the two coordinates of its pairs.
    pub dim: usize,
    /// How the frequencies are changed for long contexts.
    pub scaling: RopeScaling,
}

/// How a checkpoint stretches its rotary frequencies.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// All frequencies divided by a factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// The base grows with the text's length once that exceeds the context.
    Dynamic {
        /// The factor.
        factor: f64,
        /// Context that the model was trained for.
        context: f64,
    },
    /// YaRN: low frequencies divided, high ones kept, a ramp between, and a factor on q and k.
    Yarn {
        /// Divisor of the low frequencies.
        factor: f64,
        /// Rotations over the original context above which a frequency is kept.
        beta_fast: f64,
        /// Rotations over the original context below which a frequency is divided.
        beta_slow: f64,
        /// Context that the model was trained for before stretching.
        original_context: f64,
        /// Factor on cosines and sines.
        attention_factor: f64,
        /// Whether the ramp's ends are rounded to whole pairs.
        truncate: bool,
    },
    /// Llama 3's: low frequencies divided, high ones kept, a ramp between.
    Llama3 {
        /// Divisor of the low frequencies.
        factor: f64,
        /// Wavelengths above `original_context / low_freq_factor` are divided.
        low_freq_factor: f64,
        /// Wavelengths below `original_context / high_freq_factor` are kept.
        high_freq_factor: f64,
        /// Context that the model was trained for before stretching.
        original_context: f64,
    },
    /// LongRoPE: a divisor for each frequency, one list for texts up to the original context and one for longer ones.
    LongRope {
        /// Divisors for texts that fit the original context.
        short: Vec<f64>,
        /// Divisors for longer texts.
        long: Vec<f64>,
        /// Context that the model was trained for before stretching.
        original_context: f64,
        /// Factor on cosines and sines.
        attention_factor: f64,
    },
    /// A divisor for each frequency, as GGUF files carry them (`rope_freqs.weight`).
    PerFrequency {
        /// One divisor per rotated pair.
        divisors: Vec<f32>,
    },
}

impl RopeSpec {
    /// Without scaling, on the first `dim` elements of a head.
    #[must_use]
    pub fn plain(theta: f64, dim: usize) -> Self {
        Self { theta, dim, scaling: RopeScaling::None }
    }

    /// Factor on cosines and sines, and so on rotated queries and keys.
    #[must_use]
    pub fn attention_factor(&self) -> f64 {
        match self.scaling {
            RopeScaling::Yarn { attention_factor, .. } | RopeScaling::LongRope { attention_factor, .. } => {
                attention_factor
            }
            _ => 1.0,
        }
    }

    pub(super) fn check(&self, head_dim: usize) -> Result<(), String> {
        if self.dim == 0 || !self.dim.is_multiple_of(2) || self.dim > head_dim {
            return Err(format!(
                "rotary embedding on {} of {head_dim} elements of a head is not possible",
                self.dim
            ));
        }
        if !(self.theta.is_finite() && self.theta > 0.0) {
            return Err(format!("rope base {} is not positive", self.theta));
        }
        let pairs = self.dim / 2;
        let lists: &[usize] = match &self.scaling {
            RopeScaling::LongRope { short, long, .. } => &[short.len(), long.len()],
            RopeScaling::PerFrequency { divisors } => &[divisors.len()],
            _ => &[],
        };
        match lists.iter().find(|&&n| n != pairs) {
            Some(n) => Err(format!("{n} rope factors are listed for {pairs} pairs")),
            None => Ok(()),
        }
    }

    /// Angular frequency of each pair, in radians per position, for a text of `positions` tokens:
    /// two scalings depend on its length.
    #[must_use]
    pub fn frequencies(&self, positions: usize) -> Vec<f64> {
        let (theta, dim) = (self.theta, self.dim as f64);
        let with_base = |theta: f64| {
            (0..self.dim / 2).map(move |i| theta.powf(-2.0 * i as f64 / dim)).collect::<Vec<_>>()
        };
        let divided = |divisors: &[f64]| with_base(theta).iter().zip(divisors).map(|(f, d)| f / d).collect();
        match &self.scaling {
            RopeScaling::None => with_base(theta),
            RopeScaling::Linear { factor } => with_base(theta).into_iter().map(|f| f / factor).collect(),
            RopeScaling::Dynamic { factor, context } => {
                let stretched = (positions as f64 / context).max(1.0) * factor - (factor - 1.0);
                with_base(theta * stretched.powf(dim / (dim - 2.0)))
            }
            RopeScaling::PerFrequency { divisors } => {
                divided(&divisors.iter().map(|&d| f64::from(d)).collect::<Vec<_>>())
            }
            RopeScaling::LongRope { short, long, original_context, .. } => {
                divided(if positions as f64 > *original_context { long } else { short })
            }
            &RopeScaling::Yarn { factor, beta_fast, beta_slow, original_context, truncate, .. } => {
                // The pair that rotates that many times over the original context.
                let pair = |rotations: f64| {
                    dim * (original_context / (rotations * std::f64::consts::TAU)).ln() / (2.0 * theta.ln())
                };
                let (low, high) = (pair(beta_fast), pair(beta_slow));
                let (low, high) = if truncate { (low.floor(), high.ceil()) } else { (low, high) };
                let (low, high) = (low.max(0.0), high.min(dim - 1.0));
                let width = if low == high { 0.001 } else { high - low };
                let ramp = |i: usize| ((i as f64 - low) / width).clamp(0.0, 1.0);
                let stretch = |(i, f): (usize, f64)| f / factor * ramp(i) + f * (1.0 - ramp(i));
                with_base(theta).into_iter().enumerate().map(stretch).collect()
            }
            &RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => {
                let stretch = |frequency: f64| {
                    let wavelength = std::f64::consts::TAU / frequency;
                    if wavelength < original_context / high_freq_factor {
                        return frequency;
                    }
                    if wavelength > original_context / low_freq_factor {
                        return frequency / factor;
                    }
                    let smooth = (original_context / wavelength - low_freq_factor)
                        / (high_freq_factor - low_freq_factor);
                    (1.0 - smooth) * frequency / factor + smooth * frequency
                };
                with_base(theta).into_iter().map(stretch).collect()
            }
        }
    }
}

/// YaRN's factor on q and k where the checkpoint gives none: `0.1 · ln factor + 1`, or the ratio of
/// the two that `mscale` and `mscale_all_dim` give.
#[must_use]
pub fn yarn_attention_factor(factor: f64, mscale: Option<f64>, mscale_all_dim: Option<f64>) -> f64 {
    let of = |mscale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * mscale * factor.ln() + 1.0 };
    match (mscale, mscale_all_dim) {
        (Some(mscale), Some(all)) if mscale != 0.0 && all != 0.0 => of(mscale) / of(all),
        _ => of(1.0),
    }
}
