//! GGUF: tensors of any type that candle knows, dequantised to f32, under Hugging Face's names.

use super::WeightSource;
use crate::model::ModelError;
use crate::model::gguf::{GgufHeader, GgufTensor};
use crate::raw::MappedFile;
use candle_core::quantized::GgmlDType;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::{Device, Tensor};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A mapped GGUF file.
#[derive(Debug)]
pub struct GgufWeights {
    path: PathBuf,
    mapped: MappedFile,
    header: GgufHeader,
    /// Index of each tensor by its GGUF name.
    places: HashMap<String, usize>,
    /// Query and key heads, whose rows llama.cpp interleaves; `None` where it keeps Hugging Face's order.
    interleaved_heads: Option<(usize, usize)>,
}

impl GgufWeights {
    /// Maps the file and reads its header.
    ///
    /// # Errors
    /// It can't be read, or is not a whole GGUF file.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let mapped = MappedFile::open(path).map_err(|e| ModelError::read(&e, path))?;
        let header = GgufHeader::parse(&mapped).map_err(|why| damaged(why, path))?;
        let places = header.tensors.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        let source = Self { path: path.to_owned(), mapped, header, places, interleaved_heads: None };
        for tensor in &source.header.tensors {
            // A type that we don't know has no size to check; it is refused when it is asked for.
            if let Ok(dtype) = ggml_type(tensor.type_id) {
                source.data(tensor, dtype)?;
            }
        }
        Ok(source)
    }

    /// Tells the source that q and k rows are interleaved for these head counts, as llama.cpp's
    /// converter does for the llama family, so that they are put back into Hugging Face's order.
    #[must_use]
    pub fn with_interleaved_heads(mut self, heads: usize, kv_heads: usize) -> Self {
        self.interleaved_heads = Some((heads, kv_heads));
        self
    }

    /// Metadata and tensor list.
    #[must_use]
    pub fn header(&self) -> &GgufHeader {
        &self.header
    }

    /// The divisors of the rotary frequencies, where the file has them.
    ///
    /// # Errors
    /// The tensor can't be decoded.
    pub fn rope_divisors(&self, pairs: usize) -> Result<Option<Vec<f32>>, ModelError> {
        if !self.places.contains_key("rope_freqs.weight") {
            return Ok(None);
        }
        Ok(Some(self.decode("rope_freqs.weight", &[pairs])?.to_vec1()?))
    }

    /// The bytes of a tensor, checked to lie in the file.
    fn data(&self, tensor: &GgufTensor, dtype: GgmlDType) -> Result<&[u8], ModelError> {
        let elements: usize = tensor.shape.iter().product();
        let row = tensor.shape.last().copied().unwrap_or(1);
        if row % dtype.block_size() != 0 {
            let why = format!("tensor {} has rows of {row}, no multiple of its block", tensor.name);
            return Err(damaged(why, &self.path));
        }
        let bytes = elements / dtype.block_size() * dtype.type_size();
        let start = usize::try_from(self.header.data_offset.saturating_add(tensor.offset)).ok();
        let data = start.and_then(|start| self.mapped.get(start..start.checked_add(bytes)?));
        data.ok_or_else(|| {
            let why = format!("cut short: tensor {} lies behind the end of the file", tensor.name);
            damaged(why, &self.path)
        })
    }

    fn decode(&self, gguf_name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let Some(&place) = self.places.get(gguf_name) else {
            return Err(ModelError::MissingTensor { name: gguf_name.to_owned(), path: self.path.clone() });
        };
        let tensor = &self.header.tensors[place];
        if tensor.shape != shape {
            return Err(ModelError::WrongShape {
                name: gguf_name.to_owned(),
                found: tensor.shape.clone(),
                wanted: shape.to_vec(),
                path: self.path.clone(),
            });
        }
        let dtype = ggml_type(tensor.type_id)
            .map_err(|name| damaged(format!("tensor {gguf_name} has type {name}"), &self.path))?;
        let data = self.data(tensor, dtype)?;
        let quantised = qtensor_from_ggml(dtype, data, shape.to_vec(), &Device::Cpu)?;
        Ok(quantised.dequantize(&Device::Cpu)?)
    }
}

