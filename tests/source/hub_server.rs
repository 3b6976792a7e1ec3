//! A Hub on this machine: model info, the list of files page by page, HEAD and GET of files, storage on another
//! origin, ranges, and any fault.

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What a client asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// First byte of the range, 0 without one.
    pub(crate) from_byte: usize,
    /// Byte behind the range's last, where it has an end.
    pub(crate) end_byte: Option<usize>,
    pub(crate) token: Option<String>,
    /// How often this method and path were asked before.
    pub(crate) earlier: usize,
}

/// What it gets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Close the connection after so many bytes of the body.
    pub(crate) break_after: Option<usize>,
    /// Send nothing more after the body's first bytes, but keep the connection open.
    pub(crate) stall_after: Option<usize>,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

type Override = dyn Fn(&Request, Reply) -> Reply + Send + Sync;

struct State {
    files: BTreeMap<String, Vec<u8>>,
    requests: Mutex<Vec<Request>>,
    storage: Mutex<String>,
    change: Box<Override>,
}

pub(crate) struct HubServer {
    pub(crate) endpoint: String,
    state: Arc<State>,
}

impl HubServer {
    /// Serves the repository `o/n` with these files.
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        Self::with_fault(files, |_, reply| reply)
    }

    /// The same, but each reply may be changed before it is sent.
    pub(crate) fn with_fault(
        files: &[(&str, &[u8])],
        change: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(State {
            files: files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect(),
            requests: Mutex::default(),
            storage: Mutex::default(),
            change: Box::new(change),
        });
        // Another port is another origin, as the Hub's storage is.
        *state.storage.lock().unwrap() = listen(&state);
        Self { endpoint: listen(&state), state }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    /// The requests for stored content, in order.
    pub(crate) fn storage_requests(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.path.starts_with("/storage/")).collect()
    }
}

/// The name of a file's blob: sha256 for large files, a hash of git's length for small ones.
pub(crate) fn etag(file: &str, content: &[u8]) -> String {
    let hash: String = Sha256::digest(content)
        .iter()
        .flat_map(|&byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    if is_large(file) { hash } else { hash[..40].to_owned() }
}

fn is_large(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "safetensors" || extension == "gguf")
}

fn listen(state: &Arc<State>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let state = Arc::clone(state);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            std::thread::spawn(move || serve(&state, stream));
        }
    });
    format!("http://{address}")
}

fn serve(state: &State, mut stream: TcpStream) {
    let Some(mut request) = read_request(&stream) else { return };
    {
        let mut seen = state.requests.lock().unwrap();
        let same = |earlier: &&Request| earlier.method == request.method && earlier.path == request.path;
        request.earlier = seen.iter().filter(same).count();
        seen.push(request.clone());
    }
    let reply = (state.change)(&request, state.reply(&request));
    // A client that gave up is none of the server's business.
    let _ = send(&mut stream, &request, &reply);
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: HashMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        })
        .collect();
    let range = headers.get("range").map_or("0-", |range| range.trim_start_matches("bytes="));
    let (from, last) = range.split_once('-').unwrap();
    let from_byte = from.parse().unwrap();
    let end_byte = last.parse::<usize>().ok().map(|last| last + 1);
    let token = headers.get("authorization").cloned();
    Some(Request { method, path, from_byte, end_byte, token, earlier: 0 })
}

