//! One file from the Hub: ranged, resumed, checked, cancellable.
//!
//! A thread reads the connection and passes blocks on; the job's own thread writes and hashes them, so that a
//! silent connection can't keep it from being cancelled.

use super::SourceError;
use super::hub::{Hub, SILENCE_PATIENCE, reason, short_wait};
use super::meter::Meter;
use super::names::HubName;
use super::partial::{Expected, Partial};
use super::waiting::{Interrupted, pause, receive};
use crate::progress::{CancelToken, Reporter};
use crate::units::format_bytes;
use reqwest::blocking::Response;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode, Url};
use std::io::Read;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

const BLOCK_BYTES: usize = 1 << 16;
const BLOCKS_AHEAD: usize = 64;
/// How often progress is told while nothing comes.
const TICK: Duration = Duration::from_millis(250);
/// Tries in a row that bring nothing before a transfer is given up.
const FRUITLESS_TRIES: u32 = 4;
/// Tries altogether, so that a server which sends one byte at a time ends, too.
const TRIES: u32 = 50;

/// What is to be transferred, and on whose behalf.
pub(super) struct Transfer<'a> {
    pub(super) hub: &'a Hub,
    pub(super) name: &'a HubName,
    pub(super) file: &'a str,
    pub(super) url: Url,
    pub(super) expected: &'a Expected,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) cancel: &'a CancelToken,
}

/// Why one try ended early.
enum Stop {
    /// The connection broke: worth another try from here.
    Broken(String),
    /// The Hub asks to wait for a moment.
    Busy(Duration),
    /// No further try would help.
    Final(SourceError),
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Self::Final(error)
    }
}

/// What the reading thread has to say.
enum Message {
    Answer { status: StatusCode, headers: HeaderMap, url: Url },
    Block(Vec<u8>),
    End,
    Failed(String),
}

