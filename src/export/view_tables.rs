//! The numbers behind the views that have a table of their own, as CSV or as JSON.

use super::tables::{Field, names, write_csv};
use super::views::{
    GridView, Scene, StabilityRow, StripBy, StripView, View, births, by_layer, chosen_heads, head_values,
    line_window, partners, stability_rows, value_name,
};
use super::{ExportError, write_json};
use crate::analysis::{
    Analysis, Fate, HeadMetrics, HeadOrder, PeakTable, alpha_by_layer_head, norm_ratios_by_layer,
    share_on_keys,
};
use crate::capture::Capture;
use crate::progress::CancelToken;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A table, and what it is of.
pub(super) struct Table {
    /// What the rows are, and the choices that they depend on.
    about: Value,
    header: Vec<String>,
    rows: Vec<Vec<Field>>,
}

impl Table {
    pub(super) fn csv(self, path: &Path) -> Result<(), ExportError> {
        write_csv(path, &self.header, self.rows.into_iter())
    }

    /// An object with the model, the choices, and an object a row.
    pub(super) fn json(self, path: &Path, capture: &Capture) -> Result<(), ExportError> {
        let row = |fields: &Vec<Field>| -> Value {
            let named = self.header.iter().cloned().zip(fields.iter().map(Field::json));
            Value::Object(named.collect::<Map<_, _>>())
        };
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        let model = json!({ "name": capture.model.name, "sha256": capture.model.sha256 });
        write_json(
            path,
            &json!({ "model": model, "tokens": capture.len(), "about": self.about, "rows": rows }),
        )
    }
}

impl Field {
    fn json(&self) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::Count(count) => json!(count),
            // As the text that reads back to the same bits, not as the nearest f64 of more digits.
            Self::F32(value) => value.to_string().parse::<f64>().map_or(Value::Null, |value| json!(value)),
            Self::F64(value) => json!(value),
            Self::Text(text) => json!(text),
        }
    }
}

/// A number for each head, by `layer · heads + head`.
pub(super) struct Column {
    name: String,
    values: Vec<Option<f64>>,
}

/// A column of what only this grid shows: the share on a token, the similarity to a head.
///
/// # Errors
/// There is no such head.
pub(super) fn extra_column(scene: &Scene<'_>, grid: &GridView) -> Result<Option<Column>, ExportError> {
    match grid.order {
        HeadOrder::OnSelected | HeadOrder::Similarity => {
            Ok(Some(Column { name: value_name(grid), values: head_values(scene, grid)? }))
        }
        _ => Ok(None),
    }
}

/// One row a token: its weight on the chosen tokens, or theirs on it.
///
/// # Errors
/// Nobody can cancel it.
pub(super) fn partners_table(scene: &Scene<'_>, strip: &StripView) -> Result<Table, ExportError> {
    let partners = partners(scene, strip, &CancelToken::new())?;
    let row = |(index, token): (usize, &crate::model::tokenizer::Token)| {
        let weight = partners.weights[index].map_or(Field::Empty, Field::F32);
        vec![Field::Count(index), Field::Count(token.id as usize), Field::Text(token.text()), weight]
    };
    let direction = if strip.by == StripBy::Outgoing { "outgoing" } else { "incoming" };
    Ok(Table {
        about: json!({ "view": "strip", "by": direction, "tokens": strip.tokens }),
        header: names(&["index", "id", "token", "weight"]),
        rows: scene.capture.tokens.tokens.iter().enumerate().map(row).collect(),
    })
}

