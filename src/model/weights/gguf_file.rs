//! A GGUF file, or all the parts of a split one, mapped.

use super::ggml::Encoding;
use crate::model::ModelError;
use crate::model::gguf::{GgufHeader, GgufTensor};
use crate::raw::MappedFile;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// More parts than this are a lie: llama.cpp numbers them with five digits.
const MAX_PARTS: u64 = 99_999;

/// What lies in one file.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    mapped: MappedFile,
    data_offset: u64,
}

/// A model in GGUF: the metadata of its first file and the tensors of all.
#[derive(Debug)]
pub(super) struct GgufFile {
    parts: Vec<Part>,
    header: GgufHeader,
    /// For each tensor its part.
    part_of: Vec<usize>,
    /// Index of each tensor by its name.
    places: HashMap<String, usize>,
}

impl GgufFile {
    /// Maps the file and reads its header; where it is one part of a split model, the others too, which lie beside it.
    pub(super) fn open(path: &Path) -> Result<Self, ModelError> {
        let (part, header) = Part::open(path)?;
        let count = header.u64("split.count").unwrap_or(1);
        let mut opened = match count {
            0 | 1 => vec![(part, header)],
            2..=MAX_PARTS => parts_beside(path, &header, count)?
                .iter()
                .map(|path| Part::open(path))
                .collect::<Result<_, _>>()?,
            _ => return Err(damaged(format!("split.count is {count}"), path)),
        };
        if count > 1 {
            check_numbering(&opened, count)?;
        }
        let claimed = opened[0].1.u64("split.tensors.count").filter(|_| count > 1);
        let mut file = Self {
            header: GgufHeader {
                metadata: std::mem::take(&mut opened[0].1.metadata),
                tensors: Vec::new(),
                data_offset: opened[0].0.data_offset,
            },
            parts: Vec::new(),
            part_of: Vec::new(),
            places: HashMap::new(),
        };
        for (part, header) in opened {
            file.add(part, header)?;
        }
        match claimed {
            Some(claimed) if claimed != file.header.tensors.len() as u64 => {
                let why = format!(
                    "the parts have {} tensors, split.tensors.count is {claimed}",
                    file.header.tensors.len()
                );
                Err(damaged(why, path))
            }
            _ => Ok(file),
        }
    }

    fn add(&mut self, part: Part, header: GgufHeader) -> Result<(), ModelError> {
        let index = self.parts.len();
        self.parts.push(part);
        for tensor in header.tensors {
            let place = self.header.tensors.len();
            if self.places.insert(tensor.name.clone(), place).is_some() {
                return Err(damaged(
                    format!("tensor {} is there twice", tensor.name),
                    &self.parts[index].path,
                ));
            }
            self.header.tensors.push(tensor);
            self.part_of.push(index);
            // A type that is not known has no size to check; it is refused when it is asked for.
            if let Ok(encoding) = Encoding::of(self.header.tensors[place].type_id) {
                self.data(place, encoding)?;
            }
        }
        Ok(())
    }

    /// Metadata of the first part, tensors of all; offsets count from each part's own data.
    pub(super) fn header(&self) -> &GgufHeader {
        &self.header
    }

    /// The first part, which has the metadata.
    pub(super) fn path(&self) -> &Path {
        &self.parts[0].path
    }