impl WeightSource for GgufWeights {
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let tensor = self.decode(&gguf_name(name), shape)?;
        match self.interleaved_heads {
            Some((heads, _)) if name.contains("q_proj") => deinterleave(&tensor, heads),
            Some((_, kv_heads)) if name.contains("k_proj") => deinterleave(&tensor, kv_heads),
            _ => Ok(tensor),
        }
    }

    fn stored_as(&self) -> String {
        let mut elements: HashMap<u32, usize> = HashMap::new();
        for tensor in &self.header.tensors {
            *elements.entry(tensor.type_id).or_default() += tensor.shape.iter().product::<usize>();
        }
        let most = elements.into_iter().max_by_key(|(_, elements)| *elements);
        most.map_or_else(String::new, |(type_id, _)| type_name(type_id))
    }
}

/// llama.cpp's name for one of the inventory.
fn gguf_name(name: &str) -> String {
    const NAMES: [(&str, &str); 12] = [
        ("embedding", "token_embd"),
        ("final_norm", "output_norm"),
        ("lm_head", "output"),
        ("attention_norm", "attn_norm"),
        ("q_proj", "attn_q"),
        ("k_proj", "attn_k"),
        ("v_proj", "attn_v"),
        ("o_proj", "attn_output"),
        ("mlp_norm", "ffn_norm"),
        ("gate_proj", "ffn_gate"),
        ("up_proj", "ffn_up"),
        ("down_proj", "ffn_down"),
    ];
    let mut pieces: Vec<&str> = name.split('.').collect();
    for piece in &mut pieces {
        if let Some((_, theirs)) = NAMES.iter().find(|(ours, _)| ours == piece) {
            *piece = theirs;
        }
    }
    pieces.join(".").replace("layers.", "blk.")
}

/// Undoes llama.cpp's interleaving of the two rotary halves: rows of a head go from
/// `[pair, half]` order back to `[half, pair]`.
fn deinterleave(tensor: &Tensor, heads: usize) -> Result<Tensor, ModelError> {
    let shape = tensor.shape().clone();
    let rows = tensor.dim(0)?;
    let halves = tensor.reshape((heads, rows / heads / 2, 2, tensor.elem_count() / rows))?;
    Ok(halves.transpose(1, 2)?.contiguous()?.reshape(shape)?)
}

/// candle's type for ggml's number, or the name of one that candle lacks.
fn ggml_type(type_id: u32) -> Result<GgmlDType, String> {
    Ok(match type_id {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        9 => GgmlDType::Q8_1,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        15 => GgmlDType::Q8K,
        30 => GgmlDType::BF16,
        _ => {
            return Err(format!(
                "{}, which this version can't read (F32, F16, BF16, Q4_0–Q8_0 and Q2_K–Q6_K are)",
                type_name(type_id)
            ));
        }
    })
}

/// ggml's name of a type.
pub(crate) fn type_name(type_id: u32) -> String {
    const NAMES: [&str; 31] = [
        "F32", "F16", "Q4_0", "Q4_1", "Q4_2", "Q4_3", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K",
        "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",
        "IQ4_XS", "I8", "I16", "I32", "I64", "F64", "IQ1_M", "BF16",
    ];
    match NAMES.get(type_id as usize) {
        Some(name) => (*name).to_owned(),
        None if type_id == 39 => "MXFP4".to_owned(),
        None => format!("number {type_id}"),
    }
}

fn damaged(why: impl Into<String>, path: &Path) -> ModelError {
    ModelError::Malformed { what: "GGUF file", why: why.into(), path: path.to_owned() }
}
