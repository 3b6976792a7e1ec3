//! Writes GGUF files whose header was changed on purpose.

use sinkscope::model::gguf::{GgufHeader, GgufTensor, GgufValue};
use std::path::{Path, PathBuf};

/// A file taken apart.
pub struct Parts {
    pub header: GgufHeader,
    pub data: Vec<u8>,
}

impl Parts {
    pub fn of(path: &Path) -> Self {
        let file = std::fs::read(path).expect("the fixture reads");
        let header = GgufHeader::parse(&file).expect("a header");
        let data = file[usize::try_from(header.data_offset).expect("small")..].to_vec();
        Self { header, data }
    }

    pub fn set(&mut self, key: &str, value: Option<GgufValue>) {
        match value {
            Some(value) => self.header.metadata.insert(key.to_owned(), value),
            None => self.header.metadata.remove(key),
        };
    }

    pub fn tensor(&mut self, name: &str) -> &mut GgufTensor {
        self.header.tensors.iter_mut().find(|tensor| tensor.name == name).expect(name)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::from(*b"GGUF");
        out.extend(3_u32.to_le_bytes());
        out.extend((self.header.tensors.len() as u64).to_le_bytes());
        out.extend((self.header.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.header.metadata {
            put_text(&mut out, key);
            out.extend(type_of(value).to_le_bytes());
            put_value(&mut out, value);
        }
        for tensor in &self.header.tensors {
            put_text(&mut out, &tensor.name);
            out.extend((tensor.shape.len() as u32).to_le_bytes());
            tensor.shape.iter().rev().for_each(|&dim| out.extend((dim as u64).to_le_bytes()));
            out.extend(tensor.type_id.to_le_bytes());
            out.extend(tensor.offset.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(&self.data);
        out
    }

    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("changed.gguf");
        std::fs::write(&path, self.bytes()).expect("written");
        path
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn type_of(value: &GgufValue) -> u32 {
    match value {
        GgufValue::Unsigned(_) => 10,
        GgufValue::Signed(_) => 11,
        GgufValue::Float(_) => 12,
        GgufValue::Bool(_) => 7,
        GgufValue::String(_) => 8,
        GgufValue::Array(_) => 9,
    }
}

fn put_value(out: &mut Vec<u8>, value: &GgufValue) {
    match value {
        GgufValue::Unsigned(v) => out.extend(v.to_le_bytes()),
        GgufValue::Signed(v) => out.extend(v.to_le_bytes()),
        GgufValue::Float(v) => out.extend(v.to_le_bytes()),
        GgufValue::Bool(v) => out.push(u8::from(*v)),
        GgufValue::String(v) => put_text(out, v),
        GgufValue::Array(items) => {
            out.extend(items.first().map_or(4, type_of).to_le_bytes());
            out.extend((items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| put_value(out, item));
        }
    }
}
