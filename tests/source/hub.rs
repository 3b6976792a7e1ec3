//! What is fetched from the Hub, where it goes, and what the Hub refuses.

use crate::hub_server::{COMMIT, HubServer, Reply, etag};
use crate::support::{Log, Place, folder_model, hub, is_storage, locate, weights};
use sinkscope::model::source::{ModelRef, SourceError};
use sinkscope::progress::CancelToken;
use std::fs;
use std::path::Path;

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
        "o/n has several GGUF models; choose one, for example o/n:Q4_0. It has Q4_0, Q8_0; their sizes: sinkscope models list o/n"
    );
    let found = locate(&locator, &hub("o/n:n.Q8_0.gguf")).unwrap();
    assert_eq!(found.name, "n.Q8_0");
    assert_eq!(fs::read(&found.path).unwrap(), b"eight");
    assert_eq!(found.sha256, Some(etag("n.gguf", b"eight")));
    let error = locate(&locator, &hub("o/n:other.gguf")).unwrap_err().to_string();
    assert_eq!(error, "o/n can't be used: it has no file other.gguf; it has Q4_0, Q8_0");
}

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
