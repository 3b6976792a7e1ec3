//! Reading: nothing is allocated before the file is known to hold it, nothing is used before it is checked.

use super::arrays::{NLL, Value, fields, npy_bytes, run_members, score_members};
use super::check::{check_spec, eviction};
use super::manifest::{FORMAT, Heading, MANIFEST, Manifest, hex};
use super::texts::{self, EvictionText, ModelText, PromptText, RunText, TokensText};
use super::{FORMAT_VERSION, Kept, Session, SessionError};
use crate::attention::ScoreRule;
use crate::capture::{Capture, LayerCapture, next_capture_id};
use crate::eviction::EvictionRun;
use crate::export::npy_header;
use crate::model::ModelSpec;
use crate::model::tokenizer::TokenSequence;
use half::f16;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive};

/// What every zip archive that has a member begins with.
const MAGIC: [u8; 4] = *b"PK\x03\x04";

/// Opens a session. The capture gets a new id.
///
/// # Errors
/// The file can't be read, is no session, is of a newer version, or is damaged: each says so.
pub fn read_session(path: &Path) -> Result<Session, SessionError> {
    let read_error =
        |error: std::io::Error| SessionError::Read { why: error.kind().to_string(), path: path.to_owned() };
    let mut file = File::open(path).map_err(read_error)?;
    let length = file.metadata().map_err(read_error)?.len();
    let mut magic = [0; 4];
    let is_zip = file.read_exact(&mut magic).is_ok() && magic == MAGIC;
    if !is_zip {
        return Err(SessionError::NotASession { path: path.to_owned() });
    }
    file.seek(SeekFrom::Start(0)).map_err(read_error)?;
    read_archive(file, length).map_err(|fault| fault.at(path))
}

/// What is wrong with a file.
#[derive(Debug)]
enum Fault {
    NotASession,
    Newer(u32),
    Damaged(String),
}

impl Fault {
    fn at(self, path: &Path) -> SessionError {
        let path = path.to_owned();
        match self {
            Self::NotASession => SessionError::NotASession { path },
            Self::Newer(version) => SessionError::Newer { version, path },
            Self::Damaged(what) => SessionError::Damaged { what, path },
        }
    }
}

fn damaged<T>(what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Damaged(what.into()))
}

fn read_archive(file: File, length: u64) -> Result<Session, Fault> {
    let Ok(zip) = ZipArchive::new(BufReader::with_capacity(1 << 20, file)) else {
        return damaged("its end is missing or changed");
    };
    let mut archive = Archive { zip, length, manifest: None };
    let manifest = archive.raw(MANIFEST)?.ok_or(Fault::NotASession)?;
    // The version comes first: what follows it is another version's business.
    let heading: Heading = parse(MANIFEST, &manifest)?;
    if heading.format != FORMAT {
        return Err(Fault::NotASession);
    }
    if heading.version > FORMAT_VERSION {
        return Err(Fault::Newer(heading.version));
    }
    let manifest: Manifest = parse(MANIFEST, &manifest)?;
    let kept = manifest.kept;
    archive.manifest = Some(manifest);
    archive.session(kept)
}

fn parse<T: DeserializeOwned>(name: &str, json: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(json).or_else(|why| damaged(format!("{name} can't be read ({why})")))
}

/// An open archive; with its manifest every member is checked against it.
struct Archive {
    zip: ZipArchive<BufReader<File>>,
    length: u64,
    manifest: Option<Manifest>,
}

impl Archive {
    fn session(&mut self, kept: Kept) -> Result<Session, Fault> {
        let model: ModelText = self.json(texts::MODEL)?;
        let prompt: PromptText = self.json(texts::PROMPT)?;
        let tokens = TokenSequence::from(self.json::<TokensText>(texts::TOKENS)?);
        let run: RunText = self.json(texts::RUN)?;
        let view = self.json(texts::VIEW)?;
        let (spec, n) = (&model.info.spec, tokens.len());
        check_spec(spec).map_err(Fault::Damaged)?;
        if n == 0 {
            return damaged("it has no tokens");
        }
        let nll_nats = self.array(NLL, &[n - 1])?;
        let layers =
            (0..spec.layers).map(|layer| self.layer(layer, spec, n, kept)).collect::<Result<_, _>>()?;
        let runs = self.evictions(spec, n)?;
        let capture = Capture {
            id: next_capture_id(),
            checks: run.checks(),
            prefill_ms: run.prefill_ms,
            model: Arc::new(model.info),
            tokens: Arc::new(tokens),
            layers,
            nll_nats,
        };
        Ok(Session {
            capture: Arc::new(capture),
            prompt: prompt.prompt.into(),
            bos: prompt.bos,
            model: model.reference,
            runs,
            view,
        })
    }

