//! How a model's files keep its weights: read from their headers.

use crate::model::ModelError;
use crate::model::gguf::GgufHeader;
use crate::model::source::{Glimpse, ModelFormat};
use crate::model::weights::{SafetensorsWeights, type_name};
use crate::units::format_bytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The format's own limit of a header.
const LONGEST_HEADER_BYTES: u64 = 100 << 20;

/// The weights as they are stored.
pub(super) struct Stored {
    /// Bytes of the tensors.
    pub(super) bytes: u64,
    /// Number of weights of each type, as far as it is known.
    pub(super) types: BTreeMap<String, u64>,
}

impl Stored {
    /// Reads the headers of a folder's safetensors files.
    pub(super) fn in_folder(folder: &Path) -> Result<Self, ModelError> {
        let mut stored = Self { bytes: 0, types: BTreeMap::new() };
        for path in SafetensorsWeights::files_of(folder)? {
            stored.add_safetensors(&path).map_err(|why| ModelError::Malformed {
                what: "Safetensors file",
                why,
                path: path.clone(),
            })?;
        }
        Ok(stored)
    }

    fn add_safetensors(&mut self, path: &Path) -> Result<(), String> {
        #[derive(serde::Deserialize)]
        struct Tensor {
            dtype: String,
            shape: Vec<u64>,
            data_offsets: [u64; 2],
        }
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| "it is shorter than its header".to_owned())?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER_BYTES {
            return Err(format!("claims a header of {length} bytes"));
        }
        let mut header = Vec::new();
        file.take(length).read_to_end(&mut header).map_err(|error| error.to_string())?;
        let mut tensors: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&header).map_err(|error| format!("its header: {error}"))?;
        tensors.remove("__metadata__");
        for (name, tensor) in tensors {
            let tensor: Tensor =
                serde_json::from_value(tensor).map_err(|error| format!("{name}: {error}"))?;
            let elements = tensor.shape.iter().fold(1_u64, |all, &side| all.saturating_mul(side));
            *self.types.entry(tensor.dtype).or_default() += elements;
            self.bytes += tensor.data_offsets[1].saturating_sub(tensor.data_offsets[0]);
        }
        Ok(())
    }

    /// From the header of a GGUF file of so many bytes.
    pub(super) fn in_gguf(header: &GgufHeader, file_bytes: u64) -> Self {
        let mut types: BTreeMap<String, u64> = BTreeMap::new();
        for tensor in &header.tensors {
            *types.entry(type_name(tensor.type_id)).or_default() +=
                tensor.shape.iter().product::<usize>() as u64;
        }
        Self { bytes: file_bytes.saturating_sub(header.data_offset), types }
    }

    /// As the Hub lists it.
    pub(super) fn on_hub(glimpse: &Glimpse) -> Self {
        let choice = glimpse.choice.as_ref().filter(|choice| choice.format == ModelFormat::Safetensors);
        let files = choice.into_iter().flat_map(|choice| &choice.files);
        let weights = files.filter(|file| file.path.ends_with(".safetensors"));
        Self {
            bytes: weights.filter_map(|file| file.size_bytes).fold(0, u64::saturating_add),
            types: glimpse.parameters.clone(),
        }
    }

    /// For example `94 MiB (Q4_1 100%)`.
    pub(super) fn in_words(&self) -> String {
        let all: u64 = self.types.values().fold(0, |sum, &count| sum.saturating_add(count));
        let mut types: Vec<(&String, &u64)> = self.types.iter().collect();
        types.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let share = |count: u64| match 100.0 * count as f64 / all.max(1) as f64 {
            percent if percent < 1.0 => "under 1%".to_owned(),
            percent => format!("{percent:.0}%"),
        };
        let said: Vec<String> =
            types.iter().map(|(name, count)| format!("{name} {}", share(**count))).collect();
        match said.as_slice() {
            [] => format_bytes(self.bytes),
            several => format!("{} ({})", format_bytes(self.bytes), several.join(", ")),
        }
    }
}