impl State {
    /// A page of the list of files, and the address of the next one.
    fn page(&self, number: usize, path: &str) -> Reply {
        let item = |(file, content): (&String, &Vec<u8>)| {
            let (hash, size) = (etag(file, content), content.len());
            if is_large(file) {
                format!(
                    r#"{{"type":"file","oid":"of-the-pointer","size":{size},"path":"{file}","lfs":{{"oid":"{hash}","size":{size},"pointerSize":134}}}}"#
                )
            } else {
                format!(r#"{{"type":"file","oid":"{hash}","size":{size},"path":"{file}"}}"#)
            }
        };
        let folder = r#"{"type":"directory","oid":"0","size":0,"path":"onnx"}"#.to_owned();
        let items: Vec<String> = std::iter::once(folder).chain(self.files.iter().map(item)).collect();
        let pages: Vec<&[String]> = items.chunks(PAGE).collect();
        let reply = Reply::status(200).with("content-type", "application/json");
        let reply = if number + 1 < pages.len() {
            let base = path.split("&cursor=").next().unwrap_or(path);
            reply.with("link", &format!("<{base}&cursor={}>; rel=\"next\"", number + 1))
        } else {
            reply
        };
        reply.body(format!("[{}]", pages[number].join(",")))
    }

    fn reply(&self, request: &Request) -> Reply {
        let file_prefix = format!("/o/n/resolve/{COMMIT}/");
        if let Some(page) =
            request.path.strip_prefix(&format!("/api/models/o/n/tree/{COMMIT}?recursive=true"))
        {
            return self.page(page.trim_start_matches("&cursor=").parse().unwrap_or(0), &request.path);
        }
        if request.path.starts_with("/api/models/o/n/revision/") {
            let siblings: Vec<String> =
                self.files.keys().map(|file| format!(r#"{{"rfilename":"{file}"}}"#)).collect();
            let body = format!(r#"{{"id":"o/n","sha":"{COMMIT}","siblings":[{}]}}"#, siblings.join(","));
            return Reply::status(200).with("content-type", "application/json").body(body);
        }
        if let Some(hash) = request.path.strip_prefix("/storage/") {
            let content = self.files.iter().find(|(file, content)| etag(file, content) == hash).unwrap().1;
            return ranged(content, request);
        }
        let path = request.path.trim_start_matches("/api/resolve-cache").trim_end_matches("?etag=1");
        match path.strip_prefix(&file_prefix).and_then(|file| self.files.get_key_value(file)) {
            Some((file, content)) if is_large(file) => Reply::status(302)
                .with(
                    "location",
                    &format!("{}/storage/{}", self.storage.lock().unwrap(), etag(file, content)),
                )
                .with("x-repo-commit", COMMIT)
                .with("etag", "\"of-the-pointer\"")
                .with("x-linked-etag", &format!("\"{}\"", etag(file, content)))
                .with("x-linked-size", &content.len().to_string()),
            // The Hub's own cache for small files: the same origin, another path.
            Some(_) if !request.path.starts_with("/api/") => Reply::status(307)
                .with("location", &format!("/api/resolve-cache{}?etag=1", request.path))
                .with("x-repo-commit", COMMIT),
            Some((file, content)) => ranged(content, request)
                .with("x-repo-commit", COMMIT)
                .with("etag", &format!("\"{}\"", etag(file, content))),
            None => Reply::status(404).with("x-error-code", "EntryNotFound"),
        }
    }
}

/// Entries of a page of the list of files.
const PAGE: usize = 3;

fn ranged(content: &[u8], request: &Request) -> Reply {
    let (from, end) = (request.from_byte, request.end_byte.unwrap_or(content.len()).min(content.len()));
    if from == 0 && request.end_byte.is_none() {
        return Reply::status(200).body(content);
    }
    if from >= end {
        return Reply::status(416);
    }
    let range = format!("bytes {from}-{}/{}", end - 1, content.len());
    Reply::status(206).with("content-range", &range).body(&content[from..end])
}

fn send(stream: &mut TcpStream, request: &Request, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.extend(["content-length: ", &reply.body.len().to_string(), "\r\n\r\n"]);
    stream.write_all(head.as_bytes())?;
    if request.method == "HEAD" {
        return Ok(());
    }
    let end = reply.break_after.or(reply.stall_after).unwrap_or(reply.body.len());
    stream.write_all(&reply.body[..end])?;
    stream.flush()?;
    if reply.stall_after.is_some() {
        std::thread::sleep(Duration::from_mins(1));
    }
    Ok(())
}
