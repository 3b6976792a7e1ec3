//! Root-mean-square and layer norms.

use super::Loader;
use crate::Result;
use crate::model::spec::{NormKind, NormSpec};
use candle_core::{D, DType, Tensor};

/// A norm over the last dimension, or over the last two where heads have weights of their own.
#[derive(Debug)]
pub(super) struct Norm {
    kind: NormKind,
    eps: f64,
    /// `[width]`, or `[heads, width]` where each head has its own.
    weight: Option<Tensor>,
    bias: Option<Tensor>,
}

impl Norm {
    /// The norm of that name, with the weights that the model has.
    pub(super) fn load(
        spec: &NormSpec,
        name: &str,
        loader: &Loader<'_>,
    ) -> Result<Self, crate::model::ModelError> {
        let mut weight = loader.optional(&format!("{name}.weight"))?;
        if spec.plus_one {
            weight = weight.map(|weight| weight + 1.0).transpose()?;
        }
        Ok(Self { kind: spec.kind, eps: spec.eps, weight, bias: loader.optional(&format!("{name}.bias"))? })
    }

    pub(super) fn weight(&self) -> Option<&Tensor> {
        self.weight.as_ref()
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.weight, &self.bias]
            .into_iter()
            .flatten()
            .map(|vector| vector.elem_count() * vector.dtype().size_in_bytes())
            .sum()
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if let (NormKind::Rms, Some(weight), None) = (self.kind, &self.weight, &self.bias)
            && x.dtype() != DType::F64
            && weight.dims().len() == 1
        {
            return Ok(candle_nn::ops::rms_norm(&x.contiguous()?, weight, self.eps as f32)?);
        }
        self.in_steps(x)
    }

    /// The definition. candle's fused RMS norm takes ε in f32, which the f64 reference must not; its fused layer norm
    /// takes the variance as a difference of two large numbers, which a massive activation blurs.
    fn in_steps(&self, x: &Tensor) -> Result<Tensor> {
        let dtype = x.dtype();
        // Sums of squares overflow and blur in half precision.
        let x = if dtype == DType::F64 { x.clone() } else { x.to_dtype(DType::F32)? };
        let x = match self.kind {
            NormKind::Rms => x,
            NormKind::Layer => x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?,
        };
        let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
        let mut x = x.broadcast_div(&(variance + self.eps)?.sqrt()?)?.to_dtype(dtype)?;
        if let Some(weight) = &self.weight {
            x = x.broadcast_mul(weight)?;
        }
        match &self.bias {
            Some(bias) => Ok(x.broadcast_add(bias)?),
            None => Ok(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn fused_rms_norm_equals_its_definition() {
        let device = Device::Cpu;
        let x = Tensor::randn(3_f32, 2.0, (5, 24), &device).expect("random");
        let weight = Tensor::randn(1_f32, 0.2, 24, &device).expect("random");
        let norm = Norm { kind: NormKind::Rms, eps: 1e-5, weight: Some(weight), bias: None };
        let difference = (norm.forward(&x).expect("fused") - norm.in_steps(&x).expect("steps"))
            .and_then(|d| d.abs()?.max_all()?.to_scalar::<f32>());
        assert!(difference.expect("a number") < 2e-6);
    }
}
