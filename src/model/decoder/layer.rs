//! One decoder layer: norm, attention, norm, MLP.

use super::fused::gated_silu;
use super::{Loader, RotaryTables};
use crate::Result;
use crate::model::{ModelError, ModelSpec};
use candle_core::{D, DType, Tensor};

/// A projection: `x · Wᵀ + b`.
#[derive(Debug)]
pub(super) struct Linear {
    /// `[outputs, inputs]`.
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl Linear {
    pub(super) fn from_weight(weight: Tensor) -> Self {
        Self { weight, bias: None }
    }

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

/// What a layer hands to attention.
#[derive(Debug, Clone)]
pub struct LayerOutput {
    /// Rotated queries `[n, heads, head_dim]`.
    pub q: Tensor,
    /// Rotated keys `[n, kv_heads, head_dim]`.
    pub k: Tensor,
    /// Values `[n, kv_heads, head_dim]`.
    pub v: Tensor,
}

/// Weights of one layer.
#[derive(Debug)]
pub(super) struct Layer {
    attention_norm: Tensor,
    /// q, k and v stacked: `[(heads + 2 · kv_heads) · head_dim, hidden]`.
    qkv: Linear,
    output: Linear,
    mlp_norm: Tensor,
    /// Gate and up stacked: `[2 · mlp_hidden, hidden]`.
    gate_up: Linear,
    down: Linear,
}

impl Layer {
    pub(super) fn load(
        spec: &ModelSpec,
        index: usize,
        loader: &Loader<'_>,
    ) -> std::result::Result<Self, ModelError> {
        let name = |part: &str| format!("model.layers.{index}.{part}");
        let (hidden, mlp) = (spec.hidden, spec.mlp_hidden);
        let (q, kv) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim);
        let qkv = [("q_proj", q), ("k_proj", kv), ("v_proj", kv)];
        let qkv = qkv.map(|(part, outputs)| (name(&format!("self_attn.{part}")), outputs));
        let gate_up = ["gate_proj", "up_proj"].map(|part| (name(&format!("mlp.{part}")), mlp));
        Ok(Self {
            attention_norm: loader.tensor(&name("input_layernorm.weight"), &[hidden])?,
            qkv: loader.stacked(&qkv, hidden, spec.qkv_bias)?,
            output: loader.stacked(&[(name("self_attn.o_proj"), hidden)], q, spec.output_bias)?,
            mlp_norm: loader.tensor(&name("post_attention_layernorm.weight"), &[hidden])?,
            gate_up: loader.stacked(&gate_up, hidden, spec.mlp_bias)?,
            down: loader.stacked(&[(name("mlp.down_proj"), hidden)], mlp, spec.mlp_bias)?,
        })
    }

    /// The weights, unstacked, by their names within the layer.
    pub(super) fn named_weights(&self, spec: &ModelSpec) -> Result<Vec<(&'static str, Tensor)>> {
        let (q, kv, mlp) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim, spec.mlp_hidden);
        Ok(vec![
            ("input_layernorm", self.attention_norm.clone()),
            ("self_attn.q_proj", self.qkv.weight.narrow(0, 0, q)?),
            ("self_attn.k_proj", self.qkv.weight.narrow(0, q, kv)?),
            ("self_attn.v_proj", self.qkv.weight.narrow(0, q + kv, kv)?),
            ("self_attn.o_proj", self.output.weight.clone()),
            ("post_attention_layernorm", self.mlp_norm.clone()),
            ("mlp.gate_proj", self.gate_up.weight.narrow(0, 0, mlp)?),
            ("mlp.up_proj", self.gate_up.weight.narrow(0, mlp, mlp)?),
            ("mlp.down_proj", self.down.weight.clone()),
        ])
    }

    pub(super) fn elements(&self) -> usize {
        let linears = [&self.qkv, &self.output, &self.gate_up, &self.down];
        let norms = self.attention_norm.elem_count() + self.mlp_norm.elem_count();
        norms + linears.iter().map(|linear| linear.elements()).sum::<usize>()
    }

    /// Rotated q, k and v of some rows of the residual stream.
    pub(super) fn project(
        &self,
        spec: &ModelSpec,
        hidden: &Tensor,
        first_position: usize,
        tables: &RotaryTables,
    ) -> Result<LayerOutput> {
        let n = hidden.dim(0)?;
        let normed = rms_norm(hidden, &self.attention_norm, spec.norm_eps)?;
        let qkv = self.qkv.forward(&normed)?.reshape((n, spec.heads + 2 * spec.kv_heads, spec.head_dim))?;
        let q = qkv.narrow(1, 0, spec.heads)?;
        let k = qkv.narrow(1, spec.heads, spec.kv_heads)?;
        let v = qkv.narrow(1, spec.heads + spec.kv_heads, spec.kv_heads)?.contiguous()?;
        Ok(LayerOutput { q: tables.rotate(&q, first_position)?, k: tables.rotate(&k, first_position)?, v })
    }

    /// The residual stream behind the layer, for some rows and their attention context.
    pub(super) fn finish(&self, spec: &ModelSpec, hidden: &Tensor, context: &Tensor) -> Result<Tensor> {
        let hidden = (hidden + self.output.forward(context)?)?;
        let normed = rms_norm(&hidden, &self.mlp_norm, spec.norm_eps)?;
        let gated = gated_silu(&self.gate_up.forward(&normed)?)?;
        Ok((&hidden + self.down.forward(&gated)?)?)
    }
}

/// `x / √(mean x² + ε) · w` over the last dimension.
pub(super) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    if x.dtype() == DType::F64 {
        // candle's fused norm takes its epsilon in f32; the f64 reference must not.
        let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
        return Ok(x.broadcast_div(&(variance + eps)?.sqrt()?)?.broadcast_mul(weight)?);
    }
    Ok(candle_nn::ops::rms_norm(&x.contiguous()?, weight, eps as f32)?)
}
