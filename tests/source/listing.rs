//! What a repository offers before anything is downloaded, and what is known of a model without its weights.

use crate::hub_server::{COMMIT, HubServer, Reply, Request};
use crate::support::{
    Log, NO_HUB, Place, breaks_off_for_good, folder_model, hub, is_storage, locate, weights,
};
use sinkscope::model::source::{
    GlimpseContent, Locator, ModelChoice, ModelFormat, ModelRef, RepoListing, SourceError,
};
use sinkscope::progress::CancelToken;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn list(locator: &Locator, repository: &str) -> Result<RepoListing, SourceError> {
    locator.list(repository, None, &Log::default(), &CancelToken::new())
}

fn names(listing: &RepoListing) -> Vec<&str> {
    listing.choices.iter().map(|choice| choice.name.as_str()).collect()
}

/// A repository of quantisations: one in two parts, one with an image projector beside it.
fn quantisations() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("README.md", b"# Quantisations"),
        ("mmproj-F16.gguf", b"an image projector"),
        ("n-F16-00001-of-00002.gguf", b"the first part"),
        ("n-F16-00002-of-00002.gguf", b"the second part"),
        ("n-Q4_K_M.gguf", b"four bits"),
        ("n-Q8_0.gguf", b"eight bits..."),
    ]
}

fn asks_for_content(request: &Request) -> bool {
    request.path.contains("/resolve") || is_storage(request)
}

#[test]
fn a_repository_is_listed_with_sizes_and_nothing_is_downloaded() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let listing = list(&place.locator(&server), "o/n").unwrap();
    assert_eq!(names(&listing), ["o/n"]);
    let choice = &listing.choices[0];
    assert_eq!(choice.format, ModelFormat::Safetensors);
    let files: Vec<_> = choice.files.iter().map(|file| (file.path.as_str(), file.size_bytes)).collect();
    let wanted = [
        ("model.safetensors", Some(4_000_000)),
        ("config.json", Some(22)),
        ("tokenizer.json", Some(12)),
        ("tokenizer_config.json", Some(2)),
        ("generation_config.json", Some(2)),
    ];
    assert_eq!(files, wanted, "README and pytorch_model.bin would not be downloaded");
    assert_eq!(choice.total_bytes(), 4_000_038);
    assert_eq!((choice.cached_bytes(), choice.missing_bytes(), choice.is_cached()), (0, 4_000_038, false));
    assert_eq!((listing.meant, listing.commit.as_str()), (Some(0), COMMIT));
    assert_eq!(listing.page, format!("{}/o/n", server.endpoint));
    assert!(listing.free_bytes.is_some_and(|bytes| bytes > 0));
    assert!(!place.path("hub").exists(), "nothing is written");
    let requests = server.requests();
    assert!(!requests.iter().any(asks_for_content), "{requests:?}");
    assert_eq!(requests.iter().filter(|request| request.path.contains("/tree/")).count(), 3, "all pages");
}

