//! One decoder layer: norms, attention, MLP, in the order that its [`BlockKind`] says.

use super::linear::Linear;
use super::mlp::Mlp;
use super::norm::Norm;
use super::{Loader, RotaryTables};
use crate::Result;
use crate::attention::ScoreRule;
use crate::model::spec::{BlockKind, QkNorm};
use crate::model::{ModelError, ModelSpec};
use candle_core::{DType, Device, Tensor};

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
    index: usize,
    attention_norm: Option<Norm>,
    /// q, k and v stacked: `[(heads + 2 · kv_heads) · head_dim, hidden]`.
    qkv: Linear,
    qk_norms: Option<(Norm, Norm)>,
    score: ScoreRule,
    output: Linear,
    attention_output_norm: Option<Norm>,
    mlp_norm: Option<Norm>,
    mlp: Mlp,
    mlp_output_norm: Option<Norm>,
}

impl Layer {
    pub(super) fn load(spec: &ModelSpec, index: usize, loader: &Loader<'_>) -> Result<Self, ModelError> {
        let name = |part: &str| format!("layers.{index}.{part}");
        let norm = |part: &str, present: bool| {
            present.then(|| Norm::load(&spec.norm, &name(part), loader)).transpose()
        };
        let qk_norms = match spec.qk_norm {
            QkNorm::None => None,
            _ => norm("q_norm", true)?.zip(norm("k_norm", true)?),
        };
        let sinks = loader.optional(&name("sinks"))?;
        let sinks = sinks.map(|sinks| sinks.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec1());
        let sink_logits = sinks.transpose()?.map(Into::into);
        Ok(Self {
            index,
            attention_norm: norm("attention_norm", spec.block.has_attention_norm())?,
            qkv: loader.linear(&[&name("q_proj"), &name("k_proj"), &name("v_proj")])?,
            qk_norms,
            score: ScoreRule { sink_logits, ..spec.score_rule(index) },
            output: loader.linear(&[&name("o_proj")])?,
            attention_output_norm: norm("attention_output_norm", spec.block.has_output_norms())?,
            mlp_norm: norm("mlp_norm", spec.block.has_mlp_norm())?,
            mlp: Mlp::load(spec, index, loader)?,
            mlp_output_norm: norm("mlp_output_norm", spec.block.has_output_norms())?,
        })
    }

