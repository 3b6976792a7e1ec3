//! Requests to the Hub and what its answers mean.
//!
//! hf-hub 1.0 is not used for listing: its tree listing reads the field `lfs.sha256` where the Hub sends
//! `lfs.oid`, so no hash comes through; its file metadata follows the redirect to the storage host and loses the
//! `X-Repo-Commit` and `X-Linked-Etag` headers of every large file; it has no time limit on that client and takes
//! a token from the environment even when told none. One GET and a HEAD per file say all that is needed.

use super::SourceError;
use super::hub_cache::is_commit;
use super::names::{HubName, is_plain_path};
use super::partial::Expected;
use super::waiting::{Interrupted, pause, wait_for};
use crate::progress::CancelToken;
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, ETAG, HeaderMap, LOCATION, RANGE};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use std::sync::OnceLock;
use std::time::Duration;

/// A connection that takes longer than this does not come.
const CONNECT_PATIENCE: Duration = Duration::from_secs(4);
/// Silence on an open connection after which it counts as broken.
pub(super) const SILENCE_PATIENCE: Duration = Duration::from_secs(30);
/// The hash of a large file, on the answer that redirects to its storage.
const LINKED_ETAG: &str = "x-linked-etag";
const REDIRECTS: usize = 10;
const TRIES: u64 = 3;

/// A Hub token, which no log or error message can show.
#[derive(Clone)]
pub(super) struct Token(pub(super) String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The Hub at one address, with or without a token.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    pub(super) endpoint: String,
    pub(super) token: Option<Token>,
}

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

impl Hub {
    /// Asks for a repository's commit and files; gives up after `patience`.
    pub(super) fn list(
        &self,
        name: &HubName,
        revision: &str,
        patience: Duration,
        cancel: &CancelToken,
    ) -> Result<Listing, SourceError> {
        let url = self.url(&["api", "models", &name.owner, &name.name, "revision", revision])?;
        let hub = self.clone();
        let asked = wait_for(patience, cancel, move || {
            let response = hub.send(&Method::GET, url, 0)?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok((status, headers, response.text().map_err(|error| reason(&error.without_url()))?))
        });
        let (status, headers, body) = self.answer(asked, patience)?;
        self.require_success(
            status,
            &headers,
            name,
            &format!("revision {revision} of {}", name.repository()),
        )?;
        parse_listing(&body).map_err(|why| self.unreachable(why))
    }

    /// Asks for a file's etag and size.
    pub(super) fn metadata(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        cancel: &CancelToken,
    ) -> Result<Metadata, SourceError> {
        let url = self.file_url(name, commit, file)?;
        let what = format!("{}/{file}", name.repository());
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (hub, url) = (self.clone(), url.clone());
            let asked = wait_for(SILENCE_PATIENCE, cancel, move || {
                hub.send(&Method::HEAD, url, 0)
                    .map(|response| (response.status(), response.headers().clone()))
            });
            match self.answer(asked, SILENCE_PATIENCE) {
                Ok((status, _)) if status.is_server_error() && attempt < TRIES => {}
                Err(SourceError::Unreachable { .. }) if attempt < TRIES => {}
                Err(error) => return Err(error),
                Ok((status, headers)) => {
                    // The answer for a large file is a redirect whose headers describe the file.
                    if !status.is_redirection() {
                        self.require_success(status, &headers, name, &what)?;
                    }
                    let why = "the Hub does not say what its content is (no etag)".to_owned();
                    return parse_metadata(&headers).ok_or(SourceError::Damaged { name: what, why });
                }
            }
            pause(Duration::from_millis(300 * attempt), cancel)?;
        }
    }

    /// Address of a file's content.
    pub(super) fn file_url(&self, name: &HubName, commit: &str, file: &str) -> Result<Url, SourceError> {
        let mut parts = vec![name.owner.as_str(), &name.name, "resolve", commit];
        parts.extend(file.split('/'));
        self.url(&parts)
    }

    fn url(&self, parts: &[&str]) -> Result<Url, SourceError> {
        let mut url = Url::parse(&self.endpoint).map_err(|error| self.unreachable(error.to_string()))?;
        url.path_segments_mut()
            .map_err(|()| self.unreachable("no address".to_owned()))?
            .pop_if_empty()
            .extend(parts);
        Ok(url)
    }

    /// Sends a request and follows its redirects; blocks.
    ///
    /// The token goes to the Hub's own origin and to no storage host. A HEAD stops at the answer that describes
    /// a large file instead of following it to its storage.
    pub(super) fn send(&self, method: &Method, mut url: Url, from_byte: u64) -> Result<Response, String> {
        let home = Url::parse(&self.endpoint).map_err(|error| error.to_string())?.origin();
        for _ in 0..=REDIRECTS {
            let mut request =
                client()?.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            if let Some(Token(token)) = &self.token
                && url.origin() == home
            {
                request = request.bearer_auth(token);
            }
            if from_byte > 0 {
                request = request.header(RANGE, format!("bytes={from_byte}-"));
            }
            let response = request.send().map_err(|error| reason(&error.without_url()))?;
            let described = *method == Method::HEAD && response.headers().contains_key(LINKED_ETAG);
            match redirect_of(&response) {
                Some(next) if !described => url = next,
                _ => return Ok(response),
            }
        }
        Err("too many redirects".to_owned())
    }

    fn answer<T>(
        &self,
        asked: Result<Result<T, String>, Interrupted>,
        patience: Duration,
    ) -> Result<T, SourceError> {
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(self.unreachable(why)),
            Err(Interrupted::Cancelled(cancelled)) => Err(cancelled.into()),
            Err(Interrupted::TooSlow) => {
                Err(self.unreachable(format!("no answer within {:.1} s", patience.as_secs_f64())))
            }
            Err(Interrupted::Died) => Err(self.unreachable("the request could not be made".to_owned())),
        }
    }

    /// The error of no connection, for this Hub.
    pub(super) fn unreachable(&self, why: String) -> SourceError {
        SourceError::Unreachable { why, endpoint: self.endpoint.clone() }
    }

    /// Turns a status that is no success into the error that says what to do about it.
    pub(super) fn require_success(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        name: &HubName,
        what: &str,
    ) -> Result<(), SourceError> {
        if status.is_success() {
            return Ok(());
        }
        let (repository, endpoint) = (name.repository(), self.endpoint.clone());
        let gated = text(headers, "x-error-code").is_some_and(|code| code == "GatedRepo");
        Err(match status {
            StatusCode::UNAUTHORIZED if !gated => SourceError::Unauthorized { repository, endpoint },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => SourceError::Gated { repository, endpoint },
            StatusCode::NOT_FOUND => SourceError::NotOnHub { what: what.to_owned(), repository, endpoint },
            StatusCode::TOO_MANY_REQUESTS => SourceError::RateLimited { when: retry_after(headers) },
            _ => SourceError::HubStatus { status: status.as_u16(), what: what.to_owned() },
        })
    }
}