#[test]
fn quantisations_are_the_users_choice_and_each_can_be_had_by_its_name() {
    let server = HubServer::new(&quantisations());
    let place = Place::new();
    let locator = place.locator(&server);
    let listing = list(&locator, "o/n").unwrap();
    assert_eq!(names(&listing), ["o/n:Q4_K_M", "o/n:Q8_0", "o/n:F16"], "the smallest first");
    let sizes: Vec<_> = listing.choices.iter().map(ModelChoice::total_bytes).collect();
    assert_eq!(sizes, [9, 13, 29]);
    assert_eq!(listing.meant, None);
    assert_eq!(list(&locator, "o/n:Q8_0").unwrap().meant, Some(1));

    let error = locate(&locator, &hub("o/n")).unwrap_err().to_string();
    assert!(error.contains("choose one, for example o/n:F16. It has F16, Q4_K_M, Q8_0"), "{error}");
    // Lower case, as people type it.
    let ModelRef::Hub { .. } = ModelRef::parse("o/n:q4_k_m") else { panic!() };
    let found = locate(&locator, &ModelRef::parse("o/n:q4_k_m")).unwrap();
    assert_eq!(
        (found.name.as_str(), fs::read(&found.path).unwrap().as_slice()),
        ("n-Q4_K_M", &b"four bits"[..])
    );
    let split = locate(&locator, &listing.choices[2].model).unwrap();
    assert_eq!(split.name, "n-F16");
    assert!(split.path.ends_with("n-F16-00001-of-00002.gguf"));
    assert_eq!(fs::read(split.path.with_file_name("n-F16-00002-of-00002.gguf")).unwrap(), b"the second part");
    let requests = server.storage_requests().len();
    assert_eq!(requests, 3, "the other quantisation and the projector stay where they are");

    let again = list(&locator, "o/n").unwrap();
    let cached: Vec<_> = again.choices.iter().map(ModelChoice::is_cached).collect();
    assert_eq!(cached, [true, false, true]);
    assert_eq!(locate(&locator, &listing.choices[2].model).unwrap(), split);
    assert_eq!(server.storage_requests().len(), requests);
}

#[test]
fn half_a_split_model_is_no_model() {
    let server = HubServer::new(&quantisations());
    let place = Place::new();
    let locator = place.locator(&server);
    let found = locate(&locator, &hub("o/n:F16")).unwrap();
    fs::remove_file(found.path.with_file_name("n-F16-00002-of-00002.gguf")).unwrap();
    assert_eq!(locator.cached(&hub("o/n:F16")), None);
    assert_eq!(locate(&locator, &hub("o/n:F16")).unwrap(), found, "the part that is missing is fetched");
}

#[test]
fn safetensors_can_be_told_from_a_gguf_of_the_same_repository() {
    let weights = weights();
    let mut files = folder_model(&weights);
    files.push(("n-Q8_0.gguf", b"eight bits"));
    let server = HubServer::new(&files);
    let place = Place::new();
    let locator = place.locator(&server);
    let listing = list(&locator, "o/n").unwrap();
    assert_eq!(names(&listing), ["o/n:safetensors", "o/n:Q8_0"]);
    assert_eq!(listing.meant, Some(0), "the short name means what the loader takes");
    assert!(locate(&locator, &listing.choices[1].model).unwrap().path.ends_with("n-Q8_0.gguf"));
    let folder = locate(&locator, &listing.choices[0].model).unwrap();
    assert!(folder.path.join("model.safetensors").exists(), "the GGUF in the cache does not stand in for it");
}

#[test]
fn what_a_broken_transfer_left_counts_as_there() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), breaks_off_for_good);
    let place = Place::new();
    let locator = place.locator(&server);
    locate(&locator, &hub("o/n")).unwrap_err();
    let choice = &list(&locator, "o/n").unwrap().choices[0];
    assert_eq!((choice.cached_bytes(), choice.missing_bytes()), (1_000_038, 3_000_000));
    assert!(!choice.is_cached());
}

#[test]
fn a_revision_is_listed_and_opened_as_asked() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let locator = place.locator(&server);
    let listing = locator.list("o/n", Some("refs/pr/1"), &Log::default(), &CancelToken::new()).unwrap();
    assert_eq!(names(&listing), ["o/n@refs/pr/1"]);
    assert_eq!(server.requests()[0].path, "/api/models/o/n/revision/refs%2Fpr%2F1");
    let found = locate(&locator, &listing.choices[0].model).unwrap();
    assert_eq!(found.source, format!("hub:o/n@{COMMIT}"));
    let written = fs::read_to_string(place.repository().join("refs/refs/pr/1")).unwrap();
    assert_eq!(written, COMMIT);
}

