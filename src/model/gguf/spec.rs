//! GGUF metadata to [`ModelSpec`]: the file's keys, what its tensors show, and what its architecture implies.

use super::family::{Block, FAMILIES, Family, Positions, Windows, family};
use super::keys::{Keys, every};
use super::rope::read_rope;
use super::{GgufHeader, GgufTensor, Vectors};
use crate::model::ModelError;
use crate::model::spec::{
    BlockKind, Dimensions, LearnedPositions, ModelSpec, MoeSpec, NormSpec, QkNorm, RopeSpec, alibi_slopes,
};
use crate::model::weights::GgufLayout;
use std::path::Path;

/// What a GGUF file says of its model.
#[derive(Debug, Clone)]
pub struct GgufReading {
    /// The architecture.
    pub spec: ModelSpec,
    /// How the file names and stores the tensors.
    pub layout: GgufLayout,
    /// What was ignored or assumed, one line each.
    pub warnings: Vec<String>,
}

/// Architectures that are read from GGUF files, for messages.
#[must_use]
pub fn known_gguf_architectures() -> String {
    FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ")
}

/// Reads and checks the architecture's keys.
///
/// # Errors
/// The architecture is unknown, or a key is missing or makes no sense.
pub fn spec_of_gguf(
    header: &GgufHeader,
    path: &Path,
    vectors: &dyn Vectors,
) -> Result<GgufReading, ModelError> {
    let architecture = header.str("general.architecture").unwrap_or_default();
    let Some(family) = family(architecture) else {
        return Err(ModelError::UnknownArchitecture {
            found: architecture.to_owned(),
            known: known_gguf_architectures(),
            path: path.to_owned(),
        });
    };
    let keys = Keys::new(header, family.name);
    let spec = Reading { keys: &keys, family, vectors }.spec().and_then(ModelSpec::checked);
    let spec = spec.map_err(|why| ModelError::Config { why, path: path.to_owned() })?;
    let layout =
        GgufLayout { interleaved: family.interleaved, gate_in_up: family.gate_in_up, names: family.names };
    Ok(GgufReading { spec, layout, warnings: keys.into_notes() })
}

struct Reading<'a> {
    keys: &'a Keys<'a>,
    family: &'static Family,
    vectors: &'a dyn Vectors,
}

