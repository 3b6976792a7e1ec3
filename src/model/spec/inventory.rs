//! The tensors that a spec asks for, under our own names: what is loaded, and what is counted.

use super::{BlockKind, ModelSpec, QkNorm};
use std::collections::BTreeMap;

/// Shape of each tensor by its name.
///
/// Names are `embedding.weight`, `lm_head.weight`, `layers.3.q_proj.weight` and so on for every family; sources translate
/// from the names that their files use. A projection's weight is `[outputs, inputs]`.
pub type Inventory = BTreeMap<String, Vec<usize>>;

/// All tensors of a model.
#[must_use]
pub fn inventory(spec: &ModelSpec) -> Inventory {
    let mut list = List { spec, tensors: Inventory::new() };
    list.around_layers();
    for layer in 0..spec.layers {
        list.layer(layer);
    }
    list.tensors
}

struct List<'a> {
    spec: &'a ModelSpec,
    tensors: Inventory,
}

impl List<'_> {
    fn tensor(&mut self, name: String, shape: &[usize]) {
        self.tensors.insert(name, shape.to_vec());
    }

    fn projection(&mut self, name: &str, outputs: usize, inputs: usize, bias: bool) {
        self.tensor(format!("{name}.weight"), &[outputs, inputs]);
        if bias {
            self.tensor(format!("{name}.bias"), &[outputs]);
        }
    }

    fn norm(&mut self, name: &str, width: usize) {
        if self.spec.norm.has_weight {
            self.tensor(format!("{name}.weight"), &[width]);
        }
        if self.spec.norm.has_bias {
            self.tensor(format!("{name}.bias"), &[width]);
        }
    }

    fn around_layers(&mut self) {
        let ModelSpec { vocab, hidden, embedding_width, .. } = *self.spec;
        self.tensor("embedding.weight".to_owned(), &[vocab, embedding_width]);
        if let Some(positions) = self.spec.learned_positions {
            self.tensor("position_embedding.weight".to_owned(), &[positions.rows, hidden]);
        }
        if embedding_width != hidden {
            self.projection("project_in", hidden, embedding_width, false);
            self.projection("project_out", embedding_width, hidden, false);
        }
        if self.spec.embedding_norm {
            self.norm("embedding_norm", hidden);
        }
        if self.spec.final_norm {
            self.norm("final_norm", hidden);
        }
        if !self.spec.tied_embeddings {
            self.tensor("lm_head.weight".to_owned(), &[vocab, embedding_width]);
        }
        if self.spec.lm_head_bias {
            self.tensor("lm_head.bias".to_owned(), &[vocab]);
        }
    }

    fn layer(&mut self, layer: usize) {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let spec = self.spec;
        let ModelSpec { hidden, heads, kv_heads, head_dim, .. } = *spec;
        let (q, kv) = (heads * head_dim, kv_heads * head_dim);
        let block: BlockKind = spec.block;
        for (part, present) in [
            ("attention_norm", block.has_attention_norm()),
            ("mlp_norm", block.has_mlp_norm()),
            ("attention_output_norm", block.has_output_norms()),
            ("mlp_output_norm", block.has_output_norms()),
        ] {
            if present {
                self.norm(&name(part), hidden);
            }
        }
        for (part, outputs) in [("q_proj", q), ("k_proj", kv), ("v_proj", kv)] {
            self.projection(&name(part), outputs, hidden, spec.qkv_bias);
        }
        self.projection(&name("o_proj"), hidden, q, spec.output_bias);
        for (part, part_heads) in [("q_norm", heads), ("k_norm", kv_heads)] {
            match spec.qk_norm {
                QkNorm::None => {}
                QkNorm::PerHead => self.norm(&name(part), head_dim),
                QkNorm::AllHeads => self.norm(&name(part), part_heads * head_dim),
                QkNorm::PerHeadOwn => self.tensor(name(part) + ".weight", &[part_heads, head_dim]),
            }
        }
        if spec.attention_sinks {
            self.tensor(name("sinks"), &[heads]);
        }
        self.mlp(layer);
    }

    fn mlp(&mut self, layer: usize) {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let spec = self.spec;
        let hidden = spec.hidden;
        if let Some(moe) = spec.moe.as_ref().filter(|moe| moe.layers[layer]) {
            self.projection(&name("router"), moe.experts, hidden, moe.bias);
            for (part, outputs, inputs) in
                [("experts.gate_up_proj", 2 * moe.hidden, hidden), ("experts.down_proj", hidden, moe.hidden)]
            {
                self.tensor(name(part) + ".weight", &[moe.experts, outputs, inputs]);
                if moe.bias {
                    self.tensor(name(part) + ".bias", &[moe.experts, outputs]);
                }
            }
            return;
        }
        if spec.gated_mlp {
            self.projection(&name("gate_proj"), spec.mlp_hidden, hidden, spec.mlp_bias);
        }
        self.projection(&name("up_proj"), spec.mlp_hidden, hidden, spec.mlp_bias);
        self.projection(&name("down_proj"), hidden, spec.mlp_hidden, spec.mlp_bias);
    }
}
