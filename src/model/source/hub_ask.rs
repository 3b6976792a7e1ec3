//! The questions that the Hub is asked.

use super::SourceError;
use super::answers::{Listing, Metadata, TreeFile, next_page, parse_listing, parse_metadata, parse_tree};
use super::hub::{Hub, SILENCE_PATIENCE, reason, short_wait};
use super::names::HubName;
use super::waiting::{pause, wait_for};
use crate::progress::{CancelToken, Reporter};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode, Url};
use std::io::Read;
use std::ops::Range;
use std::time::Duration;

const TRIES: u64 = 3;
/// A page has a thousand files; no model's repository comes near.
const PAGES: usize = 50;

/// On whose behalf the Hub is asked, and how long it may take to answer.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) patience: Duration,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) cancel: &'a CancelToken,
}

impl Asking<'_> {
    /// Waits where the Hub asks to come back soon; says whether it did.
    fn waited(self, status: StatusCode, headers: &HeaderMap, attempt: u64) -> Result<bool, SourceError> {
        let Some(wait) = short_wait(status, headers).filter(|_| attempt < TRIES) else { return Ok(false) };
        self.reporter.notice(&format!("The Hub asks to slow down (429); waiting {} s", wait.as_secs()));
        pause(wait, self.cancel)?;
        Ok(true)
    }
}

impl Hub {
    /// Asks for a repository's commit and files.
    pub(super) fn list(
        &self,
        name: &HubName,
        revision: &str,
        asking: Asking<'_>,
    ) -> Result<Listing, SourceError> {
        let url = self.url(&["api", "models", &name.owner, &name.name, "revision", revision])?;
        let what = format!("revision {revision} of {}", name.repository());
        let (_, body) = self.get(&url, name, &what, asking)?;
        parse_listing(&body).map_err(|why| self.unreachable(why))
    }

    /// Asks for the sizes of a commit's files, page by page.
    pub(super) fn tree(
        &self,
        name: &HubName,
        commit: &str,
        asking: Asking<'_>,
    ) -> Result<Vec<TreeFile>, SourceError> {
        let mut url = self.url(&["api", "models", &name.owner, &name.name, "tree", commit])?;
        url.set_query(Some("recursive=true"));
        let what = format!("list of files of {}", name.repository());
        let mut files = Vec::new();
        for _ in 0..PAGES {
            let (headers, body) = self.get(&url, name, &what, asking)?;
            files.extend(parse_tree(&body).map_err(|why| self.unreachable(why))?);
            match next_page(&headers).and_then(|next| url.join(next).ok()) {
                // A mirror passes on the Hub's addresses: it is the mirror that is asked, wherever they lead.
                Some(next) => url.set_query(next.query()),
                None => return Ok(files),
            }
        }
        Err(self.unreachable(format!("its list of files has more than {PAGES} pages")))
    }

    /// Asks for a file's etag and size.
    pub(super) fn metadata(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        asking: Asking<'_>,
    ) -> Result<Metadata, SourceError> {
        let url = self.file_url(name, commit, file)?;
        let what = format!("{}/{file}", name.repository());
        let asking = Asking { patience: SILENCE_PATIENCE, ..asking };
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (hub, url) = (self.clone(), url.clone());
            let asked = wait_for(asking.patience, asking.cancel, move || {
                hub.send(&Method::HEAD, url, 0..)
                    .map(|response| (response.status(), response.headers().clone()))
            });
            match self.answer(asked, asking.patience) {
                Ok((status, _)) if status.is_server_error() && attempt < TRIES => {}
                Err(SourceError::Unreachable { .. }) if attempt < TRIES => {}
                Err(error) => return Err(error),
                Ok((status, headers)) => {
                    if asking.waited(status, &headers, attempt)? {
                        continue;
                    }
                    // The answer for a large file is a redirect whose headers describe the file.
                    if !status.is_redirection() {
                        self.require_success(status, &headers, name, &what)?;
                    }
                    let why = "the Hub does not say what its content is (no etag)".to_owned();
                    return parse_metadata(&headers).ok_or(SourceError::Damaged { name: what, why });
                }
            }
            pause(Duration::from_millis(300 * attempt), asking.cancel)?;
        }
    }

    /// Gets a text; waits as long as the Hub asks for where that is short.
    fn get(
        &self,
        url: &Url,
        name: &HubName,
        what: &str,
        asking: Asking<'_>,
    ) -> Result<(HeaderMap, String), SourceError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (hub, url) = (self.clone(), url.clone());
            let asked = wait_for(asking.patience, asking.cancel, move || {
                let response = hub.send(&Method::GET, url, 0..)?;
                let (status, headers) = (response.status(), response.headers().clone());
                Ok((status, headers, response.text().map_err(|error| reason(&error.without_url()))?))
            });
            let (status, headers, body) = self.answer(asked, asking.patience)?;
            if asking.waited(status, &headers, attempt)? {
                continue;
            }
            self.require_success(status, &headers, name, what)?;
            return Ok((headers, body));
        }
    }

    /// Reads a range of a file and appends it; starts `into` anew where the server knows no ranges.
    pub(super) fn read(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        bytes: Range<u64>,
        into: &mut Vec<u8>,
        asking: Asking<'_>,
    ) -> Result<(), SourceError> {
        let url = self.file_url(name, commit, file)?;
        let (hub, limit) = (self.clone(), bytes);
        let asked = wait_for(asking.patience, asking.cancel, move || {
            let response = hub.send(&Method::GET, url, limit.clone())?;
            let (status, headers) = (response.status(), response.headers().clone());
            let most =
                if status == StatusCode::PARTIAL_CONTENT { limit.end - limit.start } else { limit.end };
            let mut body = Vec::new();
            // No more than was asked for, whatever the server sends.
            response.take(most).read_to_end(&mut body).map_err(|error| reason(&error))?;
            Ok((status, headers, body))
        });
        let (status, headers, body) = self.answer(asked, asking.patience)?;
        self.require_success(status, &headers, name, &format!("{}/{file}", name.repository()))?;
        if status != StatusCode::PARTIAL_CONTENT {
            into.clear();
        }
        into.extend(body);
        Ok(())
    }
}
