//! Rotary position embedding.

use crate::Result;
use crate::model::ModelSpec;
use crate::model::spec::{RopeScaling, RopeSpec};
use candle_core::{DType, Device, Tensor};

/// Cosines and sines, `[positions, head_dim / 2]` each.
#[derive(Debug)]
pub struct RotaryTables {
    cos: Tensor,
    sin: Tensor,
}

impl RotaryTables {
    /// Tables for the positions `0..positions`, computed in f64.
    pub(super) fn new(spec: &ModelSpec, positions: usize, dtype: DType, device: &Device) -> Result<Self> {
        let frequencies = frequencies(&spec.rope, spec.head_dim);
        let angles: Vec<f64> = (0..positions)
            .flat_map(|position| frequencies.iter().map(move |frequency| position as f64 * frequency))
            .collect();
        let table = |of: fn(f64) -> f64| {
            let values: Vec<f64> = angles.iter().map(|&angle| of(angle)).collect();
            Tensor::from_vec(values, (positions, frequencies.len()), &Device::Cpu)?
                .to_dtype(dtype)?
                .to_device(device)
        };
        Ok(Self { cos: table(f64::cos)?, sin: table(f64::sin)? })
    }

    /// Cosines, `[positions, head_dim / 2]`.
    #[must_use]
    pub fn cos(&self) -> &Tensor {
        &self.cos
    }

    /// Sines, `[positions, head_dim / 2]`.
    #[must_use]
    pub fn sin(&self) -> &Tensor {
        &self.sin
    }

    /// Rotates `[n, heads, head_dim]`, whose first row stands at `first_position`; the two halves of
    /// a head are the two coordinates of its pairs.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn rotate(&self, x: &Tensor, first_position: usize) -> Result<Tensor> {
        let n = x.dim(0)?;
        let cos = self.cos.narrow(0, first_position, n)?;
        let sin = self.sin.narrow(0, first_position, n)?;
        let rotated = candle_nn::rotary_emb::rope_thd(&x.contiguous()?.unsqueeze(0)?, &cos, &sin)?;
        Ok(rotated.squeeze(0)?)
    }
}

/// Angular frequency of each pair, in radians per position.
///
/// Llama 3's scaling as in transformers' `_compute_llama3_parameters`.
#[must_use]
pub fn frequencies(rope: &RopeSpec, head_dim: usize) -> Vec<f64> {
    let pairs = head_dim / 2;
    let base = (0..pairs).map(|i| rope.theta.powf(-2.0 * i as f64 / head_dim as f64));
    match &rope.scaling {
        RopeScaling::None => base.collect(),
        RopeScaling::Linear { factor } => base.map(|frequency| frequency / factor).collect(),
        RopeScaling::PerFrequency { divisors } => {
            base.zip(divisors).map(|(frequency, &divisor)| frequency / f64::from(divisor)).collect()
        }
        &RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => base
            .map(|frequency| {
                let wavelength = std::f64::consts::TAU / frequency;
                if wavelength < original_context / high_freq_factor {
                    return frequency;
                }
                if wavelength > original_context / low_freq_factor {
                    return frequency / factor;
                }
                let smooth =
                    (original_context / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                (1.0 - smooth) * frequency / factor + smooth * frequency
            })
            .collect(),
    }
}
