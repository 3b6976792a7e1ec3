//! `sinkscope models info`: what a model is, without its weights.

use super::describe::{Fact, describe, object};
use super::list::pretty;
use super::stored::Stored;
use crate::model::config::{ConfigReading, read_config};
use crate::model::gguf::{GgufHeader, GgufReading, HeaderOnly, Vectors, spec_of_gguf};
use crate::model::source::{Glimpse, GlimpseContent, Locator, ModelChoice, ModelRef};
use crate::model::tokenizer::PromptTokenizer;
use crate::model::weights::GgufFiles;
use crate::model::{ModelError, ModelSpec};
use crate::progress::{CancelToken, Reporter};
use crate::units::format_bytes;
use serde_json::{Value, json};
use std::path::Path;

/// All that is known of a model without its weights.
struct Known {
    spec: ModelSpec,
    /// What the configuration says and is ignored, or leaves out and is assumed.
    warnings: Vec<String>,
    tokenizer: Result<PromptTokenizer, String>,
    stored: Stored,
}

/// The answer as text or JSON.
pub(super) fn text(
    model: &str,
    as_json: bool,
    locator: &Locator,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> crate::Result<String> {
    let glimpse = locator.glimpse(&ModelRef::parse(model), reporter, cancel)?;
    let known = known(&glimpse)?;
    Ok(if as_json { in_json(&glimpse, &known) } else { in_words(&glimpse, &known) })
}

fn known(glimpse: &Glimpse) -> crate::Result<Known> {
    match &glimpse.content {
        GlimpseContent::Whole(path) if path.is_dir() => of_folder(path, Stored::in_folder(path)?),
        GlimpseContent::Whole(path) => {
            let files = GgufFiles::open(path)?;
            let stored = Stored::in_gguf(files.header(), files.bytes());
            of_gguf(files.header(), path, &files, stored)
        }
        GlimpseContent::Folder(folder) => of_folder(folder, Stored::on_hub(glimpse)),
        GlimpseContent::Header(header) => {
            let size_bytes = glimpse.choice.as_ref().map_or(0, ModelChoice::total_bytes);
            let stored = Stored::in_gguf(header, size_bytes);
            of_gguf(header, Path::new(&glimpse.name), &HeaderOnly(header), stored)
        }
    }
}

fn of_folder(folder: &Path, stored: Stored) -> crate::Result<Known> {
    let config = folder.join("config.json");
    if !config.is_file() {
        return Err(ModelError::NoConfig { path: folder.to_owned() }.into());
    }
    let ConfigReading { spec, warnings, .. } = read_config(&config)?;
    Ok(Known {
        spec,
        warnings,
        tokenizer: PromptTokenizer::from_folder(folder).map_err(|error| error.to_string()),
        stored,
    })
}

fn of_gguf(header: &GgufHeader, path: &Path, vectors: &dyn Vectors, stored: Stored) -> crate::Result<Known> {
    let GgufReading { spec, warnings, .. } = spec_of_gguf(header, path, vectors)?;
    Ok(Known {
        spec,
        warnings,
        tokenizer: PromptTokenizer::from_gguf(header, path).map_err(|error| error.to_string()),
        stored,
    })
}

/// The tokenizer's facts; where it can't be used, why.
fn tokenizer_facts(known: &Known) -> Vec<Fact> {
    let tokenizer = match &known.tokenizer {
        Ok(tokenizer) => tokenizer,
        Err(why) => return vec![Fact::new("Tokenizer problem", why.as_str())],
    };
    let token = tokenizer.bos_id().and_then(|id| {
        let sequence = tokenizer.sequence_of_ids(&[id], known.spec.vocab).ok()?;
        Some((id, sequence.tokens.first()?.text()))
    });
    let bos = match &token {
        Some((id, text)) => {
            let put =
                if tokenizer.adds_bos() { "put before plain text" } else { "not put before plain text" };
            let value = json!({ "id": id, "text": text, "added": tokenizer.adds_bos() });
            Fact::new("BOS", value).said(format!("{text} ({id}), {put}"))
        }
        None => Fact::new("BOS", Value::Null).said("none"),
    };
    vec![
        Fact::new("Tokenizer", tokenizer.kind()),
        Fact::new("Tokens", tokenizer.vocab_size()),
        bos,
        Fact::new("Chat template", tokenizer.has_chat_template()),
    ]
}

/// What was assumed, and what does not fit.
fn warnings(known: &Known) -> Vec<String> {
    let mut warnings = known.warnings.clone();
    if let Ok(tokenizer) = &known.tokenizer {
        warnings.extend(tokenizer.assumptions().iter().cloned());
        // That there is no template is no warning; that it is broken is one.
        let broken = tokenizer.template_problem().filter(|_| tokenizer.has_chat_template());
        warnings.extend(broken.map(|error| error.to_string()));
        warnings.extend(tokenizer.check_vocabulary(known.spec.vocab).err().map(|error| error.to_string()));
    }
    warnings
}

fn in_json(glimpse: &Glimpse, known: &Known) -> String {
    let parameters = known.spec.parameters();
    let path = match &glimpse.content {
        GlimpseContent::Whole(path) => Some(path.display().to_string()),
        GlimpseContent::Folder(_) | GlimpseContent::Header(_) => None,
    };
    pretty(&json!({
        "name": glimpse.name,
        "source": glimpse.source,
        "path": path,
        "download_bytes": glimpse.choice.as_ref().map(ModelChoice::missing_bytes),
        "spec": object(&describe(&known.spec)),
        "parameters": parameters,
        "memory_bytes": {
            "f32": parameters.saturating_mul(4),
            "bf16": parameters.saturating_mul(2),
            "f16": parameters.saturating_mul(2),
            "stored": known.stored.bytes,
        },
        "stored_as": known.stored.types,
        "tokenizer": object(&tokenizer_facts(known)),
        "warnings": warnings(known),
    }))
}

fn in_words(glimpse: &Glimpse, known: &Known) -> String {
    let parameters = known.spec.parameters();
    let mut lines = vec![("Model", glimpse.name.clone()), ("Source", glimpse.source.clone())];
    match (&glimpse.content, &glimpse.choice) {
        (GlimpseContent::Whole(path), _) => lines.push(("Path", path.display().to_string())),
        (_, Some(choice)) => {
            lines
                .push(("Download", format!("{}, not on this machine", format_bytes(choice.missing_bytes()))));
        }
        _ => {}
    }
    lines.extend(describe(&known.spec).into_iter().map(|fact| (fact.label, fact.text)));
    lines.push(("Parameters", super::thousands(parameters)));
    lines.push(("Memory as f32", format_bytes(parameters.saturating_mul(4))));
    lines.push(("Memory as bf16, f16", format_bytes(parameters.saturating_mul(2))));
    lines.push(("In the file", known.stored.in_words()));
    lines.extend(tokenizer_facts(known).into_iter().map(|fact| (fact.label, fact.text)));
    lines.extend(warnings(known).into_iter().map(|warning| ("Note", crate::text::one_line(&warning))));
    let width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let lines: Vec<String> = lines.iter().map(|(label, text)| format!("{label:width$}  {text}")).collect();
    lines.join("\n") + "\n"
}
