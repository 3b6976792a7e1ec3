//! The one decoder. An architecture is data ([`ModelSpec`]); attention is the one kernel.

mod fused;
mod layer;
mod rotary;

pub use rotary::{RotaryTables, frequencies};

use super::weights::WeightSource;
use super::{ModelError, ModelSpec};
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use crate::{Error, Result};
use candle_core::{DType, Device, Tensor};
pub use layer::LayerOutput;
use layer::{Layer, Linear};
use rayon::prelude::*;

/// A model's weights, ready to run.
#[derive(Debug)]
pub struct Decoder {
    spec: ModelSpec,
    embedding: Tensor,
    layers: Vec<Layer>,
    final_norm: Tensor,
    lm_head: Linear,
    dtype: DType,
    device: Device,
}

impl Decoder {
    /// Loads all weights. `dtype` is f32 for use and f64 for reference tests.
    ///
    /// # Errors
    /// A tensor is missing or wrong, or the job is cancelled.
    pub fn load(
        spec: &ModelSpec,
        source: &dyn WeightSource,
        dtype: DType,
        device: &Device,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let loader = Loader { source, dtype, device };
        let total = spec.layers as u64 + 2;
        let loaded = std::sync::atomic::AtomicU64::new(0);
        let step = || {
            let done = loaded.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            let stage = "Loading weights".to_owned();
            reporter.progress(Progress { stage, done, total: Some(total), unit: ProgressUnit::Layers });
        };
        let embedding = loader.tensor("model.embed_tokens.weight", &[spec.vocab, spec.hidden])?;
        step();
        // Dequantising runs on one thread per tensor: load the layers side by side.
        let layers = (0..spec.layers).into_par_iter().map(|index| {
            cancel.check()?;
            let layer = Layer::load(spec, index, &loader)?;
            step();
            Ok::<_, Error>(layer)
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        let final_norm = loader.tensor("model.norm.weight", &[spec.hidden])?;
        let lm_head = if spec.tied_embeddings {
            Linear::from_weight(embedding.clone())
        } else {
            Linear::from_weight(loader.tensor("lm_head.weight", &[spec.vocab, spec.hidden])?)
        };
        step();
        Ok(Self { spec: spec.clone(), embedding, layers, final_norm, lm_head, dtype, device: device.clone() })
    }

    /// What the model is.
    #[must_use]
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Type of the weights.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where the weights are.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes that the weights take.
    #[must_use]
    pub fn weight_bytes(&self) -> u64 {
        let tied = if self.spec.tied_embeddings { 0 } else { self.lm_head.elements() };
        let layers: usize = self.layers.iter().map(Layer::elements).sum();
        let elements = self.embedding.elem_count() + self.final_norm.elem_count() + layers + tied;
        elements as u64 * self.dtype.size_in_bytes() as u64
    }

    /// The weights under Hugging Face's names, views into the decoder's own: for comparing with other
    /// implementations.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn named_weights(&self) -> Result<std::collections::HashMap<String, Tensor>> {
        let mut named = std::collections::HashMap::new();
        named.insert("model.embed_tokens.weight".to_owned(), self.embedding.clone());
        named.insert("model.norm.weight".to_owned(), self.final_norm.clone());
        if !self.spec.tied_embeddings {
            named.insert("lm_head.weight".to_owned(), self.lm_head.weight.clone());
        }
        for (index, layer) in self.layers.iter().enumerate() {
            for (part, weight) in layer.named_weights(&self.spec)? {
                named.insert(format!("model.layers.{index}.{part}.weight"), weight);
            }
        }
        Ok(named)
    }

    /// Rotary tables for the positions `0..positions`.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn rotary_tables(&self, positions: usize) -> Result<RotaryTables> {
        RotaryTables::new(&self.spec, positions, self.dtype, &self.device)
    }

    /// The residual stream before the first layer, `[n, hidden]`.
    ///
    /// # Errors
    /// A failure of the device.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        let ids = Tensor::new(ids, &self.device)?;
        Ok(self.embedding.index_select(&ids, 0)?)
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
        let normed = layer::rms_norm(hidden, &self.final_norm, self.spec.norm_eps)?;
        self.lm_head.forward(&normed)
    }
}

/// Takes tensors out of a source, in the wanted type, on the wanted device.
struct Loader<'a> {
    source: &'a dyn WeightSource,
    dtype: DType,
    device: &'a Device,
}

impl Loader<'_> {
    fn tensor(&self, name: &str, shape: &[usize]) -> std::result::Result<Tensor, ModelError> {
        Ok(self.source.tensor(name, shape)?.to_device(self.device)?.to_dtype(self.dtype)?)
    }

    /// Several projections of the same input, stacked into one matrix: one large product is
    /// faster than several small ones.
    fn stacked(
        &self,
        parts: &[(String, usize)],
        inputs: usize,
        bias: bool,
    ) -> std::result::Result<Linear, ModelError> {
        let weights =
            parts.iter().map(|(name, outputs)| self.tensor(&format!("{name}.weight"), &[*outputs, inputs]));
        let weight = Tensor::cat(&weights.collect::<std::result::Result<Vec<_>, _>>()?, 0)?;
        if !bias {
            return Ok(Linear::from_weight(weight));
        }
        let biases = parts.iter().map(|(name, outputs)| self.tensor(&format!("{name}.bias"), &[*outputs]));
        let bias = Tensor::cat(&biases.collect::<std::result::Result<Vec<_>, _>>()?, 0)?;
        Ok(Linear { weight, bias: Some(bias) })
    }
}