/// One row a head: what the grid is ordered and coloured by.
///
/// # Errors
/// The capture has no patterns.
pub(super) fn head_table(
    capture: &Capture,
    analysis: &Analysis,
    extra: Option<&Column>,
) -> Result<Table, ExportError> {
    if !capture.has_patterns() {
        return Err(ExportError::NoPatterns);
    }
    let heads = capture.model.spec.heads;
    let sinks = &analysis.detection.flagged;
    let row = |index: usize| {
        let (layer, head) = (index / heads, index % heads);
        let metrics = HeadMetrics::of(capture, layer, head);
        let mut fields = vec![
            Field::Count(layer),
            Field::Count(head),
            share_on_keys(capture, layer, head, sinks).into(),
            metrics.entropy.into(),
            metrics.mean_distance.into(),
            metrics.previous_token.into(),
            metrics.induction.into(),
            metrics.peak_share.into(),
        ];
        fields.extend(extra.map(|extra| Field::from(extra.values[index])));
        fields
    };
    let mut header = names(&[
        "layer",
        "head",
        "share_on_sinks",
        "entropy",
        "mean_distance_tokens",
        "previous_token",
        "induction",
        "peak_share",
    ]);
    header.extend(extra.map(|extra| extra.name.clone()));
    Ok(Table {
        about: json!({ "view": "heads", "sinks": sinks }),
        header,
        rows: (0..capture.layers.len() * heads).into_par_iter().map(row).collect(),
    })
}

/// The table of a view that has one.
pub(super) fn table_of(view: &View, scene: &Scene<'_>) -> Result<Table, ExportError> {
    let text = |index: usize| Field::Text(scene.capture.tokens.tokens[index].text());
    Ok(match view {
        View::Lines(lines) => {
            let window = line_window(scene, lines)?;
            let row = |(head, query, key, weight): (usize, usize, usize, f32)| {
                vec![
                    Field::Count(head),
                    Field::Count(query),
                    text(query),
                    Field::Count(key),
                    text(key),
                    Field::F32(weight),
                ]
            };
            Table {
                about: json!({ "view": "lines", "layer": lines.layer, "least": Field::F32(lines.least).json() }),
                header: names(&["head", "query", "query_token", "key", "key_token", "weight"]),
                rows: window.lines(lines.least).map(row).collect(),
            }
        }
        View::TokenHeads(token) => {
            let alpha = alpha_by_layer_head(scene.capture, *token);
            let row = |(layer, head, alpha): (usize, usize, f64)| {
                vec![Field::Count(layer), Field::Count(head), Field::F64(alpha)]
            };
            let cells = alpha.iter().enumerate().flat_map(|(layer, alphas)| {
                alphas.iter().enumerate().map(move |(head, &alpha)| (layer, head, alpha))
            });
            Table {
                about: json!({ "view": "token_heads", "index": token, "token": text(*token).json() }),
                header: names(&["layer", "head", "alpha"]),
                rows: cells.map(row).collect(),
            }
        }
        View::Peak(keys) => peak_table(scene, *keys),
        View::Norms(token) => {
            let norms = norm_ratios_by_layer(scene.capture, *token);
            let rows = norms.iter().enumerate().map(|(layer, norms)| {
                vec![Field::Count(layer), norms.hidden.into(), norms.key.into(), norms.value.into()]
            });
            Table {
                about: json!({ "view": "norms", "index": token, "token": text(*token).json() }),
                header: names(&["layer", "hidden_to_median", "key_to_median", "value_to_median"]),
                rows: rows.collect(),
            }
        }
        View::Stability => stability_table(scene),
        // The others are written by their own functions.
        _ => layers_table(scene),
    })
}

fn peak_table(scene: &Scene<'_>, keys: usize) -> Table {
    let (table, spec) = (PeakTable::of(scene.capture), &scene.capture.model.spec);
    let chosen = chosen_heads(scene);
    let rows = (0..spec.layers).flat_map(|layer| (0..spec.heads).map(move |head| (layer, head)));
    let row = |(layer, head): (usize, usize)| {
        let split = table.split(layer, head, keys);
        vec![
            Field::Count(layer),
            Field::Count(head),
            split.map(|split| split.peak).into(),
            split.map(|split| split.tail).into(),
            split.map(|split| split.virtual_key).into(),
            Field::Count(usize::from(chosen.contains(&(layer, head)))),
        ]
    };
    Table {
        about: json!({ "view": "peak", "peak_keys": keys, "mean": table.mean(chosen.iter().copied(), keys) }),
        header: names(&["layer", "head", "peak", "tail", "virtual_key", "in_mean"]),
        rows: rows.map(row).collect(),
    }
}

