//! GGUF tensors under the inventory's names: renamed, cut out of fused ones, stacked, in Hugging Face's order.

use super::WeightSource;
use super::ggml::type_name;
use super::gguf_file::GgufFile;
use super::gguf_layout::{GgufLayout, Names, USUAL_NAMES};
use crate::model::gguf::{GgufHeader, Vectors};
use crate::model::spec::{Inventory, elements, inventory, is_matrix};
use crate::model::{ModelError, ModelSpec};
use candle_core::quantized::QTensor;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::{Device, Tensor};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

type Result<T> = std::result::Result<T, ModelError>;

/// A GGUF file or all parts of a split one, mapped.
#[derive(Debug)]
pub struct GgufFiles(GgufFile);

/// The weights of a model in GGUF.
#[derive(Debug)]
pub struct GgufWeights {
    file: GgufFile,
    layout: GgufLayout,
    spec: ModelSpec,
}

impl GgufFiles {
    /// Maps the file and reads its header; of a split model any part opens all.
    ///
    /// # Errors
    /// A file can't be read, is missing, or is not a whole GGUF file.
    pub fn open(path: &Path) -> Result<Self> {
        GgufFile::open(path).map(Self)
    }

    /// Metadata and tensor list.
    #[must_use]
    pub fn header(&self) -> &GgufHeader {
        self.0.header()
    }

    /// The file that has the metadata: the first part of a split model.
    #[must_use]
    pub fn first_path(&self) -> &Path {
        self.0.path()
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// The weights of the model that the header describes, every shape compared with it.
    ///
    /// # Errors
    /// A tensor is missing or has another shape.
    pub fn weights(self, spec: &ModelSpec, layout: GgufLayout) -> Result<GgufWeights> {
        let weights = GgufWeights { file: self.0, layout, spec: spec.clone() };
        for (name, shape) in inventory(spec) {
            weights.pieces(&name, &shape)?;
        }
        Ok(weights)
    }
}

impl Vectors for GgufFiles {
    fn read(&self, name: &str, length: usize) -> std::result::Result<Option<Vec<f32>>, String> {
        let Some(tensor) = self.0.find(name) else { return Ok(None) };
        if tensor.shape != [length] {
            return Err(format!("tensor {name} has shape {:?}, [{length}] is expected", tensor.shape));
        }
        let decoded = self.0.elements(name, 0..length).map_err(|error| error.to_string())?;
        let values = decoded.0.decode(decoded.1, &[length]).and_then(|tensor| tensor.to_vec1());
        values.map(Some).map_err(|error| error.to_string())
    }
}

/// Some consecutive elements of a tensor of the file, and the shape to give them.
struct Piece {
    name: String,
    elements: Range<usize>,
    shape: Vec<usize>,
}

impl GgufWeights {
    /// A line that names a tensor which nothing reads, if there is one: the file then says more than its keys do.
    #[must_use]
    pub fn unused(&self) -> Option<String> {
        let inventory = inventory(&self.spec);
        let pieces = inventory.iter().filter_map(|(name, shape)| self.pieces(name, shape).ok());
        let used: HashSet<String> = pieces.flatten().map(|piece| piece.name).collect();
        let names = self.file.header().tensors.iter().map(|tensor| tensor.name.as_str());
        let unused: Vec<_> =
            names.filter(|name| !used.contains(*name) && !name.starts_with("rope_f")).collect();
        let first = unused.first()?;
        Some(format!("{} of the file's tensors are not used, the first is {first}", unused.len()))
    }

