//! What the Hub's answers say. Pure.

use super::hub_cache::is_commit;
use super::names::is_plain_path;
use super::partial::Expected;
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The hash of a large file, on the answer that redirects to its storage.
pub(super) const LINKED_ETAG: &str = "x-linked-etag";

/// What a repository has at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) files: Vec<String>,
    /// Whether its owner must let people in.
    pub(super) gated: bool,
    /// Number of weights of each type in its safetensors files, as far as the Hub has counted them.
    pub(super) parameters: BTreeMap<String, u64>,
}

/// A file of a repository, as the Hub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub(super) path: String,
    pub(super) size_bytes: Option<u64>,
    /// The name that its content would have in the cache.
    pub(super) blob: Option<String>,
}

/// What the Hub says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The name of its blob in the cache: its etag.
    pub(super) blob: String,
    pub(super) expected: Expected,
}

/// A header's text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// When to come back after a 429, in seconds, where the Hub says so.
pub(super) fn retry_after_seconds(headers: &HeaderMap) -> Option<u64> {
    let plain = || header(headers, "retry-after")?.trim().parse().ok();
    // The draft standard's header, `"api";r=0;t=55`: so many requests left, a new window in so many seconds.
    let window = || {
        header(headers, "ratelimit")?.split(';').find_map(|part| part.trim().strip_prefix("t="))?.parse().ok()
    };
    plain().or_else(window)
}

/// The same in words.
pub(super) fn retry_after(headers: &HeaderMap) -> String {
    match retry_after_seconds(headers) {
        Some(seconds @ 0..=119) => format!("in {seconds} s"),
        Some(seconds) => format!("in {} min", seconds.div_ceil(60)),
        None => "in a few minutes".to_owned(),
    }
}

/// The address of the next page of a list.
pub(super) fn next_page(headers: &HeaderMap) -> Option<&str> {
    let links = header(headers, "link")?.split(',');
    links.filter_map(|link| link.trim().strip_prefix('<')?.split_once('>')).find_map(|(address, rest)| {
        let next = rest.split(';').any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"));
        next.then_some(address)
    })
}

/// One page of a repository's files, folders left out.
pub(super) fn parse_tree(body: &str) -> Result<Vec<TreeFile>, String> {
    #[derive(Deserialize)]
    struct Item {
        #[serde(rename = "type")]
        kind: String,
        path: String,
        size: Option<u64>,
        oid: Option<String>,
        lfs: Option<Lfs>,
    }
    #[derive(Deserialize)]
    struct Lfs {
        oid: String,
        size: Option<u64>,
    }
    let items: Vec<Item> =
        serde_json::from_str(body).map_err(|_| "its list of files is not the Hub's".to_owned())?;
    let files = items.into_iter().filter(|item| item.kind == "file" && is_plain_path(&item.path));
    Ok(files
        .map(|item| {
            let (size_bytes, oid) = match item.lfs {
                Some(lfs) => (lfs.size.or(item.size), Some(lfs.oid)),
                None => (item.size, item.oid),
            };
            TreeFile { path: item.path, size_bytes, blob: oid.filter(|oid| is_blob_name(oid)) }
        })
        .collect())
}

/// Whether this can name a blob: no path can hide in it.
fn is_blob_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What the headers of a HEAD say of a file; nothing without a usable etag.
pub(super) fn parse_metadata(headers: &HeaderMap) -> Option<Metadata> {
    // A redirect's own length is not the file's.
    let (etag, size) = match header(headers, LINKED_ETAG) {
        Some(etag) => (etag, header(headers, "x-linked-size")),
        None => (header(headers, ETAG.as_str())?, header(headers, CONTENT_LENGTH.as_str())),
    };
    let blob = etag.trim_start_matches("W/").trim_matches('"').to_owned();
    if !is_blob_name(&blob) {
        return None;
    }
    // Large files are named by their sha256, small ones by their git hash.
    let sha256 = (blob.len() == 64).then(|| blob.to_ascii_lowercase());
    Some(Metadata {
        blob,
        expected: Expected { size_bytes: size.and_then(|size| size.parse().ok()), sha256 },
    })
}

