//! Requests to the Hub and what its answers mean.
//!
//! hf-hub 1.0 is not used for listing: its tree listing reads the field `lfs.sha256` where the Hub sends
//! `lfs.oid`, so no hash comes through; its file metadata follows the redirect to the storage host and loses the
//! `X-Repo-Commit` and `X-Linked-Etag` headers of every large file; it has no time limit on that client and takes
//! a token from the environment even when told none. One GET and a HEAD per file say all that is needed.

use super::SourceError;
use super::answers::{LINKED_ETAG, header, retry_after, retry_after_seconds};
use super::names::HubName;
use super::waiting::Interrupted;
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, LOCATION, RANGE};
use reqwest::{Method, StatusCode, Url};
use std::ops::{Bound, RangeBounds};
use std::sync::OnceLock;
use std::time::Duration;

/// A connection that takes longer than this does not come.
const CONNECT_PATIENCE: Duration = Duration::from_secs(4);
/// Silence on an open connection after which it counts as broken.
pub(super) const SILENCE_PATIENCE: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 10;
/// A wait that the Hub asks for is waited up to this long; longer ones are the user's to decide on.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

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

impl Hub {
    /// Address of a file's content.
    pub(super) fn file_url(&self, name: &HubName, commit: &str, file: &str) -> Result<Url, SourceError> {
        let mut parts = vec![name.owner.as_str(), &name.name, "resolve", commit];
        parts.extend(file.split('/'));
        self.url(&parts)
    }

    pub(super) fn url(&self, parts: &[&str]) -> Result<Url, SourceError> {
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
    pub(super) fn send(
        &self,
        method: &Method,
        mut url: Url,
        bytes: impl RangeBounds<u64>,
    ) -> Result<Response, String> {
        let range = range_header(&bytes);
        let home = Url::parse(&self.endpoint).map_err(|error| error.to_string())?.origin();
        for _ in 0..=REDIRECTS {
            let mut request =
                client()?.request(method.clone(), url.clone()).header(ACCEPT_ENCODING, "identity");
            if let Some(Token(token)) = &self.token
                && url.origin() == home
            {
                request = request.bearer_auth(token);
            }
            if let Some(range) = &range {
                request = request.header(RANGE, range);
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

    pub(super) fn answer<T>(
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
        let gated = header(headers, "x-error-code") == Some("GatedRepo");
        Err(match status {
            StatusCode::UNAUTHORIZED if !gated => SourceError::Unauthorized { repository, endpoint },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => SourceError::Gated { repository, endpoint },
            StatusCode::NOT_FOUND => {
                let no_repository = header(headers, "x-error-code") == Some("RepoNotFound");
                let what = if no_repository { format!("repository {repository}") } else { what.to_owned() };
                SourceError::NotOnHub { what, repository, endpoint }
            }
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

/// How long to wait before asking again, where the Hub asks for a wait that is short.
pub(super) fn short_wait(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let wait = (status == StatusCode::TOO_MANY_REQUESTS).then(|| retry_after_seconds(headers)).flatten()?;
    Some(Duration::from_secs(wait)).filter(|wait| *wait <= LONGEST_WAIT)
}

/// The header that asks for these bytes; nothing for all of them.
fn range_header(bytes: &impl RangeBounds<u64>) -> Option<String> {
    let first = match bytes.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before + 1,
        Bound::Unbounded => 0,
    };
    match bytes.end_bound() {
        Bound::Unbounded => (first > 0).then(|| format!("bytes={first}-")),
        Bound::Included(&last) => Some(format!("bytes={first}-{last}")),
        Bound::Excluded(&end) => Some(format!("bytes={first}-{}", end.saturating_sub(1))),
    }
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
    let text = innermost.to_string();
    // The system's words for it differ; none of them says what it means.
    if text.contains("lookup address") || text.contains("dns error") {
        return "its name is not known to this network".to_owned();
    }
    text
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
    fn only_short_waits_are_waited() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "5".parse().unwrap());
        assert_eq!(short_wait(StatusCode::TOO_MANY_REQUESTS, &headers), Some(Duration::from_secs(5)));
        assert_eq!(short_wait(StatusCode::SERVICE_UNAVAILABLE, &headers), None);
        headers.insert("retry-after", "600".parse().unwrap());
        assert_eq!(short_wait(StatusCode::TOO_MANY_REQUESTS, &headers), None);
    }

    #[test]
    fn ranges_are_written_as_http_counts_them() {
        assert_eq!(range_header(&(0..)), None);
        assert_eq!(range_header(&(7..)).as_deref(), Some("bytes=7-"));
        assert_eq!(range_header(&(0..10)).as_deref(), Some("bytes=0-9"));
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
}
