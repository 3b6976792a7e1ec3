//! Projections.

use crate::Result;
use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{D, Module, Tensor};

/// A projection: `x · Wᵀ + b`.
#[derive(Debug)]
pub(super) struct Linear {
    /// Stacked along the outputs.
    parts: Vec<Weight>,
    bias: Option<Tensor>,
}

/// A part of a projection's weight, `[outputs, inputs]`.
#[derive(Debug)]
pub(super) enum Weight {
    /// Floats; those narrower than the input are widened for each product.
    Dense(Tensor),
    /// The file's own blocks.
    Quantised(QMatMul),
}

impl Weight {
    pub(super) fn quantised(blocks: QTensor) -> Result<Self, candle_core::Error> {
        Ok(Self::Quantised(QMatMul::from_qtensor(blocks)?))
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(weight) => Ok(x.matmul(&weight.to_dtype(x.dtype())?.t()?)?),
            Self::Quantised(weight) => Ok(weight.forward(&x.contiguous()?)?),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Dense(weight) | Self::Quantised(QMatMul::Tensor(weight) | QMatMul::TensorF16(weight)) => {
                weight.elem_count() * weight.dtype().size_in_bytes()
            }
            Self::Quantised(QMatMul::QTensor(blocks)) => blocks.storage_size_in_bytes(),
        }
    }
}

impl Linear {
    pub(super) fn new(parts: Vec<Weight>, bias: Option<Tensor>) -> Self {
        Self { parts, bias }
    }

    /// One matrix of floats.
    pub(super) fn dense(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { parts: vec![Weight::Dense(weight)], bias }
    }

    /// The weight, where it is one matrix of floats.
    pub(super) fn weight(&self) -> Option<&Tensor> {
        match self.parts.as_slice() {
            [Weight::Dense(weight)] => Some(weight),
            _ => None,
        }
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let product = match self.parts.as_slice() {
            [only] => only.forward(x)?,
            parts => {
                let products = parts.iter().map(|part| part.forward(x));
                Tensor::cat(&products.collect::<Result<Vec<_>>>()?, D::Minus1)?
            }
        };
        match &self.bias {
            Some(bias) => Ok(product.broadcast_add(bias)?),
            None => Ok(product),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let bias = self.bias.as_ref().map_or(0, |bias| bias.elem_count() * bias.dtype().size_in_bytes());
        self.parts.iter().map(Weight::bytes).sum::<usize>() + bias
    }
}
