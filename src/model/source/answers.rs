//! What the Hub's answers say. Pure.

use super::hub_cache::is_commit;
use super::names::is_plain_path;
use super::partial::Expected;
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap};
use serde::Deserialize;

/// The hash of a large file, on the answer that redirects to its storage.
pub(super) const LINKED_ETAG: &str = "x-linked-etag";

/// What a repository has at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) files: Vec<String>,
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

/// When to come back after a 429, in words.
pub(super) fn retry_after(headers: &HeaderMap) -> String {
    match header(headers, "retry-after").and_then(|seconds| seconds.trim().parse::<u64>().ok()) {
        Some(seconds) => format!("in {seconds} s"),
        None => "in a few minutes".to_owned(),
    }
}

/// What the headers of a HEAD say of a file; nothing without a usable etag.
pub(super) fn parse_metadata(headers: &HeaderMap) -> Option<Metadata> {
    // A redirect's own length is not the file's.
    let (etag, size) = match header(headers, LINKED_ETAG) {
        Some(etag) => (etag, header(headers, "x-linked-size")),
        None => (header(headers, ETAG.as_str())?, header(headers, CONTENT_LENGTH.as_str())),
    };
    let blob = etag.trim_start_matches("W/").trim_matches('"').to_owned();
    if blob.is_empty() || !blob.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
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
    Ok(Listing { commit: info.sha, files: files.collect() })
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
    fn a_page_from_somebody_else_is_no_listing() {
        assert!(parse_listing("<html>Log in to the guest network</html>").is_err());
        assert!(parse_listing(r#"{"sha":"../..","siblings":[]}"#).is_err());
        let body = format!(
            r#"{{"sha":"{}","siblings":[{{"rfilename":"a"}},{{"rfilename":"../b"}}]}}"#,
            "0".repeat(40)
        );
        assert_eq!(parse_listing(&body).unwrap().files, ["a"]);
    }
}
