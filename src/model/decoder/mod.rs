//! The one decoder. An architecture is data ([`ModelSpec`]); attention is the one kernel.

mod fused;
mod layer;
mod linear;
mod mlp;
mod norm;
mod rotary;

pub use rotary::{RotaryTable, RotaryTables};

use super::placement::{Placement, Precision};
use super::spec::{Inventory, inventory, is_matrix};
use super::weights::WeightSource;
use super::{ModelError, ModelSpec};
use crate::attention::ScoreRule;
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use crate::{Error, Result};
use candle_core::{DType, Device, Tensor};
use layer::Layer;
pub use layer::LayerOutput;
use linear::{Linear, Weight};
use norm::Norm;
use rayon::prelude::*;

/// A model's weights, ready to run.
#[derive(Debug)]
pub struct Decoder {
    spec: ModelSpec,
    embedding: Tensor,
    /// Learned positions, `[rows, hidden]`.
    positions: Option<Tensor>,
    embedding_norm: Option<Norm>,
    /// From the embedding's width to the residual stream's and back, where they differ.
    projections: Option<(Linear, Linear)>,
    layers: Vec<Layer>,
    final_norm: Option<Norm>,
    lm_head: Linear,
    /// The type of activations.
    compute: DType,
    device: Device,
}

impl Decoder {
    /// Loads all weights to where and how they are to be kept.
    ///
    /// # Errors
    /// A tensor is missing or wrong, or the job is cancelled.
    pub fn load(
        spec: &ModelSpec,
        source: &dyn WeightSource,
        placement: &Placement,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let inventory = inventory(spec);
        let loader = Loader { source, inventory: &inventory, placement };
        let total = spec.layers as u64 + 2;
        let loaded = std::sync::atomic::AtomicU64::new(0);
        let step = || {
            let done = loaded.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            let stage = format!("Loading weights as {}", placement.precision.name());
            reporter.progress(Progress { stage, done, total: Some(total), unit: ProgressUnit::Layers });
        };
        let embedding = loader.tensor("embedding.weight")?;
        step();
        // Dequantising runs on one thread per tensor: load the layers side by side.
        let layers = (0..spec.layers).into_par_iter().map(|index| {
            cancel.check()?;
            let layer = Layer::load(spec, index, &loader)?;
            step();
            Ok::<_, Error>(layer)
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        let norm =
            |name: &str, present: bool| present.then(|| Norm::load(&spec.norm, name, &loader)).transpose();
        let lm_head = if spec.tied_embeddings {
            Linear::dense(embedding.clone(), loader.optional("lm_head.bias")?)
        } else {
            loader.linear(&["lm_head"])?
        };
        let projections = (spec.embedding_width != spec.hidden).then(|| {
            Ok::<_, ModelError>((loader.linear(&["project_in"])?, loader.linear(&["project_out"])?))
        });
        let decoder = Self {
            spec: spec.clone(),
            positions: loader.optional("position_embedding.weight")?,
            embedding_norm: norm("embedding_norm", spec.embedding_norm)?,
            projections: projections.transpose()?,
            final_norm: norm("final_norm", spec.final_norm)?,
            embedding,
            layers,
            lm_head,
            compute: placement.compute,
            device: placement.device.clone(),
        };
        step();
        Ok(decoder)
    }

    /// What the model is.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// The type of activations: what all computation is in.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.compute
    }

    /// Where the weights are.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes that the weights take.
    #[must_use]
    pub fn weight_bytes(&self) -> u64 {
        let bytes = |tensor: &Tensor| tensor.elem_count() * tensor.dtype().size_in_bytes();
        let shared = if self.spec.tied_embeddings { bytes(&self.embedding) } else { 0 };
        let head = self.lm_head.bytes() - shared;
        let layers: usize = self.layers.iter().map(Layer::bytes).sum();
        let norms = self.embedding_norm.iter().chain(&self.final_norm).map(Norm::bytes);
        let tensors = [Some(&self.embedding), self.positions.as_ref()].into_iter().flatten();
        let projections = self.projections.iter().flat_map(|(into, out)| [into, out]).map(Linear::bytes);
        let around: usize = norms.chain(tensors.map(bytes)).chain(projections).sum();
        (around + layers + head) as u64
    }

    /// A llama's weights under Hugging Face's names, views into the decoder's own: for comparing with
    /// other implementations.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn named_weights(&self) -> Result<std::collections::HashMap<String, Tensor>> {
        let mut named = std::collections::HashMap::new();
        named.insert("model.embed_tokens.weight".to_owned(), self.embedding.clone());
        if let Some(weight) = self.final_norm.as_ref().and_then(Norm::weight) {
            named.insert("model.norm.weight".to_owned(), weight.clone());
        }
        if let Some(weight) = self.lm_head.weight().filter(|_| !self.spec.tied_embeddings) {
            named.insert("lm_head.weight".to_owned(), weight.clone());
        }
        for (index, layer) in self.layers.iter().enumerate() {
            for (part, weight) in layer.named_weights(&self.spec)? {
                named.insert(format!("model.layers.{index}.{part}.weight"), weight);
            }
        }
        Ok(named)
    }

