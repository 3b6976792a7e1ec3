//! `sinkscope models list`: the catalogue, or a repository of the Hub.

use crate::model::source::{Locator, ModelChoice, ModelRef, RepoListing, SourceError, Whereabouts};
use crate::progress::{CancelToken, Reporter};
use crate::units::format_bytes;
use serde_json::{Value, json};

/// The known models as a table.
pub(super) fn catalogue_table(models: &[Whereabouts]) -> String {
    let header = ["ID", "MODEL", "WEIGHTS", "DOWNLOAD", "LICENCE", "WHERE"].map(str::to_owned);
    let row = |model: &Whereabouts| {
        let (entry, present) = (&model.entry, model.present.as_ref());
        let place = present.map_or("not here".to_owned(), |found| found.path.display().to_string());
        let download = format_bytes(entry.download_bytes);
        [
            entry.id.clone(),
            entry.name.clone(),
            entry.stored_as.clone(),
            download,
            entry.licence.clone(),
            place,
        ]
    };
    table(std::iter::once(header).chain(models.iter().map(row)))
}

/// The same for programs.
pub(super) fn catalogue_json(models: &[Whereabouts]) -> String {
    let entry = |model: &Whereabouts| {
        let (entry, present) = (&model.entry, model.present.as_ref());
        json!({
            "id": entry.id,
            "name": entry.name,
            "stored_as": entry.stored_as,
            "download_bytes": entry.download_bytes,
            "licence": entry.licence,
            "path": present.map(|found| found.path.display().to_string()),
        })
    };
    pretty(&models.iter().map(entry).collect())
}

/// The models of a repository, with the sizes of their files.
pub(super) fn repository(
    typed: &str,
    as_json: bool,
    locator: &Locator,
    reporter: &dyn Reporter,
    cancel: &CancelToken,
) -> crate::Result<String> {
    let Some(ModelRef::Hub { repository, revision }) = ModelRef::parse_hub(typed) else {
        return Err(SourceError::BadHubName { name: typed.to_owned() }.into());
    };
    let listing = locator.list(&repository, revision.as_deref(), reporter, cancel)?;
    if let Some(why) = &listing.from_cache {
        reporter.notice(&format!("{why}. Listed is what the cache has"));
    }
    if listing.gated && !listing.with_token {
        reporter.notice(&format!("Gated: ask for access at {}, then set HF_TOKEN", listing.page));
    }
    if as_json {
        return Ok(repository_json(&listing));
    }
    if let Some(why) = listing.unsuitable {
        return Err(SourceError::Unsuitable { repository: listing.repository, why }.into());
    }
    Ok(repository_table(&listing))
}

fn repository_table(listing: &RepoListing) -> String {
    let header = ["MODEL", "SIZE", "HERE", "FILE"].map(str::to_owned);
    let rows = listing.choices.iter().flat_map(|choice| {
        let whole = [
            choice.name.clone(),
            format_bytes(choice.total_bytes()),
            here(choice.cached_bytes(), choice.is_cached()),
            if choice.files.len() == 1 { choice.files[0].path.clone() } else { String::new() },
        ];
        let files = choice.files.iter().filter(|_| choice.files.len() > 1).map(|file| {
            let size = file.size_bytes.map_or_else(|| "?".to_owned(), format_bytes);
            [String::new(), size, here(file.cached_bytes, file.is_cached), file.path.clone()]
        });
        std::iter::once(whole).chain(files).collect::<Vec<_>>()
    });
    let free = listing.free_bytes.map(|bytes| format!(", {} free", format_bytes(bytes))).unwrap_or_default();
    format!(
        "{}{} at commit {}; the cache is {}{free}\n",
        table(std::iter::once(header).chain(rows)),
        listing.repository,
        listing.commit,
        listing.cache.display(),
    )
}

fn here(cached_bytes: u64, is_cached: bool) -> String {
    match (is_cached, cached_bytes) {
        (true, _) => "all".to_owned(),
        (false, 0) => "-".to_owned(),
        (false, bytes) => format_bytes(bytes),
    }
}

fn repository_json(listing: &RepoListing) -> String {
    let model = |choice: &ModelChoice| {
        json!({
            "name": choice.name,
            "format": choice.format,
            "quantisation": choice.quantisation,
            "total_bytes": choice.total_bytes(),
            "missing_bytes": choice.missing_bytes(),
            "is_cached": choice.is_cached(),
            "files": choice.files,
        })
    };
    pretty(&json!({
        "repository": listing.repository,
        "revision": listing.revision.as_deref().unwrap_or("main"),
        "commit": listing.commit,
        "page": listing.page,
        "gated": listing.gated,
        "from_cache": listing.from_cache,
        "unsuitable": listing.unsuitable,
        "free_bytes": listing.free_bytes,
        "cache": listing.cache.display().to_string(),
        "meant": listing.meant.map(|index| &listing.choices[index].name),
        "models": listing.choices.iter().map(model).collect::<Vec<_>>(),
    }))
}

/// JSON as people can read it, too.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Columns as wide as their widest cell.
fn table<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