#[test]
fn without_the_hub_the_cache_is_listed_and_says_so() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    locate(&place.locator(&server), &hub("o/n")).unwrap();
    for (locator, why) in [
        (place.locator(&server).offline(true), "fetching is off"),
        (place.locator_at(NO_HUB), "The Hub does not answer"),
    ] {
        let listing = list(&locator, "o/n").unwrap();
        assert!(listing.from_cache.as_ref().is_some_and(|said| said.contains(why)), "{listing:?}");
        assert!(listing.choices[0].is_cached());
        assert_eq!(listing.choices[0].total_bytes(), 4_000_038);
    }
    let error = list(&place.locator_at(NO_HUB), "o/other").unwrap_err();
    assert!(matches!(error, SourceError::Unreachable { .. }), "{error}");
}

#[test]
fn the_next_page_is_asked_of_the_same_host_wherever_its_address_leads() {
    let elsewhere = HubServer::new(&[]);
    let address = elsewhere.endpoint.clone();
    let server = HubServer::with_fault(&folder_model(b"w"), move |_, mut reply| {
        for (name, value) in &mut reply.headers {
            if name == "link" {
                *value = value.replace('<', &format!("<{address}"));
            }
        }
        reply
    });
    let place = Place::new();
    let listing = list(&place.locator(&server).with_token("hf_secret"), "o/n").unwrap();
    assert_eq!(listing.choices[0].files.len(), 5, "all pages");
    assert!(elsewhere.requests().is_empty(), "{:?}", elsewhere.requests());
}

#[test]
fn a_hub_that_asks_for_a_moment_gets_it() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, reply| {
        let busy = request.earlier == 0 && !is_storage(request);
        if busy { Reply::status(429).with("retry-after", "1") } else { reply }
    });
    let place = Place::new();
    let log = Log::default();
    let start = Instant::now();
    let listing = place.locator(&server).list("o/n", None, &log, &CancelToken::new()).unwrap();
    assert_eq!(names(&listing), ["o/n"]);
    assert!(start.elapsed() >= Duration::from_secs(2), "two requests waited a second each");
    assert!(log.notices().contains("The Hub asks to slow down (429); waiting 1 s"), "{}", log.notices());

    // The same in the middle of a transfer.
    let server = HubServer::with_fault(&folder_model(&weights), |request, reply| {
        let busy =
            request.method == "GET" && request.path.ends_with("model.safetensors") && request.earlier == 0;
        if busy { Reply::status(429).with("retry-after", "1") } else { reply }
    });
    let place = Place::new();
    let log = Log::default();
    place.locator(&server).locate(&hub("o/n"), &log, &CancelToken::new()).unwrap();
    assert!(log.notices().contains("waiting 1 s"), "{}", log.notices());
}

#[test]
fn a_wait_can_be_cancelled() {
    let server = HubServer::with_fault(&[], |_, _| Reply::status(429).with("retry-after", "15"));
    let place = Place::new();
    let cancel = CancelToken::new();
    let canceller = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel();
    });
    let start = Instant::now();
    let error = place.locator(&server).list("o/n", None, &Log::default(), &cancel).unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn what_is_missing_is_named() {
    for (code, message) in [
        ("RepoNotFound", "The Hub has no repository o/n (404); check the name at HUB/o/n"),
        ("RevisionNotFound", "The Hub has no revision main of o/n (404); check the name at HUB/o/n"),
    ] {
        let server = HubServer::with_fault(&[], move |_, _| Reply::status(404).with("x-error-code", code));
        let place = Place::new();
        let error = list(&place.locator(&server), "o/n").unwrap_err().to_string();
        assert_eq!(error, message.replace("HUB", &server.endpoint));
    }
}

/// What every part of the program logs at the finest level.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_token_is_in_no_log_no_message_and_no_file() {
    let written = Written::default();
    let writer = written.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let locator = place.locator(&server).with_token("hf_secret");
    tracing::info!("{locator:?}");
    let log = Log::default();
    let listing = locator.list("o/n", None, &log, &CancelToken::new()).unwrap();
    assert!(listing.with_token);
    tracing::info!("{listing:?}");
    locator.locate(&hub("o/n"), &log, &CancelToken::new()).unwrap();
    let logged = String::from_utf8_lossy(&written.0.lock().unwrap()).into_owned();
    assert!(logged.contains("Token(…)"), "the subscriber does listen");
    assert!(!logged.contains("hf_secret") && !log.notices().contains("hf_secret"));
    let mut folders = vec![place.folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let content = fs::read(&entry).unwrap();
                assert!(!content.windows(9).any(|window| window == b"hf_secret"), "{}", entry.display());
            }
        }
    }
}