impl Transfer<'_> {
    /// Completes the partial file, going on from what it holds, and checks it.
    pub(super) fn run(&self, partial: &mut Partial, meter: &mut Meter) -> Result<(), SourceError> {
        let resumed = partial.length_bytes() > 0;
        self.receive_all(partial, meter)?;
        match partial.check(self.file, self.expected) {
            // The leftovers of an earlier try may be what is wrong: once more from the start.
            Err(error) if resumed => {
                self.reporter.notice(&format!("{error}. Starting over"));
                partial.restart()?;
                self.receive_all(partial, meter)?;
                self.check_or_discard(partial)
            }
            _ => self.check_or_discard(partial),
        }
    }

    fn check_or_discard(&self, partial: &mut Partial) -> Result<(), SourceError> {
        partial.check(self.file, self.expected).or_else(|error| {
            partial.restart()?;
            Err(error)
        })
    }

    fn receive_all(&self, partial: &mut Partial, meter: &mut Meter) -> Result<(), SourceError> {
        let mut fruitless = 0;
        for _ in 0..TRIES {
            let before_bytes = partial.length_bytes();
            let why = match self.receive_once(partial, meter) {
                Ok(()) => return Ok(()),
                Err(Stop::Final(error)) => return Err(error),
                Err(Stop::Broken(why)) => why,
                Err(Stop::Busy(wait)) => {
                    self.reporter
                        .notice(&format!("The Hub asks to slow down (429); waiting {} s", wait.as_secs()));
                    pause(wait, self.cancel).map_err(SourceError::from)?;
                    "it asked to slow down".to_owned()
                }
            };
            fruitless = if partial.length_bytes() > before_bytes { 0 } else { fruitless + 1 };
            if fruitless == FRUITLESS_TRIES {
                return Err(self.broken(partial, why));
            }
            self.reporter.notice(&format!(
                "{} broke off at {} ({why}); going on from there",
                self.file,
                format_bytes(partial.length_bytes())
            ));
            pause(Duration::from_millis(250 << fruitless), self.cancel).map_err(SourceError::from)?;
        }
        Err(self.broken(partial, "it broke off too often".to_owned()))
    }

    fn broken(&self, partial: &Partial, why: String) -> SourceError {
        SourceError::Broken { name: self.file.to_owned(), why, done_bytes: partial.length_bytes() }
    }

    fn receive_once(&self, partial: &mut Partial, meter: &mut Meter) -> Result<(), Stop> {
        let too_long = self.expected.size_bytes.is_some_and(|size| partial.length_bytes() > size);
        // Without a hash nothing would tell whether the two halves belong together.
        if too_long || self.expected.sha256.is_none() {
            partial.restart()?;
        }
        if self.expected.size_bytes == Some(partial.length_bytes()) {
            return Ok(());
        }
        let receiver = self.start_reading(partial.length_bytes())?;
        let mut last_arrival = Instant::now();
        loop {
            let message = receive(&receiver, TICK, self.cancel);
            if message.is_ok() {
                last_arrival = Instant::now();
            }
            match message {
                Ok(Message::Answer { status, headers, url }) => {
                    self.begin(partial, status, &headers, &url)?;
                }
                Ok(Message::Block(bytes)) => {
                    partial.append(&bytes)?;
                    self.refuse_surplus(partial)?;
                    meter.at(self.file, partial.length_bytes());
                }
                Ok(Message::End) => return self.accept_end(partial),
                Ok(Message::Failed(why)) => return Err(Stop::Broken(why)),
                Err(Interrupted::Cancelled(cancelled)) => return Err(SourceError::from(cancelled).into()),
                Err(Interrupted::TooSlow) if last_arrival.elapsed() < SILENCE_PATIENCE => {
                    // A transfer that stands still is shown to stand still.
                    meter.at(self.file, partial.length_bytes());
                }
                Err(Interrupted::TooSlow) => {
                    return Err(Stop::Broken(format!("nothing came for {} s", SILENCE_PATIENCE.as_secs())));
                }
                Err(Interrupted::Died) => return Err(Stop::Broken("the connection was lost".to_owned())),
            }
        }
    }

    /// Looks at the status before a byte is kept: an error page must not become a model.
    fn begin(
        &self,
        partial: &mut Partial,
        status: StatusCode,
        headers: &HeaderMap,
        url: &Url,
    ) -> Result<(), Stop> {
        match status {
            StatusCode::PARTIAL_CONTENT if range_start(headers) == Some(partial.length_bytes()) => Ok(()),
            StatusCode::OK => {
                self.refuse_other_content(headers)?;
                Ok(partial.restart()?)
            }
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                partial.restart()?;
                Err(Stop::Broken("the server could not go on from there".to_owned()))
            }
            _ if status.is_server_error() => {
                Err(Stop::Broken(format!("the server answered {}", status.as_u16())))
            }
            // The Hub has let us in by then: it is not the model's owner who refuses.
            _ if url.origin() != self.url.origin() => Err(SourceError::StorageRefused {
                host: url.host_str().unwrap_or_default().to_owned(),
                status: status.as_u16(),
                name: self.file.to_owned(),
            }
            .into()),
            _ => {
                if let Some(wait) = short_wait(status, headers) {
                    return Err(Stop::Busy(wait));
                }
                let what = format!("{}/{}", self.name.repository(), self.file);
                self.hub.require_success(status, headers, self.name, &what)?;
                Err(SourceError::HubStatus { status: status.as_u16(), what }.into())
            }
        }
    }

    /// A page of the network in between, or of a proxy, comes with status 200.
    fn refuse_other_content(&self, headers: &HeaderMap) -> Result<(), SourceError> {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let announced = header(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        let why = match (announced, self.expected.size_bytes) {
            (Some(length), Some(size)) if length != size => {
                format!("the server sends {length} bytes where the Hub says {size}")
            }
            _ if header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html")) => {
                "the server sends a web page in its place".to_owned()
            }
            _ => return Ok(()),
        };
        Err(SourceError::Damaged { name: self.file.to_owned(), why })
    }

    fn refuse_surplus(&self, partial: &mut Partial) -> Result<(), Stop> {
        if self.expected.size_bytes.is_none_or(|size| partial.length_bytes() <= size) {
            return Ok(());
        }
        partial.restart()?;
        let why = "the server sent more than it announced".to_owned();
        Err(SourceError::Damaged { name: self.file.to_owned(), why }.into())
    }

    fn accept_end(&self, partial: &Partial) -> Result<(), Stop> {
        match self.expected.size_bytes {
            Some(size) if partial.length_bytes() < size => {
                Err(Stop::Broken("the connection was closed".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn start_reading(&self, from_byte: u64) -> Result<Receiver<Message>, Stop> {
        let (sender, receiver) = mpsc::sync_channel(BLOCKS_AHEAD);
        let (hub, url) = (self.hub.clone(), self.url.clone());
        std::thread::Builder::new()
            .name("source-transfer".into())
            .spawn(move || {
                let last = match hub.send(&Method::GET, url, from_byte..) {
                    Ok(response) => pass_on(response, &sender),
                    Err(why) => Message::Failed(why),
                };
                // Nobody listens any more when the transfer was cancelled.
                let _ = sender.send(last);
            })
            .map_err(|error| Stop::Broken(error.to_string()))?;
        Ok(receiver)
    }
}

/// Sends the answer and its blocks until it ends or nobody listens; returns the last message.
fn pass_on(mut response: Response, sender: &SyncSender<Message>) -> Message {
    let (status, headers, url) = (response.status(), response.headers().clone(), response.url().clone());
    let answer = Message::Answer { status, headers, url };
    if sender.send(answer).is_err() {
        return Message::End;
    }
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match response.read(&mut block) {
            Ok(0) => return Message::End,
            Ok(count) => {
                if sender.send(Message::Block(block[..count].to_vec())).is_err() {
                    return Message::End;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Message::Failed(reason(&error)),
        }
    }
}

fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_begins_where_it_says() {
        let mut headers = HeaderMap::new();
        assert_eq!(range_start(&headers), None);
        headers.insert(CONTENT_RANGE, "bytes 1000-1999/2000".parse().unwrap());
        assert_eq!(range_start(&headers), Some(1000));
        headers.insert(CONTENT_RANGE, "bytes */2000".parse().unwrap());
        assert_eq!(range_start(&headers), None);
    }
}