    /// Bytes of all parts.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.mapped.len() as u64).sum()
    }

    /// The tensor of that name.
    pub(super) fn find(&self, name: &str) -> Option<&GgufTensor> {
        self.places.get(name).map(|&place| &self.header.tensors[place])
    }

    /// Type and bytes of a tensor's elements `elements`, counted in the order of memory; they begin and end with a block.
    pub(super) fn elements(
        &self,
        name: &str,
        elements: Range<usize>,
    ) -> Result<(Encoding, &[u8]), ModelError> {
        let missing = || ModelError::MissingTensor { name: name.to_owned(), path: self.path().to_owned() };
        let place = *self.places.get(name).ok_or_else(missing)?;
        let path = &self.parts[self.part_of[place]].path;
        let encoding = Encoding::of(self.header.tensors[place].type_id)
            .map_err(|type_name| damaged(format!("tensor {name} has type {type_name}"), path))?;
        let block = encoding.block_elements();
        let bytes = encoding.block_bytes();
        let data =
            self.data(place, encoding)?.get(elements.start / block * bytes..elements.end / block * bytes);
        let whole = elements.start.is_multiple_of(block) && elements.end.is_multiple_of(block);
        let data = data.filter(|_| whole);
        Ok((
            encoding,
            data.ok_or_else(|| damaged(format!("tensor {name} can't be cut at its blocks"), path))?,
        ))
    }

    /// The bytes of a tensor, checked to lie in its file.
    fn data(&self, place: usize, encoding: Encoding) -> Result<&[u8], ModelError> {
        let tensor = &self.header.tensors[place];
        let part = &self.parts[self.part_of[place]];
        let refuse = |why: &str| damaged(format!("tensor {} {why}", tensor.name), &part.path);
        let row = tensor.shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(encoding.block_elements()) {
            return Err(refuse(&format!("has rows of {row}, no multiple of its block")));
        }
        let elements: usize = tensor.shape.iter().product();
        let bytes = (elements / encoding.block_elements()).checked_mul(encoding.block_bytes());
        let start = part.data_offset.checked_add(tensor.offset).and_then(|start| usize::try_from(start).ok());
        if start.is_some_and(|start| !start.is_multiple_of(4)) {
            return Err(refuse("starts between two numbers"));
        }
        let range = start.zip(bytes).and_then(|(start, bytes)| Some(start..start.checked_add(bytes)?));
        range.and_then(|range| part.mapped.get(range)).ok_or_else(|| {
            damaged(format!("cut short: tensor {} lies behind the end of the file", tensor.name), &part.path)
        })
    }
}

impl Part {
    fn open(path: &Path) -> Result<(Self, GgufHeader), ModelError> {
        let mapped = MappedFile::open(path).map_err(|e| ModelError::read(&e, path))?;
        let header = GgufHeader::parse(&mapped).map_err(|why| damaged(why, path))?;
        Ok((Self { path: path.to_owned(), mapped, data_offset: header.data_offset }, header))
    }
}

/// All parts of the model that `path` is one of: llama.cpp's convention is `NAME-00002-of-00003.gguf`.
fn parts_beside(path: &Path, header: &GgufHeader, count: u64) -> Result<Vec<PathBuf>, ModelError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let number = header.u64("split.no").map_or(0, |no| no.saturating_add(1));
    let ending = format!("-{number:05}-of-{count:05}.gguf");
    let Some(stem) = name.strip_suffix(&ending) else {
        let why = format!(
            "it is part {number} of {count}, so its name must end in {ending} for the others to be found"
        );
        return Err(damaged(why, path));
    };
    let parts =
        (1..=count).map(|number| path.with_file_name(format!("{stem}-{number:05}-of-{count:05}.gguf")));
    let parts: Vec<_> = parts.collect();
    match parts.iter().find(|part| !part.is_file()) {
        Some(missing) => Err(ModelError::MissingPart { path: missing.clone() }),
        None => Ok(parts),
    }
}

fn check_numbering(parts: &[(Part, GgufHeader)], count: u64) -> Result<(), ModelError> {
    for (index, (part, header)) in parts.iter().enumerate() {
        let (no, of) = (header.u64("split.no"), header.u64("split.count"));
        if no != Some(index as u64) || of != Some(count) {
            let shown =
                |number: Option<u64>| number.map_or("missing".to_owned(), |number| number.to_string());
            let why = format!(
                "part {} of {count} has split.no {} and split.count {}",
                index + 1,
                shown(no),
                shown(of)
            );
            return Err(damaged(why, &part.path));
        }
    }
    Ok(())
}

pub(super) fn damaged(why: impl Into<String>, path: &Path) -> ModelError {
    ModelError::Malformed { what: "GGUF file", why: why.into(), path: path.to_owned() }
}
