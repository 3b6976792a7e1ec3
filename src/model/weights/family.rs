//! A family's safetensors under the inventory's names: renamed, split, transposed, stacked.

use super::layout::{CheckpointLayout, ExpertStore, FusedQkv};
use super::{SafetensorsWeights, WeightSource};
use crate::model::spec::QkNorm;
use crate::model::{ModelError, ModelSpec};
use candle_core::Tensor;

type Result<T> = std::result::Result<T, ModelError>;

/// The weights of one model in its family's layout.
#[derive(Debug)]
pub struct FamilyWeights {
    files: SafetensorsWeights,
    layout: CheckpointLayout,
    spec: ModelSpec,
    /// The prefix that this file uses.
    base: &'static str,
}

impl FamilyWeights {
    /// Reads `files` by the layout of their family.
    #[must_use]
    pub fn new(files: SafetensorsWeights, layout: CheckpointLayout, spec: &ModelSpec) -> Self {
        let mut source = Self { files, layout, spec: spec.clone(), base: layout.bases[0] };
        let has = |base: &&&str| {
            let embedding = source.candidates("embedding");
            embedding.iter().any(|name| source.files.contains(&format!("{base}{name}.weight")))
        };
        if let Some(base) = layout.bases.iter().find(has) {
            source.base = base;
        }
        source
    }

    /// The names that the family gives to a part.
    fn candidates(&self, part: &str) -> Vec<&'static str> {
        let tables = self.layout.names.iter();
        tables
            .filter_map(|table| table.iter().find(|(ours, _)| *ours == part))
            .map(|(_, theirs)| *theirs)
            .collect()
    }

    /// The name in the file of a part, with what stands before and behind it: the first that the file has,
    /// else the one that is expected first.
    fn name(&self, layer: Option<&str>, part: &str, suffix: &str) -> String {
        if part == "lm_head" {
            return format!("{}{suffix}", self.layout.lm_head);
        }
        let before = match layer {
            Some(layer) => format!("{}{}{layer}.", self.base, self.layout.layers),
            None => self.base.to_owned(),
        };
        let names = self.candidates(part).into_iter().map(|theirs| format!("{before}{theirs}{suffix}"));
        let names: Vec<String> = names.collect();
        let present = names.iter().find(|name| self.files.contains(name));
        present.or(names.first()).cloned().unwrap_or_else(|| format!("{before}{part}{suffix}"))
    }

    fn of_layer(&self, layer: &str, name: &str) -> String {
        format!("{}{}{layer}.{name}", self.base, self.layout.layers)
    }

    /// A projection's weight or bias; weights of a transposed layout are turned.
    fn projection(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        match shape {
            &[outputs, inputs] if self.layout.transposed => {
                Ok(self.files.tensor(name, &[inputs, outputs])?.t()?.contiguous()?)
            }
            _ => self.files.tensor(name, shape),
        }
    }

    /// The rows of q, k or v in a fused tensor.
    fn part_of_qkv(
        &self,
        fused: FusedQkv,
        layer: &str,
        part: &str,
        suffix: &str,
        shape: &[usize],
    ) -> Result<Tensor> {
        let ModelSpec { heads, kv_heads, head_dim, .. } = self.spec;
        let (theirs, groups) = match fused {
            FusedQkv::Stacked(name) => (name, 1),
            FusedQkv::PerGroup(name) => (name, kv_heads),
        };
        let name = self.of_layer(layer, &format!("{theirs}{suffix}"));
        let mut fused_shape = shape.to_vec();
        fused_shape[0] = (heads + 2 * kv_heads) * head_dim;
        let fused = self.projection(&name, &fused_shape)?;
        let (q, kv) = (heads / groups * head_dim, kv_heads / groups * head_dim);
        let (start, length) = match part {
            "q_proj" => (0, q),
            "k_proj" => (q, kv),
            _ => (q + kv, kv),
        };
        let grouped = fused.reshape((groups, q + 2 * kv, fused.elem_count() / fused_shape[0]))?;
        Ok(grouped.narrow(1, start, length)?.contiguous()?.reshape(shape)?)
    }

    fn part_of_gate_up(
        &self,
        fused: &str,
        layer: &str,
        part: &str,
        suffix: &str,
        shape: &[usize],
    ) -> Result<Tensor> {
        let mut both = shape.to_vec();
        both[0] *= 2;
        let fused = self.projection(&self.of_layer(layer, &format!("{fused}{suffix}")), &both)?;
        Ok(fused.narrow(0, if part == "up_proj" { shape[0] } else { 0 }, shape[0])?.contiguous()?)
    }

    /// Weights `[experts, outputs, inputs]` or biases `[experts, outputs]` of all experts.
    fn experts(&self, layer: &str, part: &str, suffix: &str, shape: &[usize]) -> Result<Tensor> {
        let is_up = part == "experts.gate_up_proj";
        match self.layout.experts {
            ExpertStore::Each { before, gate, up, down } => {
                let half = |name: &str, shape: &[usize], expert: usize| {
                    self.files
                        .tensor(&self.of_layer(layer, &format!("{before}{expert}.{name}{suffix}")), shape)
                };
                let one = |expert: usize| {
                    let shape = &shape[1..];
                    if !is_up {
                        return half(down, shape, expert);
                    }
                    let mut single = shape.to_vec();
                    single[0] /= 2;
                    Ok(Tensor::cat(&[half(gate, &single, expert)?, half(up, &single, expert)?], 0)?)
                };
                Ok(Tensor::stack(&(0..shape[0]).map(one).collect::<Result<Vec<_>>>()?, 0)?)
            }
            ExpertStore::Interleaved { gate_up, down } => {
                let name = self.of_layer(layer, if is_up { gate_up } else { down });
                let tensor = if suffix == ".bias" {
                    self.files.tensor(&format!("{name}_bias"), shape)?
                } else if self.files.contains(&format!("{name}_blocks")) {
                    self.files.mxfp4(&name, shape)?
                } else {
                    let &[experts, outputs, inputs] = shape else {
                        unreachable!("expert weights have three axes")
                    };
                    self.files.tensor(&name, &[experts, inputs, outputs])?.transpose(1, 2)?.contiguous()?
                };
                if is_up { alternate_to_stacked(&tensor) } else { Ok(tensor) }
            }
            ExpertStore::None => self.files.tensor(&self.of_layer(layer, &format!("{part}{suffix}")), shape),
        }
    }

    /// Each head's own norm weights, `[heads, head_dim]`, from one tensor per head.
    fn norms_of_heads(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let before = name.trim_end_matches(".weight");
        let one = |head: usize| self.files.tensor(&format!("{before}.{head}.weight"), &shape[1..]);
        Ok(Tensor::stack(&(0..shape[0]).map(one).collect::<Result<Vec<_>>>()?, 0)?)
    }
}