    /// The weights of a llama's layer, unstacked, by Hugging Face's names within the layer.
    pub(super) fn named_weights(&self, spec: &ModelSpec) -> Result<Vec<(&'static str, Tensor)>> {
        let (q, kv, mlp) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim, spec.mlp_hidden);
        // A quantised layer has no weights to compare.
        let (Some(qkv), Some(output)) = (self.qkv.weight(), self.output.weight()) else {
            return Ok(Vec::new());
        };
        let mut named = vec![
            ("self_attn.q_proj", qkv.narrow(0, 0, q)?),
            ("self_attn.k_proj", qkv.narrow(0, q, kv)?),
            ("self_attn.v_proj", qkv.narrow(0, q + kv, kv)?),
            ("self_attn.o_proj", output.clone()),
        ];
        let norms = [("input_layernorm", &self.attention_norm), ("post_attention_layernorm", &self.mlp_norm)];
        named.extend(
            norms.into_iter().filter_map(|(name, norm)| Some((name, norm.as_ref()?.weight()?.clone()))),
        );
        if let Mlp::Dense(dense) = &self.mlp
            && let (Some(up), Some(down)) = (dense.up.weight(), dense.down.weight())
        {
            named.push(("mlp.gate_proj", up.narrow(0, 0, mlp)?));
            named.push(("mlp.up_proj", up.narrow(0, mlp, mlp)?));
            named.push(("mlp.down_proj", down.clone()));
        }
        Ok(named)
    }

    /// From `q · k` to a row of weights.
    pub(super) fn score_rule(&self) -> &ScoreRule {
        &self.score
    }

    pub(super) fn bytes(&self) -> usize {
        let norms =
            [&self.attention_norm, &self.attention_output_norm, &self.mlp_norm, &self.mlp_output_norm];
        let qk = self.qk_norms.iter().flat_map(|(q, k)| [q, k]);
        norms.into_iter().flatten().chain(qk).map(Norm::bytes).sum::<usize>()
            + self.qkv.bytes()
            + self.output.bytes()
            + self.score.sink_logits.as_ref().map_or(0, |sinks| 4 * sinks.len())
            + self.mlp.bytes()
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
        let input = match (&self.attention_norm, spec.block) {
            (Some(norm), kind) if kind != BlockKind::ResidualNorm => norm.forward(hidden)?,
            _ => hidden.clone(),
        };
        let mut qkv = self.qkv.forward(&input)?;
        if let Some(bound) = spec.qkv_clip {
            qkv = qkv.clamp(-bound, bound)?;
        }
        let qkv = qkv.reshape((n, spec.heads + 2 * spec.kv_heads, spec.head_dim))?;
        let mut q = qkv.narrow(1, 0, spec.heads)?;
        let mut k = qkv.narrow(1, spec.heads, spec.kv_heads)?;
        let v = qkv.narrow(1, spec.heads + spec.kv_heads, spec.kv_heads)?.contiguous()?;
        if let Some((q_norm, k_norm)) = &self.qk_norms {
            q = norm_heads(q_norm, &q, spec.qk_norm)?;
            k = norm_heads(k_norm, &k, spec.qk_norm)?;
        }
        let rotated = |x: &Tensor| match tables.of_layer(self.index) {
            Some(table) => table.rotate(x, first_position),
            None => Ok(x.contiguous()?),
        };
        Ok(LayerOutput { q: rotated(&q)?, k: rotated(&k)?, v })
    }

    /// The residual stream behind the layer, for some rows and their attention context.
    pub(super) fn finish(&self, spec: &ModelSpec, hidden: &Tensor, context: &Tensor) -> Result<Tensor> {
        let attention = maybe(self.attention_output_norm.as_ref(), &self.output.forward(context)?)?;
        let attention = scaled(attention, spec.residual_scale)?;
        if let BlockKind::Parallel | BlockKind::ParallelSharedNorm = spec.block {
            let norm = self.mlp_norm.as_ref().or(self.attention_norm.as_ref());
            let input = norm.map_or_else(|| Ok(hidden.clone()), |norm| norm.forward(hidden))?;
            return Ok(((hidden + attention)? + self.mlp.forward(&input)?)?);
        }
        if spec.block == BlockKind::NormedResidual {
            let hidden = (maybe(self.attention_norm.as_ref(), hidden)? + attention)?;
            let hidden = maybe(self.mlp_norm.as_ref(), &hidden)?;
            let mlp = self.mlp.forward(&hidden)?;
            return Ok((hidden + mlp)?);
        }
        let hidden = (hidden + attention)?;
        if spec.block == BlockKind::ResidualNorm {
            let hidden = maybe(self.attention_norm.as_ref(), &hidden)?;
            let mlp = self.mlp.forward(&hidden)?;
            return maybe(self.mlp_norm.as_ref(), &(hidden + mlp)?);
        }
        let mlp = self.mlp.forward(&maybe(self.mlp_norm.as_ref(), &hidden)?)?;
        let mlp = scaled(maybe(self.mlp_output_norm.as_ref(), &mlp)?, spec.residual_scale)?;
        Ok((hidden + mlp)?)
    }
}

fn maybe(norm: Option<&Norm>, x: &Tensor) -> Result<Tensor> {
    norm.map_or_else(|| Ok(x.clone()), |norm| norm.forward(x))
}

fn scaled(x: Tensor, factor: f64) -> Result<Tensor> {
    if factor == 1.0 { Ok(x) } else { Ok((x * factor)?) }
}

/// Norms `[n, heads, head_dim]`.
fn norm_heads(norm: &Norm, x: &Tensor, kind: QkNorm) -> Result<Tensor> {
    let (n, heads, head_dim) = x.dims3()?;
    if kind == QkNorm::AllHeads {
        let flat = norm.forward(&x.contiguous()?.reshape((n, heads * head_dim))?)?;
        return Ok(flat.reshape((n, heads, head_dim))?);
    }
    norm.forward(x)
}