    /// From `q · k` to a row of weights in one layer, learned sinks included.
    #[must_use]
    pub fn score_rule(&self, layer: usize) -> &ScoreRule {
        self.layers[layer].score_rule()
    }

    /// Rotary tables for a text of `positions` tokens.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn rotary_tables(&self, positions: usize) -> Result<RotaryTables> {
        RotaryTables::new(&self.spec, positions, self.compute, &self.device)
    }

    /// The residual stream before the first layer, `[n, hidden]`, of tokens whose first stands at
    /// `first_position`.
    ///
    /// # Errors
    /// The text is longer than the model's table of learned positions, or a failure of the device.
    pub fn embed(&self, ids: &[u32], first_position: usize) -> Result<Tensor> {
        let mut hidden =
            self.embedding.index_select(&Tensor::new(ids, &self.device)?, 0)?.to_dtype(self.compute)?;
        if self.spec.embedding_scale != 1.0 {
            hidden = (hidden * self.spec.embedding_scale)?;
        }
        if let Some((into, _)) = &self.projections {
            hidden = into.forward(&hidden)?;
        }
        if let (Some(table), Some(learned)) = (&self.positions, self.spec.learned_positions) {
            let (first, most) = (first_position + learned.offset, learned.rows - learned.offset);
            if first_position + ids.len() > most {
                return Err(ModelError::BeyondPositions { tokens: first_position + ids.len(), most }.into());
            }
            hidden = (hidden + table.narrow(0, first, ids.len())?.to_dtype(self.compute)?)?;
        }
        match &self.embedding_norm {
            Some(norm) => norm.forward(&hidden),
            None => Ok(hidden),
        }
    }

    /// Rotated q, k and v of one layer, for rows `[rows, hidden]` of the residual stream whose first
    /// stands at `first_position`.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn project(
        &self,
        layer: usize,
        hidden: &Tensor,
        first_position: usize,
        tables: &RotaryTables,
    ) -> Result<LayerOutput> {
        self.layers[layer].project(&self.spec, hidden, first_position, tables)
    }

    /// The residual stream behind one layer, for some rows and their attention context
    /// `[rows, heads · head_dim]`.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn finish(&self, layer: usize, hidden: &Tensor, context: &Tensor) -> Result<Tensor> {
        self.layers[layer].finish(&self.spec, hidden, context)
    }

    /// Runs one layer over some rows; `attend` is given the rotated q, k and v and returns the context.
    ///
    /// # Errors
    /// A failure of the device, or of `attend`.
    pub fn layer(
        &self,
        layer: usize,
        hidden: &Tensor,
        first_position: usize,
        tables: &RotaryTables,
        attend: impl FnOnce(&LayerOutput) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let context = attend(&self.project(layer, hidden, first_position, tables)?)?;
        self.finish(layer, hidden, &context)
    }

    /// Logits `[rows, vocab]` of some rows of the last layer's residual stream.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        let mut hidden = match &self.final_norm {
            Some(norm) => norm.forward(hidden)?,
            None => hidden.clone(),
        };
        if let Some((_, out)) = &self.projections {
            hidden = out.forward(&hidden)?;
        }
        let mut logits = self.lm_head.forward(&hidden)?;
        if self.spec.logits_divisor != 1.0 {
            logits = (logits / self.spec.logits_divisor)?;
        }
        match self.spec.logits_softcap {
            Some(cap) => Ok(((logits / cap)?.tanh()? * cap)?),
            None => Ok(logits),
        }
    }
}

