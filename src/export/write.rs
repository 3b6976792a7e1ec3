//! A view as a file: the picture, or the numbers behind it.

use super::differences::write_difference;
use super::patterns::write_pattern;
use super::view_tables::{Table, extra_column, head_table, layers_json, partners_table, table_of};
use super::views::{Scene, StripBy};
use super::{
    AnalysisReport, EvictionReport, ExportError, FileFormat, Material, View, ViewOptions, draw,
    evictions_csv, tokens_csv, write_image, write_json, write_patterns,
};
use crate::progress::CancelToken;
use std::path::Path;

/// Writes a view in the format that the file's extension names. Returns what a reader should know of it (borrowed
/// or missing fonts), one line each.
///
/// # Errors
/// As [`draw`]; [`ExportError::UnknownFormat`]; [`ExportError::NoTensors`]; the file can't be written.
pub fn write_view(
    view: &View,
    material: &Material<'_>,
    options: &ViewOptions,
    path: &Path,
    cancel: &CancelToken,
) -> Result<Vec<String>, ExportError> {
    let format = FileFormat::of(path)?;
    match format {
        FileFormat::Png | FileFormat::Svg => {
            let drawing = draw(view, material, options, cancel)?;
            return write_image(&drawing, path, options.scale);
        }
        FileFormat::Csv | FileFormat::Json => {
            let scene = Scene::of(view, material, options)?;
            write_numbers(view, material, &scene, format, path)?;
        }
        FileFormat::Safetensors | FileFormat::Npy => {
            let scene = Scene::of(view, material, options)?;
            match view {
                View::Grid(_) => {
                    let spec = &scene.capture.model.spec;
                    let pairs = |layer| (0..spec.heads).map(move |head| (layer, head));
                    write_patterns(
                        path,
                        scene.capture,
                        &(0..spec.layers).flat_map(pairs).collect::<Vec<_>>(),
                    )?;
                }
                View::Pattern(of) => write_pattern(path, &scene, *of)?,
                View::Difference { a, b, by } => write_difference(path, &scene, (*a, *b), *by)?,
                _ => {
                    let extension = format.extension();
                    return Err(ExportError::NoTensors { extension, path: path.to_owned() });
                }
            }
        }
    }
    Ok(Vec::new())
}

fn write_numbers(
    view: &View,
    material: &Material<'_>,
    scene: &Scene<'_>,
    format: FileFormat,
    path: &Path,
) -> Result<(), ExportError> {
    let (capture, analysis) = (scene.capture, scene.analysis);
    let is_csv = format == FileFormat::Csv;
    let write = |table: Table| if is_csv { table.csv(path) } else { table.json(path, capture) };
    match view {
        View::Pattern(of) => write_pattern(path, scene, *of),
        View::Difference { a, b, by } => write_difference(path, scene, (*a, *b), *by),
        View::Grid(grid) => {
            let extra = extra_column(scene, grid)?;
            write(head_table(capture, analysis, extra.as_ref())?)
        }
        View::Strip(strip) if strip.by != StripBy::Mass => write(partners_table(scene, strip)?),
        View::Profile | View::Strip(_) if is_csv => tokens_csv(path, capture, analysis),
        View::Profile | View::Strip(_) => {
            write_json(path, &AnalysisReport::new(capture, analysis, material.analysis_ms))
        }
        View::Layers if !is_csv => write_json(path, &layers_json(scene)),
        View::Eviction if is_csv => evictions_csv(path, capture, material.evictions),
        View::Eviction => write_json(path, &EvictionReport::new(capture, material.evictions)),
        View::Lines(_)
        | View::TokenHeads(_)
        | View::Layers
        | View::Peak(_)
        | View::Norms(_)
        | View::Stability => write(table_of(view, scene)?),
    }
}