    /// What a tensor of the inventory consists of, joined along its first axis (for experts: within each expert).
    fn pieces(&self, name: &str, shape: &[usize]) -> Result<Vec<Piece>> {
        let (layer, part, suffix) = split(name);
        let theirs = |part: &str| match layer {
            Some(layer) => format!("blk.{layer}.{part}{suffix}"),
            None => format!("{part}{suffix}"),
        };
        match part {
            "q_proj" | "k_proj" | "v_proj" if !self.has(&theirs(self.name_of(layer, part))) => {
                let ModelSpec { heads, kv_heads, head_dim, .. } = self.spec;
                let start = match part {
                    "q_proj" => 0,
                    "k_proj" => heads,
                    _ => heads + kv_heads,
                };
                let rows = (heads + 2 * kv_heads) * head_dim;
                Ok(vec![self.rows(theirs("attn_qkv"), shape, rows, start * head_dim)?])
            }
            "gate_proj" | "up_proj" if self.layout.gate_in_up && !self.has(&theirs("ffn_gate")) => {
                let start = if part == "gate_proj" { 0 } else { shape[0] };
                Ok(vec![self.rows(theirs("ffn_up"), shape, 2 * shape[0], start)?])
            }
            "experts.gate_up_proj" if !self.has(&theirs("ffn_gate_up_exps")) => {
                let mut half = shape.to_vec();
                half[1] /= 2;
                let mut pieces = self.experts(layer, "ffn_gate", suffix, &half)?;
                pieces.extend(self.experts(layer, "ffn_up", suffix, &half)?);
                Ok(pieces)
            }
            "experts.down_proj" => self.experts(layer, "ffn_down", suffix, shape),
            _ => {
                let name = theirs(self.name_of(layer, part));
                Ok(vec![self.rows(name, shape, shape.first().copied().unwrap_or(1), 0)?])
            }
        }
    }

    /// Heads whose rows are interleaved in that part.
    fn interleaved_heads(&self, part: &str) -> Option<usize> {
        match part {
            "q_proj" if self.layout.interleaved => Some(self.spec.heads),
            "k_proj" if self.layout.interleaved => Some(self.spec.kv_heads),
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.file.find(name).is_some()
    }

    /// The name of a part: the family's own where the file has it, else the usual one.
    fn name_of<'a>(&self, layer: Option<&str>, part: &'a str) -> &'a str {
        let has = |name: &str| match layer {
            Some(layer) => self.has(&format!("blk.{layer}.{name}.weight")),
            None => self.has(&format!("{name}.weight")),
        };
        let named = |names: Names| names.iter().find(|(ours, _)| *ours == part).map(|(_, theirs)| *theirs);
        named(self.layout.names).filter(|name| has(name)).or_else(|| named(USUAL_NAMES)).unwrap_or(part)
    }

    /// The experts of one projection: one tensor for all, or (in old files) one for each.
    fn experts(&self, layer: Option<&str>, part: &str, suffix: &str, shape: &[usize]) -> Result<Vec<Piece>> {
        let layer = layer.unwrap_or_default();
        let together = format!("blk.{layer}.{part}_exps{suffix}");
        let alone = |expert: usize| format!("blk.{layer}.{part}.{expert}{suffix}");
        if self.has(&together) || !self.has(&alone(0)) {
            return Ok(vec![self.rows(together, shape, shape[0], 0)?]);
        }
        let of_one = &shape[1..];
        (0..shape[0]).map(|expert| self.rows(alone(expert), of_one, of_one[0], 0)).collect()
    }

    /// `shape` from row `start` on of the tensor that has `rows` rows in all.
    fn rows(&self, name: String, shape: &[usize], rows: usize, start: usize) -> Result<Piece> {
        let path = self.file.path();
        let Some(tensor) = self.file.find(&name) else {
            return Err(ModelError::MissingTensor { name, path: path.to_owned() });
        };
        let mut whole = shape.to_vec();
        if let Some(first) = whole.first_mut() {
            *first = rows;
        }
        if tensor.shape != whole {
            let found = tensor.shape.clone();
            return Err(ModelError::WrongShape { name, found, wanted: whole, path: path.to_owned() });
        }
        let row: usize = shape.iter().skip(1).product();
        let elements = start * row..start * row + shape.iter().product::<usize>();
        let piece = Piece { name, elements, shape: shape.to_vec() };
        // Also asks whether the type is known.
        self.file.elements(&piece.name, piece.elements.clone())?;
        Ok(piece)
    }

    fn decode(&self, piece: &Piece) -> Result<Tensor> {
        let (encoding, data) = self.file.elements(&piece.name, piece.elements.clone())?;
        Ok(encoding.decode(data, &piece.shape)?)
    }
}

