//! Numbers as CSV (RFC 4180): one header line, numbers with all their digits, what is n/a left empty.

use super::{ExportError, write_atomically};
use crate::analysis::Analysis;
use crate::capture::Capture;
use crate::eviction::EvictionRun;
use std::io::{BufWriter, Write};
use std::path::Path;

/// One field of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Nothing to say.
    Empty,
    /// A count or an index.
    Count(usize),
    /// A number, written so that it reads back to the same bits.
    F32(f32),
    /// The same in 64 bits.
    F64(f64),
    /// Text, quoted where it must be.
    Text(String),
}

impl From<Option<f64>> for Field {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::F64)
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Count(count) => count.fmt(f),
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
            Self::Text(text) if text.contains(['"', ',', '\n', '\r']) => {
                write!(f, "\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Writes a table.
///
/// # Errors
/// The file can't be written.
pub fn write_csv(
    path: &Path,
    header: &[String],
    rows: impl Iterator<Item = Vec<Field>>,
) -> Result<(), ExportError> {
    write_atomically(path, |file| {
        let mut out = BufWriter::new(file);
        line(&mut out, header.iter().map(|name| Field::Text(name.clone())))?;
        for row in rows {
            line(&mut out, row.into_iter())?;
        }
        out.flush()
    })
}

fn line(out: &mut impl Write, fields: impl Iterator<Item = Field>) -> std::io::Result<()> {
    for (place, field) in fields.enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(out, "{comma}{field}")?;
    }
    out.write_all(b"\r\n")
}

pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Writes one row a token: what the strip, the profile and the sink table show.
///
/// # Errors
/// The file can't be written.
pub fn tokens_csv(path: &Path, capture: &Capture, analysis: &Analysis) -> Result<(), ExportError> {
    let header = names(&[
        "index",
        "id",
        "token",
        "class",
        "share",
        "alpha",
        "lift",
        "far_lift",
        "z",
        "sink",
        "sink_rate_03",
        "nll_nats",
    ]);
    let row = |(index, token): (usize, &crate::model::tokenizer::Token)| {
        let is_sink = analysis.detection.flagged.binary_search(&index).is_ok();
        // Row i scores token i + 1; nothing scores the first one.
        let nll = index.checked_sub(1).and_then(|row| capture.nll_nats.get(row));
        vec![
            Field::Count(index),
            Field::Count(token.id as usize),
            Field::Text(token.text()),
            Field::Text(analysis.classes[index].name().to_owned()),
            analysis.share[index].into(),
            analysis.alpha[index].into(),
            analysis.lift[index].into(),
            analysis.far_lift[index].into(),
            analysis.detection.z[index].into(),
            Field::Count(usize::from(is_sink)),
            Field::F64(analysis.sink_rate[index]),
            nll.map_or(Field::Empty, |&nll| Field::F32(nll)),
        ]
    };
    write_csv(path, &header, capture.tokens.tokens.iter().enumerate().map(row))
}

/// Writes one row a head: what the grid is ordered and coloured by.
///
/// # Errors
/// The capture has no patterns, or the file can't be written.
pub fn heads_csv(path: &Path, capture: &Capture, analysis: &Analysis) -> Result<(), ExportError> {
    super::view_tables::head_table(capture, analysis, None)?.csv(path)
}

/// Writes one row a scored token: its NLL under the full cache and under each run's.
///
/// # Errors
/// The file can't be written.
pub fn evictions_csv(path: &Path, capture: &Capture, runs: &[&EvictionRun]) -> Result<(), ExportError> {
    let mut header = names(&["index", "token", "full cache nll_nats"]);
    let title = |run: &&EvictionRun| format!("{} nll_nats", run.case.title(run.pins.tokens.len()));
    header.extend(runs.iter().map(title));
    let row = |(row, full): (usize, &f32)| {
        let mut fields = vec![
            Field::Count(row + 1),
            Field::Text(capture.tokens.tokens[row + 1].text()),
            Field::F64(f64::from(*full)),
        ];
        fields.extend(runs.iter().map(|run| Field::from(run.nll_nats.get(row).copied())));
        fields
    };
    write_csv(path, &header, capture.nll_nats.iter().enumerate().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_where_it_must_be() {
        for (text, written) in [("a b", "a b"), ("a,b", "\"a,b\""), ("\"", "\"\"\"\""), ("x\ny", "\"x\ny\"")]
        {
            assert_eq!(Field::Text(text.to_owned()).to_string(), written);
        }
        assert_eq!(Field::F32(0.1).to_string(), "0.1");
        assert_eq!(Field::F64(1e300).to_string(), "1e300");
        assert_eq!(Field::from(None).to_string(), "");
    }
}
