//! The MLP, and the mixture of experts in its place.

use super::Loader;
use super::fused::{activate, gated};
use super::linear::Linear;
use crate::Result;
use crate::model::spec::{Activation, ExpertGate, MoeSpec};
use crate::model::{ModelError, ModelSpec};
use candle_core::{D, DType, Tensor};

/// What follows attention in a layer.
#[derive(Debug)]
pub(super) enum Mlp {
    Dense(DenseMlp),
    Experts(Experts),
}

/// One MLP for all tokens.
#[derive(Debug)]
pub(super) struct DenseMlp {
    activation: Activation,
    gated: bool,
    /// Gate and up stacked: `[2 · mlp_hidden, hidden]`; up alone where there is no gate.
    pub(super) up: Linear,
    pub(super) down: Linear,
}

/// A router and its experts.
#[derive(Debug)]
pub(super) struct Experts {
    spec: MoeSpec,
    activation: Activation,
    router: Linear,
    /// Gate and up stacked: `[2 · moe hidden, hidden]` for each expert.
    up: Vec<Linear>,
    down: Vec<Linear>,
}

impl Mlp {
    pub(super) fn load(spec: &ModelSpec, layer: usize, loader: &Loader<'_>) -> Result<Self, ModelError> {
        let name = |part: &str| format!("layers.{layer}.{part}");
        if let Some(moe) = spec.moe.as_ref().filter(|_| spec.has_experts(layer)) {
            return Ok(Self::Experts(Experts {
                spec: moe.clone(),
                activation: spec.activation,
                router: loader.linear(&[&name("router")])?,
                up: loader.experts(&name("experts.gate_up_proj"))?,
                down: loader.experts(&name("experts.down_proj"))?,
            }));
        }
        let (gate, up) = (name("gate_proj"), name("up_proj"));
        let up = if spec.gated_mlp { loader.linear(&[&gate, &up])? } else { loader.linear(&[&up])? };
        let down = loader.linear(&[&name("down_proj")])?;
        Ok(Self::Dense(DenseMlp { activation: spec.activation, gated: spec.gated_mlp, up, down }))
    }

    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(mlp) => mlp.forward(x),
            Self::Experts(experts) => experts.forward(x),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Dense(mlp) => mlp.up.bytes() + mlp.down.bytes(),
            Self::Experts(experts) => {
                let all = experts.up.iter().chain(&experts.down).map(Linear::bytes);
                experts.router.bytes() + all.sum::<usize>()
            }
        }
    }
}

impl DenseMlp {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let up = self.up.forward(x)?;
        let inner = if self.gated { gated(self.activation, &up)? } else { activate(self.activation, &up)? };
        self.down.forward(&inner)
    }
}

impl Experts {
    /// Each token goes through its few best experts; their outputs are added by the router's weights.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let n = x.dim(0)?;
        let logits = self.router.forward(x)?.to_dtype(DType::F32)?.to_vec2::<f32>()?;
        let routes: Vec<Vec<(usize, f32)>> = logits.iter().map(|logits| self.route(logits)).collect();
        let out = x.zeros_like()?;
        for expert in 0..self.spec.experts {
            let chosen = (0..n).filter_map(|token| {
                let (_, weight) = routes[token].iter().find(|(chosen, _)| *chosen == expert)?;
                Some((token as u32, *weight))
            });
            let (tokens, weights): (Vec<u32>, Vec<f32>) = chosen.unzip();
            if tokens.is_empty() {
                continue;
            }
            let count = tokens.len();
            let tokens = Tensor::new(tokens, x.device())?;
            let weights = Tensor::from_vec(weights, (count, 1), x.device())?.to_dtype(x.dtype())?;
            let inner = self.combine(&self.up[expert].forward(&x.index_select(&tokens, 0)?)?)?;
            let added = self.down[expert].forward(&inner)?.broadcast_mul(&weights)?;
            out.scatter_add_set(&tokens.unsqueeze(1)?.broadcast_as(added.shape())?.contiguous()?, &added, 0)?;
        }
        Ok(out)
    }

    /// The chosen experts of one token with their weights.
    fn route(&self, logits: &[f32]) -> Vec<(usize, f32)> {
        let mut ranked: Vec<usize> = (0..logits.len()).collect();
        ranked.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
        let max = logits[ranked[0]];
        let e = |expert: usize| (logits[expert] - max).exp();
        let chosen = &ranked[..self.spec.active];
        let among = if self.spec.normalised { chosen } else { &ranked[..] };
        let sum: f32 = among.iter().map(|&expert| e(expert)).sum();
        chosen.iter().map(|&expert| (expert, e(expert) / sum)).collect()
    }

    fn combine(&self, gate_up: &Tensor) -> Result<Tensor> {
        let ExpertGate::Clamped { alpha, limit } = self.spec.gate else {
            return gated(self.activation, gate_up);
        };
        let width = gate_up.dim(D::Minus1)? / 2;
        let gate = gate_up.narrow(D::Minus1, 0, width)?.minimum(limit)?;
        let up = gate_up.narrow(D::Minus1, width, width)?.clamp(-limit, limit)?;
        let glu = (&gate * candle_nn::ops::sigmoid(&(&gate * alpha)?)?)?;
        Ok((glu * (up + 1.0)?)?)
    }
}
