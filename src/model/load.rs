//! From a model's files to a model that runs.

use super::config::{ConfigReading, read_config};
use super::decoder::Decoder;
use super::gguf::{GgufReading, spec_of_gguf};
use super::placement::{
    Placement, Precision, PrecisionError, PrecisionPlan, available_device_bytes, device_name, open_device,
    plan_precision,
};
use super::source::LocatedModel;
use super::spec::inventory;
use super::tokenizer::PromptTokenizer;
use super::weights::{FamilyWeights, GgufFiles, SafetensorsWeights, WeightSource};
use super::{LoadOptions, ModelError, ModelInfo, ModelSpec};
use crate::Result;
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use crate::raw::MappedFile;
use crate::units::{format_bytes, format_bytes_needed};
use candle_core::{DType, Device};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A model that can be run.
#[derive(Debug)]
pub struct LoadedModel {
    /// What it is.
    pub info: Arc<ModelInfo>,
    /// Its weights.
    pub decoder: Decoder,
    /// Its tokenizer and chat template.
    pub tokenizer: PromptTokenizer,
}

/// Loads a located model.
///
/// # Errors
/// A file is missing, damaged, of an unknown kind, or would not fit into memory; or the job is cancelled.
pub fn load_model(
    located: &LocatedModel,
    options: LoadOptions,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> Result<LoadedModel> {
    let start = Instant::now();
    let path = located.path.as_path();
    let files = if path.is_dir() { open_folder(path)? } else { open_gguf(path)? };
    let Files { spec, warnings, source, tokenizer, first_file } = files;
    tokenizer.check_vocabulary(spec.vocab)?;
    let (device, no_device) = open_device(options.device);
    let plan = plan(&spec, &*source, &device, options.precision, path)?;
    for notice in no_device.iter().chain([&format!(
        "Weights as {} on {}, {}: {}",
        plan.precision.name(),
        device_name(&device),
        format_bytes(plan.bytes),
        plan.reason
    )]) {
        reporter.notice(notice);
    }
    let placement = Placement { compute: DType::F32, precision: plan.precision, device };
    let decoder = Decoder::load(&spec, &*source, &placement, reporter, cancel)?;
    let sha256 = match &located.sha256 {
        Some(known) => known.clone(),
        None => hash_file(&first_file, reporter, cancel)?,
    };
    let info = ModelInfo {
        name: located.name.clone(),
        parameters: spec.parameters(),
        dtype: plan.precision.name().to_owned(),
        dtype_reason: plan.reason,
        stored_as: source.stored_as(),
        device: device_name(&placement.device),
        source: located.source.clone(),
        sha256,
        weight_bytes: decoder.weight_bytes(),
        has_chat_template: tokenizer.has_chat_template(),
        load_ms: start.elapsed().as_secs_f64() * 1e3,
        warnings: warnings
            .into_iter()
            .chain(tokenizer.assumptions().iter().cloned())
            .chain(no_device)
            .collect(),
        spec,
    };
    Ok(LoadedModel { info: Arc::new(info), decoder, tokenizer })
}

/// A model's files, opened and understood but for the weights.
struct Files {
    spec: ModelSpec,
    /// What the configuration says and was ignored, or did not say and was assumed.
    warnings: Vec<String>,
    source: Box<dyn WeightSource>,
    tokenizer: PromptTokenizer,
    first_file: std::path::PathBuf,
}

fn open_folder(folder: &Path) -> Result<Files> {
    let config = folder.join("config.json");
    if !config.is_file() {
        return Err(ModelError::NoConfig { path: folder.to_owned() }.into());
    }
    let ConfigReading { spec, layout, warnings } = read_config(&config)?;
    let first_file = SafetensorsWeights::files_of(folder)?.swap_remove(0);
    let source = Box::new(FamilyWeights::new(SafetensorsWeights::open(folder)?, layout, &spec));
    let tokenizer = PromptTokenizer::from_folder(folder)?;
    Ok(Files { spec, warnings, source, tokenizer, first_file })
}

fn open_gguf(path: &Path) -> Result<Files> {
    let files = GgufFiles::open(path)?;
    let GgufReading { spec, layout, mut warnings } = spec_of_gguf(files.header(), path, &files)?;
    let tokenizer = PromptTokenizer::from_gguf(files.header(), path)?;
    let first_file = files.first_path().to_owned();
    let source = Box::new(files.weights(&spec, layout)?);
    warnings.extend(source.unused());
    Ok(Files { spec, warnings, source, tokenizer, first_file })
}

/// The precision that the weights are kept in.
fn plan(
    spec: &ModelSpec,
    source: &dyn WeightSource,
    device: &Device,
    wanted: Option<Precision>,
    path: &Path,
) -> Result<PrecisionPlan, ModelError> {
    let half = if source.stored_as() == "BF16" { Precision::Bf16 } else { Precision::F16 };
    let stored = source.quantised_bytes(&inventory(spec));
    let available = available_device_bytes(device);
    plan_precision(spec, half, stored, available, wanted).map_err(|error| match error {
        PrecisionError::NothingStored => ModelError::NothingStored { path: path.to_owned() },
        PrecisionError::TooLarge { precision, needed, available } => ModelError::OutOfMemory {
            precision: precision.name(),
            needed: format_bytes_needed(needed),
            available: format_bytes(available),
            path: path.to_owned(),
        },
    })
}

/// sha256 of a file, hex.
fn hash_file(path: &Path, reporter: &dyn Reporter, cancel: &CancelToken) -> Result<String> {
    const CHUNK_BYTES: usize = 16 << 20;
    let mapped = MappedFile::open(path).map_err(|e| ModelError::read(&e, path))?;
    let mut hasher = Sha256::new();
    let total = mapped.len() as u64;
    for (index, chunk) in mapped.chunks(CHUNK_BYTES).enumerate() {
        cancel.check()?;
        hasher.update(chunk);
        let done = (index * CHUNK_BYTES + chunk.len()) as u64;
        let stage = "Hashing the weights".to_owned();
        reporter.progress(Progress { stage, done, total: Some(total), unit: ProgressUnit::Bytes });
    }
    let digest = hasher.finalize();
    Ok(digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")))
}
