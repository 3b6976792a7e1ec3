//! Transfers that break, lie, stall, are cancelled or killed, or fill the disk.

use crate::hub_server::{HubServer, Reply, etag};
use crate::support::{Log, Place, breaks_off_for_good, folder_model, hub, is_storage, locate, weights};
use sinkscope::model::source::{Locator, SourceError};
use sinkscope::progress::CancelToken;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    assert!(log.notices().contains("model.safetensors broke off at 977 KiB"), "{}", log.notices());
}

#[test]
fn a_transfer_that_never_comes_back_ends_and_keeps_what_it_has() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), breaks_off_for_good);
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
        .args(["--exact", "transfer::download_until_killed", "--ignored"])
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

#[test]
fn two_at_once_download_it_once() {
    let weights = weights();
    let server = HubServer::with_fault(&folder_model(&weights), |request, reply| {
        if is_storage(request) {
            // Long enough for the second to meet the first.
            std::thread::sleep(Duration::from_millis(500));
        }
        reply
    });
    let place = Place::new();
    let locator = place.locator(&server);
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| locate(&locator, &hub("o/n")).unwrap());
        let second = scope.spawn(|| locate(&locator, &hub("o/n")).unwrap());
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(first, second);
    assert_eq!(fs::read(first.path.join("model.safetensors")).unwrap(), weights);
    assert_eq!(server.storage_requests().len(), 1);
}