/// Rows gate, up, gate, up, … of each expert to all gates, then all ups.
fn alternate_to_stacked(tensor: &Tensor) -> Result<Tensor> {
    let shape = tensor.dims().to_vec();
    let rest: usize = shape[2..].iter().product();
    let pairs = tensor.reshape((shape[0], shape[1] / 2, 2, rest))?;
    Ok(pairs.transpose(1, 2)?.contiguous()?.reshape(shape)?)
}

impl WeightSource for FamilyWeights {
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let (layer, rest) = match name.strip_prefix("layers.").and_then(|rest| rest.split_once('.')) {
            Some((layer, rest)) => (Some(layer), rest),
            None => (None, name),
        };
        let (part, suffix) = match rest.rfind(".weight").or_else(|| rest.rfind(".bias")) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if let Some(layer) = layer {
            match (part, self.layout.fused_qkv, self.layout.fused_gate_up) {
                ("q_proj" | "k_proj" | "v_proj", Some(fused), _) => {
                    return self.part_of_qkv(fused, layer, part, suffix, shape);
                }
                ("gate_proj" | "up_proj", _, Some(fused)) => {
                    return self.part_of_gate_up(fused, layer, part, suffix, shape);
                }
                ("experts.gate_up_proj" | "experts.down_proj", ..) => {
                    return self.experts(layer, part, suffix, shape);
                }
                _ => {}
            }
        }
        let name = self.name(layer, part, suffix);
        match part {
            "q_norm" | "k_norm" if self.spec.qk_norm == QkNorm::PerHeadOwn => {
                self.norms_of_heads(&name, shape)
            }
            _ if part.ends_with("_proj") => self.projection(&name, shape),
            _ => self.files.tensor(&name, shape),
        }
    }

    fn stored_as(&self) -> String {
        self.files.stored_as()
    }
}