/// Commit and files out of the Hub's model info; says what is wrong with any other answer.
pub(super) fn parse_listing(body: &str) -> Result<Listing, String> {
    #[derive(Deserialize)]
    struct Info {
        sha: String,
        siblings: Vec<Sibling>,
        #[serde(default)]
        gated: Value,
        #[serde(default)]
        safetensors: Value,
    }
    #[derive(Deserialize)]
    struct Sibling {
        rfilename: String,
    }
    // A login page of the network in between arrives with status 200, too.
    let info: Info = serde_json::from_str(body).map_err(|_| "its answer is not the Hub's".to_owned())?;
    if !is_commit(&info.sha) {
        return Err("its answer names no commit".to_owned());
    }
    let files = info.siblings.into_iter().map(|sibling| sibling.rfilename).filter(|file| is_plain_path(file));
    let counted = info.safetensors["parameters"].as_object().into_iter().flatten();
    Ok(Listing {
        commit: info.sha,
        files: files.collect(),
        // `false`, or how access is granted: "auto" or "manual".
        gated: !matches!(info.gated, Value::Null | Value::Bool(false)),
        parameters: counted.filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_described_by_their_linked_headers() {
        let mut headers = HeaderMap::new();
        headers.insert("etag", "\"0123456789abcdef0123456789abcdef01234567\"".parse().unwrap());
        headers.insert("content-length", "1000".parse().unwrap());
        let small = parse_metadata(&headers).unwrap();
        assert_eq!(small.blob, "0123456789abcdef0123456789abcdef01234567");
        assert_eq!(small.expected, Expected { size_bytes: Some(1000), sha256: None });
        let hash = "cd".repeat(32);
        headers.insert("x-linked-etag", format!("\"{hash}\"").parse().unwrap());
        headers.insert("x-linked-size", "269060552".parse().unwrap());
        let large = parse_metadata(&headers).unwrap();
        assert_eq!(large.expected, Expected { size_bytes: Some(269_060_552), sha256: Some(hash.clone()) });
        assert_eq!(large.blob, hash);
        headers.remove("x-linked-size");
        assert_eq!(
            parse_metadata(&headers).unwrap().expected.size_bytes,
            None,
            "1000 is the redirect's length"
        );
        headers.insert("x-linked-etag", "\"../../x\"".parse().unwrap());
        assert_eq!(parse_metadata(&headers), None);
    }

    #[test]
    fn files_are_listed_with_the_size_and_name_of_their_content() {
        let hash = "ab".repeat(32);
        let body = format!(
            r#"[{{"type":"directory","path":"q8","oid":"0"}},
                {{"type":"file","path":"config.json","size":700,"oid":"c0ffee"}},
                {{"type":"file","path":"q8/n.gguf","size":135,"oid":"f00","lfs":{{"oid":"{hash}","size":4000000,"pointerSize":135}}}},
                {{"type":"file","path":"../x","size":1,"oid":"1"}},
                {{"type":"file","path":"y","size":1,"oid":"../../y"}}]"#
        );
        let file = |path: &str, size, blob: Option<&str>| TreeFile {
            path: path.into(),
            size_bytes: Some(size),
            blob: blob.map(Into::into),
        };
        let wanted = [
            file("config.json", 700, Some("c0ffee")),
            file("q8/n.gguf", 4_000_000, Some(&hash)),
            file("y", 1, None),
        ];
        assert_eq!(parse_tree(&body).unwrap(), wanted);
        assert!(parse_tree("<html>").is_err());
    }

    #[test]
    fn a_list_says_where_it_goes_on_and_when_to_ask_again() {
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            headers
        };
        let links = with("link", r#"<https://h/a?cursor=1>; rel="prev", <https://h/a?cursor=3>; rel="next""#);
        assert_eq!(next_page(&links), Some("https://h/a?cursor=3"));
        assert_eq!(next_page(&with("link", r#"<https://h/a>; rel="first""#)), None);
        assert_eq!(next_page(&HeaderMap::new()), None);
        assert_eq!(retry_after(&with("retry-after", "30")), "in 30 s");
        assert_eq!(retry_after(&with("ratelimit", r#""api";r=0;t=290"#)), "in 5 min");
        assert_eq!(retry_after(&with("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")), "in a few minutes");
    }

    #[test]
    fn a_page_from_somebody_else_is_no_listing() {
        assert!(parse_listing("<html>Log in to the guest network</html>").is_err());
        assert!(parse_listing(r#"{"sha":"../..","siblings":[]}"#).is_err());
        let body = format!(
            r#"{{"sha":"{}","siblings":[{{"rfilename":"a"}},{{"rfilename":"../b"}}]}}"#,
            "0".repeat(40)
        );
        let listing = parse_listing(&body).unwrap();
        assert_eq!((listing.files, listing.gated), (vec!["a".to_owned()], false));
        let body = format!(
            r#"{{"sha":"{}","siblings":[],"gated":"manual","safetensors":{{"parameters":{{"BF16":7}},"total":7}}}}"#,
            "0".repeat(40)
        );
        let listing = parse_listing(&body).unwrap();
        assert!(listing.gated);
        assert_eq!(listing.parameters, BTreeMap::from([("BF16".to_owned(), 7)]));
    }
}
