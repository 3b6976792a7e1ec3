//! Safetensors: one file, or the shards that an index names; mapped, never read twice.

use super::mxfp4::{BLOCK, alternating};
use crate::model::ModelError;
use crate::raw::MappedFile;
use candle_core::{DType, Device, Tensor};
use safetensors::{Dtype, SafeTensors};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// `model.safetensors.index.json`: which shard has which tensor.
#[derive(serde::Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The weights of a folder.
#[derive(Debug)]
pub struct SafetensorsWeights {
    folder: PathBuf,
    files: Vec<(PathBuf, MappedFile)>,
    /// Which file has which tensor.
    places: HashMap<String, usize>,
}

impl SafetensorsWeights {
    /// Opens `model.safetensors`, or the shards of `model.safetensors.index.json`.
    ///
    /// # Errors
    /// A file is missing, cut short or no safetensors file.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let mut files = Vec::new();
        let mut places = HashMap::new();
        for path in Self::files_of(folder)? {
            let mapped = MappedFile::open(&path).map_err(|e| ModelError::read(&e, &path))?;
            let tensors = SafeTensors::deserialize(&mapped).map_err(|e| damaged(&why(&e, &mapped), &path))?;
            places.extend(tensors.names().into_iter().map(|name| (name.to_owned(), files.len())));
            files.push((path, mapped));
        }
        Ok(Self { folder: folder.to_owned(), files, places })
    }

    /// The weight files of a folder, the first one first.
    ///
    /// # Errors
    /// There is none, or the index can't be read.
    pub fn files_of(folder: &Path) -> Result<Vec<PathBuf>, ModelError> {
        let single = folder.join("model.safetensors");
        let index = folder.join("model.safetensors.index.json");
        if single.is_file() {
            return Ok(vec![single]);
        }
        if !index.is_file() {
            return Err(ModelError::NoWeights { path: folder.to_owned() });
        }
        let text = std::fs::read(&index).map_err(|e| ModelError::read(&e, &index))?;
        let parsed: Index = serde_json::from_slice(&text).map_err(|e| ModelError::Malformed {
            what: "Safetensors index",
            why: e.to_string(),
            path: index.clone(),
        })?;
        let shards: BTreeSet<String> = parsed.weight_map.into_values().collect();
        if shards.is_empty() || shards.iter().any(|shard| shard.contains(['/', '\\'])) {
            return Err(damaged("the index names no shard, or one outside the folder", &index));
        }
        Ok(shards.into_iter().map(|shard| folder.join(shard)).collect())
    }
}

impl SafetensorsWeights {
    /// The tensor of that name in f32.
    ///
    /// # Errors
    /// It is missing, has another shape, or can't be decoded.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let tensor = self.stored(name, shape)?;
        if !tensor.dtype().is_float() {
            let why = format!("tensor {name} has type {:?}", tensor.dtype());
            return Err(damaged(&why, &self.folder));
        }
        Ok(tensor.to_dtype(DType::F32)?)
    }

    /// MXFP4 weights `[…, inputs]` in f32: `NAME_blocks` `[…, inputs / 32, 16]` and `NAME_scales`
    /// `[…, inputs / 32]`, both bytes.
    ///
    /// # Errors
    /// As [`Self::tensor`].
    pub fn mxfp4(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let (&inputs, outer) = shape.split_last().expect("weights have axes");
        let blocks_of =
            |last: &[usize]| outer.iter().chain(&[inputs / BLOCK]).chain(last).copied().collect::<Vec<_>>();
        let bytes = |suffix: &str, shape: &[usize]| {
            let tensor = self.stored(&format!("{name}{suffix}"), shape)?;
            if tensor.dtype() != DType::U8 {
                return Err(damaged(
                    &format!("tensor {name}{suffix} has type {:?}", tensor.dtype()),
                    &self.folder,
                ));
            }
            Ok(tensor.flatten_all()?.to_vec1::<u8>()?)
        };
        let (packed, scales) =
            (bytes("_blocks", &blocks_of(&[BLOCK / 2]))?, bytes("_scales", &blocks_of(&[]))?);
        let values =
            packed.chunks_exact(BLOCK / 2).zip(scales).flat_map(|(packed, scale)| alternating(packed, scale));
        Ok(Tensor::from_vec(values.collect(), shape, &Device::Cpu)?)
    }

    /// Whether there is a tensor of that name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The tensor of that name in the type that the file has.
    fn stored(&self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let Some(&file) = self.places.get(name) else {
            return Err(ModelError::MissingTensor { name: name.to_owned(), path: self.folder.clone() });
        };
        let (path, mapped) = &self.files[file];
        let tensors = SafeTensors::deserialize(mapped).map_err(|e| damaged(&e.to_string(), path))?;
        let view = tensors.tensor(name).map_err(|e| damaged(&e.to_string(), path))?;
        if view.shape() != shape {
            return Err(ModelError::WrongShape {
                name: name.to_owned(),
                found: view.shape().to_vec(),
                wanted: shape.to_vec(),
                path: path.clone(),
            });
        }
        let dtype = match view.dtype() {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            Dtype::F64 => DType::F64,
            Dtype::U8 => DType::U8,
            other => return Err(damaged(&format!("tensor {name} has type {other:?}"), path)),
        };
        Ok(Tensor::from_raw_buffer(view.data(), dtype, shape, &Device::Cpu)?)
    }

    /// The type that most weights are stored as.
    #[must_use]
    pub fn stored_as(&self) -> String {
        let mut bytes: HashMap<String, usize> = HashMap::new();
        for (_, mapped) in &self.files {
            let tensors = SafeTensors::deserialize(mapped).into_iter();
            for (_, view) in tensors.flat_map(|tensors| tensors.tensors()) {
                *bytes.entry(format!("{:?}", view.dtype())).or_default() += view.data().len();
            }
        }
        bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map_or_else(String::new, |(name, _)| name)
    }
}

/// What is wrong with a file; two things that are often saved in its place are known by their beginning.
fn why(error: &safetensors::SafeTensorError, content: &[u8]) -> String {
    let beginning = content.trim_ascii_start();
    if beginning.starts_with(b"version https://git-lfs") {
        return "it is a Git LFS pointer, not the weights: fetch them with git lfs pull".to_owned();
    }
    if beginning.starts_with(b"<") {
        return "it is a web page, not the weights: download the file itself".to_owned();
    }
    error.to_string()
}

fn damaged(why: &str, path: &Path) -> ModelError {
    ModelError::Malformed { what: "Safetensors file", why: why.to_owned(), path: path.to_owned() }
}