    fn layer(&mut self, index: usize, spec: &ModelSpec, n: usize, kept: Kept) -> Result<LayerCapture, Fault> {
        let [score, slopes, sinks] = score_members(index);
        let rule: Vec<f64> = self.array(&score, &[2])?;
        let mut layer = LayerCapture {
            score: ScoreRule {
                scale: rule[0],
                softcap: Some(rule[1]).filter(|cap| !cap.is_nan()),
                alibi_slopes: self.optional_array(&slopes, &[spec.heads])?.map(Arc::from),
                sink_logits: self.optional_array(&sinks, &[spec.heads])?.map(Arc::from),
            },
            ..LayerCapture::default()
        };
        for field in fields(spec, n) {
            let name = field.member(index);
            *(field.of_mut)(&mut layer) = match kept {
                Kept::Statistics if field.is_pattern => Vec::new(),
                Kept::F16 if field.is_pattern => {
                    let halves: Vec<f16> = self.array(&name, &field.shape)?;
                    halves.into_iter().map(f16::to_f32).collect()
                }
                _ => self.array(&name, &field.shape)?,
            };
        }
        Ok(layer)
    }

    fn evictions(&mut self, spec: &ModelSpec, n: usize) -> Result<Vec<Arc<EvictionRun>>, Fault> {
        let texts: Vec<EvictionText> = self.json(texts::EVICTIONS)?;
        let build = |(index, text)| {
            let [nll, evicted_at] = run_members(index);
            let nll_nats = self.array(&nll, &[n - 1])?;
            let history = self.optional_array(&evicted_at, &[spec.layers, spec.kv_heads, n])?;
            eviction(text, nll_nats, history, spec, n).map(Arc::new).map_err(Fault::Damaged)
        };
        texts.into_iter().enumerate().map(build).collect()
    }

    fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Fault> {
        let bytes = self.required(name)?;
        parse(name, &bytes)
    }

    fn array<T: Value>(&mut self, name: &str, shape: &[usize]) -> Result<Vec<T>, Fault> {
        // The size is known before anything is read: a file that lies about it is not believed.
        if self.recorded_bytes(name) != npy_bytes(T::KIND, shape) {
            return damaged(format!("{name} is missing or has another size than the text and the model"));
        }
        let bytes = self.required(name)?;
        let header = npy_header(T::KIND, shape);
        match bytes.strip_prefix(&header[..]) {
            Some(values) => Ok(values.chunks_exact(T::KIND.bytes()).map(T::get).collect()),
            None => damaged(format!("{name} has another shape than the text and the model")),
        }
    }

    fn optional_array<T: Value>(&mut self, name: &str, shape: &[usize]) -> Result<Option<Vec<T>>, Fault> {
        if self.recorded_bytes(name).is_none() { Ok(None) } else { self.array(name, shape).map(Some) }
    }

    /// What the manifest says of a member's size.
    fn recorded_bytes(&self, name: &str) -> Option<u64> {
        Some(self.manifest.as_ref()?.members.get(name)?.bytes)
    }

    /// A member that the manifest lists, checked against it.
    fn required(&mut self, name: &str) -> Result<Vec<u8>, Fault> {
        let recorded = self.manifest.as_ref().and_then(|manifest| manifest.members.get(name)).cloned();
        let (Some(recorded), Some(bytes)) = (recorded, self.raw(name)?) else {
            return damaged(format!("{name} is missing"));
        };
        if bytes.len() as u64 != recorded.bytes || hex(&Sha256::digest(&bytes)) != recorded.sha256 {
            return damaged(format!("{name} does not match its checksum"));
        }
        Ok(bytes)
    }

    /// A member's bytes; `None` where there is none of that name.
    fn raw(&mut self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        let mut member = match self.zip.by_name(name) {
            Ok(member) => member,
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            Err(why) => return damaged(format!("{name} can't be found ({why})")),
        };
        // Members are stored as they are: none is longer than the file.
        if member.compression() != CompressionMethod::Stored || member.size() > self.length {
            return damaged(format!("{name} has an impossible size"));
        }
        let mut bytes = Vec::with_capacity(member.size() as usize);
        match member.read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(why) => damaged(format!("{name} can't be read ({why})")),
        }
    }
}