/// A GGUF file of so many metadata bytes and some data behind its header.
fn gguf(filler_bytes: usize, data_bytes: usize) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(0_u64.to_le_bytes());
    file.extend(1_u64.to_le_bytes());
    file.extend(6_u64.to_le_bytes());
    file.extend(b"filler");
    file.extend(8_u32.to_le_bytes());
    file.extend((filler_bytes as u64).to_le_bytes());
    file.resize(file.len() + filler_bytes, b'x');
    file.resize(file.len() + data_bytes, 0);
    file
}

#[test]
fn the_header_of_a_gguf_is_read_without_the_rest() {
    let content = gguf(5 << 20, 30 << 20);
    let server = HubServer::new(&[("n-Q8_0.gguf", &content)]);
    let place = Place::new();
    let model = ModelRef::parse("o/n");
    let glimpse = place.locator(&server).glimpse(&model, &Log::default(), &CancelToken::new()).unwrap();
    let GlimpseContent::Header(header) = &glimpse.content else { panic!("{glimpse:?}") };
    assert_eq!(header.str("filler").map(str::len), Some(5 << 20));
    assert_eq!(glimpse.choice.unwrap().total_bytes(), content.len() as u64);
    let ranges: Vec<_> =
        server.storage_requests().iter().map(|request| (request.from_byte, request.end_byte)).collect();
    let mib = |count: usize| count << 20;
    assert_eq!(ranges, [(0, Some(mib(2))), (mib(2), Some(mib(4))), (mib(4), Some(mib(8)))]);
    assert!(!place.path("hub").exists(), "nothing is kept");
}

#[test]
fn a_server_without_ranges_is_not_read_to_its_end() {
    let content = gguf(3 << 20, 1 << 20);
    let all = content.clone();
    let server = HubServer::with_fault(&[("n-Q8_0.gguf", &content)], move |request, reply| {
        if is_storage(request) { Reply::status(200).body(all.clone()) } else { reply }
    });
    let place = Place::new();
    let model = ModelRef::parse("o/n:Q8_0");
    let glimpse = place.locator(&server).glimpse(&model, &Log::default(), &CancelToken::new()).unwrap();
    assert!(matches!(glimpse.content, GlimpseContent::Header(_)));
    let server = HubServer::new(&[("n-Q8_0.gguf", b"<html>no GGUF</html>")]);
    let error = place.locator(&server).glimpse(&model, &Log::default(), &CancelToken::new()).unwrap_err();
    assert!(error.to_string().contains("wrong magic bytes"), "{error}");
}

#[test]
fn of_a_folder_model_only_its_configuration_is_fetched() {
    let weights = weights();
    let server = HubServer::new(&folder_model(&weights));
    let place = Place::new();
    let locator = place.locator(&server);
    let glimpse = locator.glimpse(&hub("o/n"), &Log::default(), &CancelToken::new()).unwrap();
    let GlimpseContent::Folder(folder) = &glimpse.content else { panic!("{glimpse:?}") };
    assert!(folder.join("config.json").exists() && folder.join("tokenizer.json").exists());
    assert!(server.storage_requests().is_empty(), "no weights");
    assert_eq!(locator.cached(&hub("o/n")), None, "what is there is no whole model");
    let found = locate(&locator, &hub("o/n")).unwrap();
    let again = locator.glimpse(&hub("o/n"), &Log::default(), &CancelToken::new()).unwrap();
    assert_eq!(again.content, GlimpseContent::Whole(found.path));
}