impl Reading<'_> {
    fn spec(&self) -> Result<ModelSpec, String> {
        let (keys, family) = (self.keys, self.family);
        if keys.flag("attention.causal")? == Some(false) {
            return Err("the model's attention is not causal".to_owned());
        }
        let mut spec = ModelSpec::llama(family.name, self.dimensions()?);
        spec.norm = self.norm()?;
        spec.block = self.block()?;
        spec.activation = family.activation;
        spec.gated_mlp = family.gated_mlp;
        spec.embedding_norm = keys.has_tensor("token_embd_norm.weight");
        spec.tied_embeddings = !keys.has_tensor("output.weight");
        spec.lm_head_bias = keys.has_tensor("output.bias");
        spec.qkv_bias = keys.has_tensor("blk.0.attn_q.bias") || keys.has_tensor("blk.0.attn_qkv.bias");
        spec.output_bias = keys.has_tensor("blk.0.attn_output.bias");
        spec.mlp_bias = keys.has_tensor("blk.0.ffn_up.bias");
        spec.attention_sinks = keys.has_tensor("blk.0.attn_sinks.weight");
        spec.qk_norm = self.qk_norm(&spec)?;
        spec.qkv_clip = keys.positive_or_zero("attention.clamp_kqv")?;
        spec.moe = self.experts(spec.layers)?;
        self.scales(&mut spec)?;
        self.windows(&mut spec)?;
        self.positions(&mut spec)?;
        Ok(spec)
    }

    fn dimensions(&self) -> Result<Dimensions, String> {
        let keys = self.keys;
        let embedding = keys.tensor("token_embd.weight").ok_or("tensor token_embd.weight is missing")?;
        let (vocab, width) = match embedding.shape[..] {
            [vocab, width] if vocab > 0 => (vocab, width),
            _ => return Err(format!("tensor token_embd.weight has shape {:?}", embedding.shape)),
        };
        let (hidden, heads) = (keys.size("embedding_length")?, keys.size("attention.head_count")?);
        if hidden != width {
            return Err(format!("embedding_length is {hidden}, but token_embd.weight has rows of {width}"));
        }
        let head_dim = match keys.optional_size("attention.key_length")? {
            Some(head_dim) => head_dim,
            None if hidden.is_multiple_of(heads) => hidden / heads,
            None => return Err(format!("{heads} heads can't share embedding_length {hidden}")),
        };
        if keys.optional_size("attention.value_length")?.is_some_and(|width| width != head_dim) {
            return Err("keys and values of different width are not supported".to_owned());
        }
        let dense = keys.optional_size("feed_forward_length")?;
        let of_expert = keys.optional_size("expert_feed_forward_length")?;
        Ok(Dimensions {
            layers: keys.layers()?,
            heads,
            kv_heads: keys.optional_size("attention.head_count_kv")?.unwrap_or(heads),
            head_dim,
            hidden,
            mlp_hidden: dense.or(of_expert).map_or_else(|| keys.size("feed_forward_length"), Ok)?,
            vocab,
            context: keys.size("context_length")?,
        })
    }

    fn norm(&self) -> Result<NormSpec, String> {
        use crate::model::spec::NormKind::{Layer, Rms};
        let key = match self.family.norm {
            Rms => "attention.layer_norm_rms_epsilon",
            Layer => "attention.layer_norm_epsilon",
        };
        Ok(NormSpec {
            kind: self.family.norm,
            eps: self.keys.required_positive(key)?,
            has_weight: true,
            has_bias: self.keys.has_tensor("output_norm.bias"),
            // Gemma's converter has added the 1.
            plus_one: false,
        })
    }

    fn block(&self) -> Result<BlockKind, String> {
        let has = |part: &str| self.keys.has_tensor(&format!("blk.0.{part}.weight"));
        let parallel = self.keys.flag("use_parallel_residual")?;
        Ok(match self.family.block {
            Block::PreNorm => BlockKind::PreNorm,
            Block::OutputNorm => BlockKind::OutputNorm,
            Block::Sandwich => BlockKind::Sandwich,
            Block::ParallelByKey if parallel == Some(false) => BlockKind::PreNorm,
            Block::ParallelByKey => BlockKind::Parallel,
            Block::Parallel if has("attn_norm_2") => BlockKind::Parallel,
            Block::ParallelWithoutMlpNorm if has("ffn_norm") => BlockKind::PreNorm,
            Block::Parallel | Block::ParallelWithoutMlpNorm => BlockKind::ParallelSharedNorm,
        })
    }

    /// The norm on q and k is known by its shape.
    fn qk_norm(&self, spec: &ModelSpec) -> Result<QkNorm, String> {
        let Some(GgufTensor { shape, .. }) = self.keys.tensor("blk.0.attn_q_norm.weight") else {
            return Ok(QkNorm::None);
        };
        match shape.as_slice() {
            [width] if *width == spec.head_dim => Ok(QkNorm::PerHead),
            [width] if *width == spec.heads * spec.head_dim => Ok(QkNorm::AllHeads),
            [heads, width] if (*heads, *width) == (spec.heads, spec.head_dim) => Ok(QkNorm::PerHeadOwn),
            _ => Err(format!("tensor blk.0.attn_q_norm.weight has shape {shape:?}")),
        }
    }

    fn experts(&self, layers: usize) -> Result<Option<MoeSpec>, String> {
        let keys = self.keys;
        let experts = keys.count("expert_count")?.unwrap_or(0);
        let active = keys.count("expert_used_count")?;
        let hidden = keys.optional_size("expert_feed_forward_length")?;
        let normalised = keys.flag("expert_weights_norm")?;
        if experts == 0 {
            return Ok(None);
        }
        if keys.has_tensor("blk.0.ffn_up_shexp.weight") {
            return Err("shared experts are not supported".to_owned());
        }
        let has_experts = |layer| keys.has_tensor(&format!("blk.{layer}.ffn_gate_inp.weight"));
        if !(0..layers).any(has_experts) {
            return Err(format!("expert_count is {experts}, but no layer has a tensor ffn_gate_inp.weight"));
        }
        Ok(Some(MoeSpec {
            experts,
            active: active.ok_or_else(|| format!("{}.expert_used_count is missing", self.family.name))?,
            hidden: hidden.map_or_else(|| keys.size("feed_forward_length"), Ok)?,
            normalised: normalised.unwrap_or(true),
            bias: (0..layers).any(|layer| keys.has_tensor(&format!("blk.{layer}.ffn_gate_inp.bias"))),
            gate: self.family.expert_gate,
            layers: (0..layers).map(has_experts).collect(),
        }))
    }

    fn scales(&self, spec: &mut ModelSpec) -> Result<(), String> {
        let (keys, family) = (self.keys, self.family);
        if family.wide_scale_layers == Some(spec.layers) {
            spec.attention_scale = (spec.heads as f64 / spec.hidden as f64).sqrt();
        }
        if let Some(scale) = keys.positive_or_zero("attention.scale")? {
            spec.attention_scale = scale;
        }
        if family.scaled_embedding {
            spec.embedding_scale = (spec.hidden as f64).sqrt();
        }
        if let Some(scale) = keys.positive_or_zero("embedding_scale")? {
            spec.embedding_scale = scale;
        }
        spec.residual_scale = keys.positive_or_zero("residual_scale")?.unwrap_or(1.0);
        spec.logits_divisor = keys.positive_or_zero("logit_scale")?.unwrap_or(1.0);
        let cap = |key: &str, usual: Option<f64>| match usual {
            Some(usual) => keys.positive_or_assumed(key, usual).map(Some),
            None => keys.positive_or_zero(key),
        };
        spec.attention_softcap = cap("attn_logit_softcapping", family.softcaps.map(|(scores, _)| scores))?;
        spec.logits_softcap = cap("final_logit_softcapping", family.softcaps.map(|(_, logits)| logits))?;
        Ok(())
    }

    fn windows(&self, spec: &mut ModelSpec) -> Result<(), String> {
        let (keys, layers) = (self.keys, spec.layers);
        let given = keys.count("attention.sliding_window")?;
        let pattern = keys.local_layers("attention.sliding_window_pattern", layers)?;
        let usual = match self.family.windows {
            Windows::Usual { window, period } => Some((window, period)),
            Windows::None | Windows::Unsaid => None,
        };
        if self.family.windows == Windows::Unsaid && given.is_none() {
            keys.note("The file does not say whether layers are local: none is assumed".to_owned());
        }
        let (window, local) = match (given, pattern, usual) {
            (Some(0), ..) | (None, None, None) => return Ok(()),
            (window, Some(local), usual) => (window.or(usual.map(|(window, _)| window)), local),
            (window, None, Some((usual, period))) => {
                keys.note(format!(
                    "The file does not say which layers are local: all but one in {period} are assumed"
                ));
                (window.or(Some(usual)), every(period, layers))
            }
            (Some(window), None, None) => (Some(window), vec![true; layers]),
        };
        let window = window.ok_or("local layers need attention.sliding_window")?;
        if given.is_none() {
            keys.note(format!(
                "The file does not give {}.attention.sliding_window: {window} is assumed",
                self.family.name
            ));
        }
        spec.windows = local.into_iter().map(|local| local.then_some(window)).collect();
        Ok(())
    }

    fn positions(&self, spec: &mut ModelSpec) -> Result<(), String> {
        let keys = self.keys;
        let table = keys.tensor("position_embd.weight").and_then(|tensor| tensor.shape.first().copied());
        match self.family.positions {
            Positions::Rope(theta) => return self.rope(theta, spec),
            Positions::Alibi(usual) => {
                // MPT's converter writes 0 where the model has learned positions instead.
                let given = keys.positive_or_zero("attention.max_alibi_bias")?;
                if table.is_none() {
                    spec.alibi_slopes = Some(alibi_slopes(spec.heads, given.unwrap_or(usual)));
                }
            }
            Positions::Learned if table.is_none() => {
                return Err("tensor position_embd.weight is missing".to_owned());
            }
            Positions::Learned => {}
        }
        spec.learned_positions = table.map(|rows| LearnedPositions { rows, offset: 0 });
        spec.clear_rope();
        Ok(())
    }

    fn rope(&self, theta: f64, spec: &mut ModelSpec) -> Result<(), String> {
        let keys = self.keys;
        let global = read_rope(keys, self.family, theta, spec.head_dim, spec.context, self.vectors)?;
        let has_local = spec.windows.iter().any(Option::is_some);
        if self.family.block == Block::OutputNorm && has_local {
            return Err("local layers in olmo2 (OLMo 3) are not supported".to_owned());
        }
        let dim = global.dim;
        spec.set_rope(global);
        if let (Some(usual), true) = (self.family.local_theta, has_local) {
            let theta = keys.positive_or_assumed("rope.freq_base_swa", usual)?;
            spec.ropes.push(RopeSpec::plain(theta, dim));
            let of_layer = |window: &Option<usize>| Some(usize::from(window.is_some()));
            spec.rope_of_layer = spec.windows.iter().map(of_layer).collect();
        }
        if let Some(period) = self.family.unrotated_every {
            keys.note(format!(
                "The file does not say which layers have no rotary embedding: one in {period} is assumed"
            ));
            for (layer, rope) in spec.rope_of_layer.iter_mut().enumerate() {
                if (layer + 1).is_multiple_of(period) {
                    *rope = None;
                }
            }
        }
        Ok(())
    }
}
