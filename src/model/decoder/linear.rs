//! Projections.

use crate::Result;
use candle_core::Tensor;

/// A projection: `x · Wᵀ + b`.
#[derive(Debug)]
pub(super) struct Linear {
    /// `[outputs, inputs]`.
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl Linear {
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let product = x.matmul(&self.weight.t()?)?;
        match &self.bias {
            Some(bias) => Ok(product.broadcast_add(bias)?),
            None => Ok(product),
        }
    }

    pub(super) fn elements(&self) -> usize {
        self.weight.elem_count() + self.bias.as_ref().map_or(0, Tensor::elem_count)
    }
}