/// A row a layer, a column a key.
fn layers_table(scene: &Scene<'_>) -> Table {
    let layers = by_layer(scene);
    let keys = (0..scene.capture.len()).map(|key| key.to_string());
    let row = |(layer, values): (usize, &Vec<Option<f64>>)| {
        std::iter::once(Field::Count(layer)).chain(values.iter().map(|&value| value.into())).collect()
    };
    Table {
        about: json!({ "view": "layers", "profile": scene.analysis.options.profile }),
        header: std::iter::once("layer".to_owned()).chain(keys).collect(),
        rows: layers.iter().enumerate().map(row).collect(),
    }
}

/// The same as arrays, with the layer in which each sink is born.
pub(super) fn layers_json(scene: &Scene<'_>) -> Value {
    let (layers, births) = (by_layer(scene), births(scene));
    let birth = |(index, layer): &(usize, Option<usize>)| json!({ "index": index, "birth_layer": layer });
    let model = &scene.capture.model;
    json!({
        "model": { "name": model.name, "sha256": model.sha256 },
        "profile": scene.analysis.options.profile,
        "layers": layers,
        "sinks": births.iter().map(birth).collect::<Vec<_>>(),
    })
}

/// A row for each sink in each other run.
fn stability_table(scene: &Scene<'_>) -> Table {
    let token = |capture: &Capture, index: usize| Field::Text(capture.tokens.tokens[index].text());
    let mut rows = Vec::new();
    for row in stability_rows(scene) {
        match row {
            StabilityRow::Ours(position, fates) => {
                rows.extend(fates.iter().enumerate().map(|(run, &fate)| {
                    let (word, there, z) = in_words(fate, position);
                    let z_here = scene.analysis.detection.z[position];
                    vec![
                        Field::Count(position),
                        token(scene.capture, position),
                        z_here.into(),
                        Field::Count(run),
                        Field::Text(word.to_owned()),
                        there.map_or(Field::Empty, Field::Count),
                        z.into(),
                    ]
                }));
            }
            StabilityRow::Theirs { run, position, here } => {
                let other = &scene.others[run];
                let z_here = here.and_then(|here| scene.analysis.detection.z[here]);
                rows.push(vec![
                    here.map_or(Field::Empty, Field::Count),
                    token(other.capture, position),
                    z_here.into(),
                    Field::Count(run),
                    Field::Text("new".to_owned()),
                    Field::Count(position),
                    other.analysis.detection.z[position].into(),
                ]);
            }
        }
    }
    let run = |other: &super::RunRef<'_>| {
        let model = &other.capture.model;
        json!({ "model": model.name, "sha256": model.sha256, "dtype": model.dtype, "tokens": other.capture.len() })
    };
    let runs: Vec<Value> = scene.others.iter().map(run).collect();
    Table {
        about: json!({ "view": "stability", "runs": runs }),
        header: names(&["index", "token", "z", "run", "fate", "index_there", "z_there"]),
        rows,
    }
}

/// A fate, where the token (or what took its place) stands there, and its z.
fn in_words(fate: Fate, position: usize) -> (&'static str, Option<usize>, Option<f64>) {
    match fate {
        Fate::Stays { z } => ("stays", Some(position), z),
        Fate::Moves { to, z } => ("moves", Some(to), z),
        Fate::PlaceStays { z } => ("place_stays", Some(position), z),
        Fate::Fades { to, z } => ("fades", Some(to), z),
        Fate::Absent => ("absent", None, None),
    }
}