/// The one HTTP client of the process. It lives as long as the process does: dropping a blocking client waits
/// for its name look-ups, and those can hang.
fn client() -> Result<&'static Client, String> {
    static CLIENT: OnceLock<Result<Client, String>> = OnceLock::new();
    CLIENT
        .get_or_init(|| {
            Client::builder()
                .user_agent(concat!("sinkscope/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_PATIENCE)
                .timeout(SILENCE_PATIENCE)
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(|error| reason(&error))
        })
        .as_ref()
        .map_err(Clone::clone)
}

fn redirect_of(response: &Response) -> Option<Url> {
    if !response.status().is_redirection() {
        return None;
    }
    response.url().join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// The innermost cause, which is the one that says something: "Connection refused" and the like.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn retry_after(headers: &HeaderMap) -> String {
    match text(headers, "retry-after").and_then(|seconds| seconds.trim().parse::<u64>().ok()) {
        Some(seconds) => format!("in {seconds} s"),
        None => "in a few minutes".to_owned(),
    }
}

fn parse_metadata(headers: &HeaderMap) -> Option<Metadata> {
    let etag = text(headers, LINKED_ETAG).or_else(|| text(headers, ETAG.as_str()))?;
    let blob = etag.trim_start_matches("W/").trim_matches('"').to_owned();
    if blob.is_empty() || !blob.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let size = text(headers, "x-linked-size").or_else(|| text(headers, CONTENT_LENGTH.as_str()));
    // Large files are named by their sha256, small ones by their git hash.
    let sha256 = (blob.len() == 64).then(|| blob.to_ascii_lowercase());
    Some(Metadata {
        blob,
        expected: Expected { size_bytes: size.and_then(|size| size.parse().ok()), sha256 },
    })
}

fn parse_listing(body: &str) -> Result<Listing, String> {
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
    fn the_token_is_in_no_debug_output() {
        let hub = Hub { endpoint: "http://hub".into(), token: Some(Token("hf_secret".into())) };
        assert!(!format!("{hub:?}").contains("secret"));
    }

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
        headers.insert("x-linked-etag", "\"../../x\"".parse().unwrap());
        assert_eq!(parse_metadata(&headers), None);
    }

    #[test]
    fn a_revision_is_one_part_of_the_address() {
        let hub = Hub { endpoint: "https://hub.example/base/".into(), token: None };
        let url = hub.url(&["api", "models", "o", "n", "revision", "refs/pr/1"]).unwrap();
        assert_eq!(url.as_str(), "https://hub.example/base/api/models/o/n/revision/refs%2Fpr%2F1");
        let name = HubName::parse("o/n").unwrap();
        let file = hub.file_url(&name, "c0", "a/b #1.gguf").unwrap();
        assert_eq!(file.as_str(), "https://hub.example/base/o/n/resolve/c0/a/b%20%231.gguf");
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