/// Takes tensors out of a source, in the wanted type, on the wanted device.
struct Loader<'a> {
    source: &'a dyn WeightSource,
    /// What the model has, with its shapes.
    inventory: &'a Inventory,
    placement: &'a Placement,
}

impl Loader<'_> {
    /// A tensor, where the model has it: matrices in the type that they are kept in, norms and biases in the one
    /// that is computed in.
    fn optional(&self, name: &str) -> Result<Option<Tensor>, ModelError> {
        let Some(shape) = self.inventory.get(name) else { return Ok(None) };
        let Placement { compute, device, .. } = self.placement;
        let dtype = if is_matrix(name, shape) { self.placement.matrix_type() } else { *compute };
        // Narrow first: less crosses to the device.
        Ok(Some(self.source.tensor(name, shape)?.to_dtype(dtype)?.to_device(device)?))
    }

    /// A tensor that the model has.
    fn tensor(&self, name: &str) -> Result<Tensor, ModelError> {
        Ok(self.optional(name)?.expect("the inventory lists what its spec needs"))
    }

    /// Several projections of the same input, stacked into one matrix: one large product is
    /// faster than several small ones. Quantised blocks stay apart.
    fn linear(&self, names: &[&str]) -> Result<Linear, ModelError> {
        let biases = names.iter().filter_map(|name| self.optional(&format!("{name}.bias")).transpose());
        let biases = biases.collect::<Result<Vec<_>, _>>()?;
        let bias = if biases.is_empty() { None } else { Some(Tensor::cat(&biases, 0)?) };
        if self.placement.precision == Precision::Stored {
            let parts = names.iter().map(|name| self.stored(&format!("{name}.weight")));
            return Ok(Linear::new(parts.collect::<Result<Vec<_>, _>>()?, bias));
        }
        let weights = names.iter().map(|name| self.tensor(&format!("{name}.weight")));
        Ok(Linear::dense(Tensor::cat(&weights.collect::<Result<Vec<_>, _>>()?, 0)?, bias))
    }

    /// A projection's weight as the file has it, where its products are fast.
    fn stored(&self, name: &str) -> Result<Weight, ModelError> {
        let shape = self.inventory.get(name).expect("the inventory lists what its spec needs");
        match self.source.quantised(name, shape, &self.placement.device)? {
            Some(blocks) => Ok(Weight::quantised(blocks)?),
            None => Ok(Weight::Dense(self.tensor(name)?)),
        }
    }

    /// One projection for each expert, from tensors `[experts, …]`.
    fn experts(&self, name: &str) -> Result<Vec<Linear>, ModelError> {
        let weights = self.tensor(&format!("{name}.weight"))?;
        let biases = self.optional(&format!("{name}.bias"))?;
        let expert = |index: usize| {
            let bias = biases
                .as_ref()
                .map(|biases| biases.get(index)?.to_dtype(self.placement.compute))
                .transpose()?;
            Ok(Linear::dense(weights.get(index)?, bias))
        };
        (0..weights.dim(0)?).map(expert).collect()
    }
}
