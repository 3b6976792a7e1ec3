//! Rotary position embedding.

use crate::Result;
use crate::model::ModelSpec;
use crate::model::spec::RopeSpec;
use candle_core::{D, DType, Device, Tensor};

/// The tables of a model's rotary embeddings, and which layer uses which.
#[derive(Debug)]
pub struct RotaryTables {
    tables: Vec<RotaryTable>,
    of_layer: Vec<Option<usize>>,
}

impl RotaryTables {
    /// Tables for a text of `positions` tokens.
    pub(super) fn new(spec: &ModelSpec, positions: usize, dtype: DType, device: &Device) -> Result<Self> {
        let tables = spec.ropes.iter().map(|rope| RotaryTable::new(rope, positions, dtype, device));
        Ok(Self { tables: tables.collect::<Result<_>>()?, of_layer: spec.rope_of_layer.clone() })
    }

    /// The table that a layer rotates with; `None` for a layer without rotary embedding.
    #[must_use]
    pub fn of_layer(&self, layer: usize) -> Option<&RotaryTable> {
        self.of_layer[layer].map(|index| &self.tables[index])
    }
}

/// One rotary embedding: cosines and sines, `[positions, pairs]` each.
#[derive(Debug)]
pub struct RotaryTable {
    cos: Tensor,
    sin: Tensor,
    /// Cosines and sines times the factor of YaRN and LongRoPE, where there is one.
    stretched: Option<(Tensor, Tensor)>,
}

impl RotaryTable {
    /// A table for the positions `0..positions`, computed in f64.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn new(rope: &RopeSpec, positions: usize, dtype: DType, device: &Device) -> Result<Self> {
        let frequencies = rope.frequencies(positions);
        let angles: Vec<f64> = (0..positions)
            .flat_map(|position| frequencies.iter().map(move |frequency| position as f64 * frequency))
            .collect();
        let table = |of: fn(f64) -> f64, factor: f64| {
            let values: Vec<f64> = angles.iter().map(|&angle| factor * of(angle)).collect();
            Tensor::from_vec(values, (positions, frequencies.len()), &Device::Cpu)?
                .to_dtype(dtype)?
                .to_device(device)
        };
        let factor = rope.attention_factor();
        let stretched = (factor != 1.0)
            .then(|| Ok::<_, crate::Error>((table(f64::cos, factor)?, table(f64::sin, factor)?)));
        Ok(Self { cos: table(f64::cos, 1.0)?, sin: table(f64::sin, 1.0)?, stretched: stretched.transpose()? })
    }

    /// Rotated pairs of a head.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.cos.dims()[1]
    }

    /// Cosines, `[positions, pairs]`, without the factor of YaRN and LongRoPE.
    #[must_use]
    pub fn cos(&self) -> &Tensor {
        &self.cos
    }

    /// Sines, `[positions, pairs]`, without the factor of YaRN and LongRoPE.
    #[must_use]
    pub fn sin(&self) -> &Tensor {
        &self.sin
    }

    /// Rotates `[n, heads, head_dim]`, whose first row stands at `first_position`: the two halves of
    /// a head's first `2 · pairs` elements are the two coordinates of its pairs, the rest stays.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn rotate(&self, x: &Tensor, first_position: usize) -> Result<Tensor> {
        let (n, _, head_dim) = x.dims3()?;
        let (cos, sin) = match &self.stretched {
            Some((cos, sin)) => (cos, sin),
            None => (&self.cos, &self.sin),
        };
        let (cos, sin) = (cos.narrow(0, first_position, n)?, sin.narrow(0, first_position, n)?);
        let turned = 2 * cos.dim(1)?;
        let part = x.narrow(2, 0, turned)?.contiguous()?;
        let rotated = candle_nn::rotary_emb::rope_thd(&part.unsqueeze(0)?, &cos, &sin)?.squeeze(0)?;
        if turned == head_dim {
            return Ok(rotated);
        }
        let rest = x.narrow(2, turned, head_dim - turned)?;
        Ok(Tensor::cat(&[&rotated, &rest], D::Minus1)?.contiguous()?)
    }
}
