//! Writing: member after member, each hashed on its way, the manifest last.

use super::arrays::{NLL, Value, fields, npy_bytes, run_members, score_members};
use super::manifest::{FORMAT, MANIFEST, Manifest, Member, hex};
use super::rounding::rounded;
use super::texts::{self, EvictionText, ModelText, PromptText, RunText, TokensText};
use super::{FORMAT_VERSION, Kept, Session, SessionError};
use crate::capture::Capture;
use crate::eviction::{EvictionRun, Retention};
use crate::export::{NpyType, npy_header, write_atomically};
use half::f16;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufWriter, Error, Seek, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Values that are turned into bytes at a time.
const CHUNK_VALUES: usize = 1 << 16;
/// A member from this size on needs zip's 64-bit fields.
const LARGE_BYTES: u64 = u32::MAX as u64;

/// Bytes that a session's file will have, to within the texts.
#[must_use]
pub fn predicted_bytes(capture: &Capture, kept: Kept) -> u64 {
    let fields = fields(&capture.model.spec, capture.len());
    let pattern_type = if kept == Kept::F16 { NpyType::F16 } else { NpyType::F32 };
    let layer: u64 = fields
        .iter()
        .filter(|field| kept != Kept::Statistics || !field.is_pattern)
        .filter_map(|field| field.bytes(if field.is_pattern { pattern_type } else { NpyType::F32 }))
        .sum();
    let nll = npy_bytes(NpyType::F32, &[capture.nll_nats.len()]).unwrap_or(0);
    // Ids, texts and origins take about this in JSON.
    layer * capture.layers.len() as u64 + nll + 64 * capture.len() as u64
}

/// Saves a session so that at no moment a half-written file lies at its path. A capture without patterns is
/// saved without them, whatever `kept` says.
///
/// # Errors
/// The file can't be written, or a value does not fit f16.
pub fn write_session(session: &Session, kept: Kept, path: &Path) -> Result<(), SessionError> {
    let kept = if session.capture.has_patterns() { kept } else { Kept::Statistics };
    let narrowed = if kept == Kept::F16 { Some(rounded(&session.capture)?) } else { None };
    let capture = narrowed.as_ref().unwrap_or(&session.capture);
    write_atomically(path, |file| {
        let mut archive = Archive::new(BufWriter::with_capacity(1 << 20, file.as_file_mut()));
        archive.session(session, capture, kept)?;
        archive.finish(kept)
    })?;
    Ok(())
}

/// An archive that grows.
struct Archive<W: Write + Seek> {
    zip: ZipWriter<W>,
    members: BTreeMap<String, Member>,
}

impl<W: Write + Seek> Archive<W> {
    fn new(out: W) -> Self {
        Self { zip: ZipWriter::new(out), members: BTreeMap::new() }
    }

    fn session(&mut self, session: &Session, capture: &Capture, kept: Kept) -> Result<(), Error> {
        let info = (*capture.model).clone();
        self.json(texts::MODEL, &ModelText { reference: session.model.clone(), info })?;
        self.json(texts::PROMPT, &PromptText { bos: session.bos, prompt: (&session.prompt).into() })?;
        self.json(texts::TOKENS, &TokensText::from(&*capture.tokens))?;
        self.json(texts::RUN, &RunText::of(&capture.checks, capture.prefill_ms))?;
        self.evictions(session, capture)?;
        self.json(texts::VIEW, &session.view)?;
        self.array(NLL, &[capture.len().saturating_sub(1)], &capture.nll_nats)?;
        self.layers(capture, kept)
    }

    fn layers(&mut self, capture: &Capture, kept: Kept) -> Result<(), Error> {
        let fields = fields(&capture.model.spec, capture.len());
        for (index, layer) in capture.layers.iter().enumerate() {
            for field in &fields {
                let (name, values) = (field.member(index), (field.of)(layer));
                match kept {
                    Kept::Statistics if field.is_pattern => {}
                    Kept::F16 if field.is_pattern => {
                        let halves: Vec<f16> = values.iter().map(|&value| f16::from_f32(value)).collect();
                        self.array(&name, &field.shape, &halves)?;
                    }
                    _ => self.array(&name, &field.shape, values)?,
                }
            }
            let [score, slopes, sinks] = score_members(index);
            // A layer without a soft-cap says NaN.
            self.array(&score, &[2], &[layer.score.scale, layer.score.softcap.unwrap_or(f64::NAN)])?;
            for (name, values) in [(slopes, &layer.score.alibi_slopes), (sinks, &layer.score.sink_logits)] {
                if let Some(values) = values {
                    self.array(&name, &[values.len()], values)?;
                }
            }
        }
        Ok(())
    }

    fn evictions(&mut self, session: &Session, capture: &Capture) -> Result<(), Error> {
        let text = |run: &EvictionRun| EvictionText {
            case: run.case.clone(),
            pins: run.pins.tokens.iter().copied().collect(),
            scored_from: run.pins.scored_from,
            first_differing_row: run.first_differing_row,
            wall_ms: run.wall_ms,
        };
        let texts: Vec<EvictionText> = session.runs.iter().map(|run| text(run)).collect();
        self.json(texts::EVICTIONS, &texts)?;
        for (index, run) in session.runs.iter().enumerate() {
            let [nll, evicted_at] = run_members(index);
            self.array(&nll, &[capture.len().saturating_sub(1)], &run.nll_nats)?;
            // Where positions decided, the case says it all.
            if let Retention::PerHead(layers) = &run.retention {
                let spec = &capture.model.spec;
                let steps: Vec<u32> = layers.iter().flatten().flatten().copied().collect();
                self.array(&evicted_at, &[spec.layers, spec.kv_heads, capture.len()], &steps)?;
            }
        }
        Ok(())
    }

    fn json(&mut self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(value)?;
        self.member(name, text.len() as u64, |out| out.write_all(&text))
    }

    fn array<T: Value>(&mut self, name: &str, shape: &[usize], values: &[T]) -> Result<(), Error> {
        if shape.iter().product::<usize>() != values.len() {
            return Err(Error::other(format!("{name} has {} values for shape {shape:?}", values.len())));
        }
        let bytes = npy_bytes(T::KIND, shape).unwrap_or(u64::MAX);
        self.member(name, bytes, |out| {
            out.write_all(&npy_header(T::KIND, shape))?;
            let mut chunk = Vec::with_capacity(CHUNK_VALUES * T::KIND.bytes());
            for values in values.chunks(CHUNK_VALUES) {
                chunk.clear();
                values.iter().for_each(|value| value.put(&mut chunk));
                out.write_all(&chunk)?;
            }
            Ok(())
        })
    }

    fn member(
        &mut self,
        name: &str,
        bytes: u64,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= LARGE_BYTES);
        self.zip.start_file(name, options)?;
        let mut hashing = Hashing { out: &mut self.zip, hasher: Sha256::new() };
        write(&mut hashing)?;
        let sha256 = hex(&hashing.hasher.finalize());
        self.members.insert(name.to_owned(), Member { bytes, sha256 });
        Ok(())
    }

    fn finish(mut self, kept: Kept) -> Result<(), Error> {
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            written_by: format!("sinkscope {}", env!("CARGO_PKG_VERSION")),
            kept,
            members: std::mem::take(&mut self.members),
        };
        self.json(MANIFEST, &manifest)?;
        self.zip.finish()?.flush()
    }
}

/// Passes bytes on and hashes them.
struct Hashing<'a> {
    out: &'a mut dyn Write,
    hasher: Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