impl WeightSource for GgufWeights {
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let pieces = self.pieces(name, shape)?;
        let mut tensors = pieces.iter().map(|piece| self.decode(piece)).collect::<Result<Vec<_>>>()?;
        let (_, part, _) = split(name);
        if part.starts_with("experts.") && tensors[0].rank() < shape.len() {
            let stacks = tensors.chunks(shape[0]).map(|experts| Tensor::stack(experts, 0));
            tensors = stacks.collect::<candle_core::Result<_>>()?;
        }
        let tensor = if tensors.len() == 1 { tensors.swap_remove(0) } else { Tensor::cat(&tensors, 1)? };
        match self.interleaved_heads(part) {
            Some(heads) => deinterleave(&tensor, heads),
            None => Ok(tensor),
        }
    }

    fn quantised(&self, name: &str, shape: &[usize], device: &Device) -> Result<Option<QTensor>> {
        let pieces = self.pieces(name, shape)?;
        let ([piece], &[rows, _]) = (pieces.as_slice(), shape) else { return Ok(None) };
        let (encoding, data) = self.file.elements(&piece.name, piece.elements.clone())?;
        let Some(dtype) = encoding.fast_product() else { return Ok(None) };
        let blocks = |data: &[u8]| Ok(Some(qtensor_from_ggml(dtype, data, shape.to_vec(), device)?));
        match self.interleaved_heads(split(name).1) {
            Some(heads) => {
                // candle reads blocks in place, so they must begin where a number may.
                let mut buffer = vec![0; data.len() + size_of::<u64>()];
                let start = buffer.as_ptr().align_offset(size_of::<u64>());
                let buffer = &mut buffer[start..start + data.len()];
                deinterleave_rows(data, buffer, rows, heads);
                blocks(buffer)
            }
            None => blocks(data),
        }
    }

    fn quantised_bytes(&self, inventory: &Inventory) -> Option<u64> {
        let mut any = false;
        let bytes_of = |(name, shape): (&String, &Vec<usize>)| {
            let is_projection =
                name.ends_with("_proj.weight") || name.ends_with("router.weight") || name == "lm_head.weight";
            let pieces = if is_projection && shape.len() == 2 {
                self.pieces(name, shape).unwrap_or_default()
            } else {
                Vec::new()
            };
            let stored =
                pieces.first().and_then(|piece| self.file.elements(&piece.name, piece.elements.clone()).ok());
            match stored.filter(|(encoding, _)| encoding.fast_product().is_some()) {
                Some((_, data)) => {
                    any = true;
                    data.len() as u64
                }
                // As the decoder keeps the rest: matrices as f16, the others as f32.
                None => elements(shape) * if is_matrix(name, shape) { 2 } else { 4 },
            }
        };
        let total = inventory.iter().map(bytes_of).sum();
        any.then_some(total)
    }

    fn stored_as(&self) -> String {
        let mut elements: HashMap<u32, usize> = HashMap::new();
        for tensor in &self.file.header().tensors {
            *elements.entry(tensor.type_id).or_default() += tensor.shape.iter().product::<usize>();
        }
        let most = elements.into_iter().max_by_key(|(_, elements)| *elements);
        most.map_or_else(String::new, |(type_id, _)| type_name(type_id))
    }
}

/// `layers.3.q_proj.weight` to the layer, the part and the suffix with its dot.
fn split(name: &str) -> (Option<&str>, &str, &str) {
    let (layer, rest) = match name.strip_prefix("layers.").and_then(|rest| rest.split_once('.')) {
        Some((layer, rest)) => (Some(layer), rest),
        None => (None, name),
    };
    match rest.strip_suffix(".weight").or_else(|| rest.strip_suffix(".bias")) {
        Some(part) => (layer, part, &rest[part.len()..]),
        None => (layer, rest, ""),
    }
}

/// The same as [`deinterleave`] for rows of bytes.
fn deinterleave_rows(data: &[u8], out: &mut [u8], rows: usize, heads: usize) {
    let (row, head) = (data.len() / rows, rows / heads);
    for (index, out) in out.chunks_exact_mut(row).enumerate() {
        let (head_start, within) = (index / head * head, index % head);
        let (half, pair) = (within / (head / 2), within % (head / 2));
        out.copy_from_slice(&data[(head_start + 2 * pair + half) * row..][..row]);
    }
}

/// Undoes llama.cpp's interleaving of the two rotary halves: rows of a head go from `[pair, half]` order back to
/// `[half, pair]`.
fn deinterleave(tensor: &Tensor, heads: usize) -> Result<Tensor> {
    let shape = tensor.shape().clone();
    let rows = tensor.dim(0)?;
    let halves = tensor.reshape((heads, rows / heads / 2, 2, tensor.elem_count() / rows))?;
    Ok(halves.transpose(1, 2)?.contiguous()?.reshape(shape)?)
}
