//! Files that are whole but say what can't be: every checksum in them is right.

use crate::support::{members, saved, session};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sinkscope::session::{Kept, SessionError, read_session};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes an archive of these members as they are.
pub(crate) fn write_members(path: &Path, members: &[(String, Vec<u8>)]) {
    write_members_with(path, members, zip::CompressionMethod::Stored);
}

fn write_members_with(path: &Path, members: &[(String, Vec<u8>)], method: zip::CompressionMethod) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        zip.start_file(name.as_str(), options).expect("a member");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("finished");
}

/// A saved session whose members a test changes.
struct Forgery {
    folder: tempfile::TempDir,
    members: Vec<(String, Vec<u8>)>,
}

impl Forgery {
    fn new() -> Self {
        let (folder, path) = saved(&session(), Kept::F32);
        Self { members: members(&path), folder }
    }

    fn member(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.members.iter_mut().find(|(other, _)| other == name).expect("a member").1
    }

    fn json(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let member = self.member(name);
        let mut value = serde_json::from_slice(member).expect("JSON");
        change(&mut value);
        *member = serde_json::to_vec(&value).expect("JSON");
    }

    /// Makes the manifest true again.
    fn sign(&mut self) {
        let members: Vec<(String, usize, String)> = self
            .members
            .iter()
            .filter(|(name, _)| name != "manifest.json")
            .map(|(name, bytes)| {
                let digest = Sha256::digest(bytes);
                let hex = digest.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
                (name.clone(), bytes.len(), hex)
            })
            .collect();
        self.json("manifest.json", |manifest| {
            for (name, bytes, sha256) in members {
                manifest["members"][name] = json!({"bytes": bytes, "sha256": sha256});
            }
        });
    }

    fn refused(&self) -> SessionError {
        let path = self.path();
        write_members(&path, &self.members);
        read_session(&path).expect_err("refused")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("forged.sinkscope")
    }
}

#[test]
fn a_newer_version_is_refused_by_its_number_whatever_else_it_holds() {
    let mut forgery = Forgery::new();
    forgery.json("manifest.json", |manifest| {
        *manifest = json!({"format": "sinkscope session", "version": 2, "pages": [1, 2, 3]});
    });
    let error = forgery.refused();
    assert!(matches!(error, SessionError::Newer { version: 2, .. }), "{error:?}");
    let wanted = "This session is of format 2, this Sinkscope reads up to 1: update Sinkscope: ";
    assert_eq!(error.to_string(), format!("{wanted}{}", forgery.path().display()));
}

#[test]
fn other_files_are_no_sessions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.sinkscope");
    for content in [&b""[..], b"PK", b"GGUF\x03\0\0\0", b"{\"format\": \"sinkscope session\"}"] {
        std::fs::write(&path, content).expect("written");
        let error = read_session(&path).expect_err("no session");
        assert!(matches!(error, SessionError::NotASession { .. }), "{error:?}");
    }
    write_members(&path, &[("word/document.xml".to_owned(), b"<w/>".to_vec())]);
    assert!(matches!(read_session(&path), Err(SessionError::NotASession { .. })));
    write_members(&path, &[("manifest.json".to_owned(), br#"{"format": "epub", "version": 1}"#.to_vec())]);
    assert!(matches!(read_session(&path), Err(SessionError::NotASession { .. })));
    let missing = read_session(&folder.path().join("missing")).expect_err("missing").to_string();
    assert!(missing.starts_with("Can't read the session (entity not found): "), "{missing}");
    assert!(read_session(folder.path()).is_err(), "a folder is no session");
}

#[test]
fn sizes_that_no_machine_has_are_refused_before_memory_is_asked_for() {
    const HUGE: u64 = 1 << 61;
    for change in [
        &(|spec: &mut Value| spec["head_dim"] = json!(HUGE)) as &dyn Fn(&mut Value),
        &|spec| spec["head_dim"] = json!(u64::MAX),
        &|spec| (spec["heads"], spec["kv_heads"]) = (json!(HUGE), json!(HUGE)),
        &|spec| spec["layers"] = json!(HUGE),
        &|spec| spec["layers"] = json!(0),
        &|spec| spec["kv_heads"] = json!(0),
        &|spec| spec["kv_heads"] = json!(2),
        &|spec| spec["head_dim"] = json!(0),
        &|spec| spec["windows"] = json!([null]),
        &|spec| spec["windows"] = json!([0, null]),
        &|spec| spec["heads"] = json!(-3),
        &|spec| *spec = json!({}),
    ] {
        let mut forgery = Forgery::new();
        forgery.json("model.json", |model| change(&mut model["info"]["spec"]));
        forgery.sign();
        let error = forgery.refused();
        assert!(matches!(error, SessionError::Damaged { .. }), "{error:?}");
    }
}

#[test]
fn a_manifest_that_lies_about_sizes_is_not_believed() {
    for bytes in [0, 1, 1 << 20, 1 << 40, u64::MAX] {
        for name in ["layers/0/q.npy", "tokens.json", "nll_nats.npy"] {
            let mut forgery = Forgery::new();
            forgery.json("manifest.json", |manifest| manifest["members"][name]["bytes"] = json!(bytes));
            let error = forgery.refused().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}

#[test]
fn members_that_would_unfold_are_not_unfolded() {
    let mut forgery = Forgery::new();
    // A gigabyte of blanks is a megabyte when it is deflated; one in a hundred of it tells the same.
    let blanks = vec![b' '; 10 << 20];
    forgery.member("view.json").splice(0..0, blanks);
    forgery.sign();
    let path = forgery.path();
    write_members_with(&path, &forgery.members, zip::CompressionMethod::Deflated);
    let error = read_session(&path).expect_err("deflated").to_string();
    assert!(error.contains("impossible size"), "{error}");
}

#[test]
fn texts_and_arrays_that_do_not_fit_each_other_are_refused() {
    type Change<'a> = &'a dyn Fn(&mut Forgery);
    let cases: [(&str, Change<'_>); 10] = [
        ("nll_nats.npy", &|f| {
            f.json("tokens.json", |tokens| {
                tokens["tokens"].as_array_mut().unwrap().pop();
            });
        }),
        ("no tokens", &|f| f.json("tokens.json", |tokens| tokens["tokens"] = json!([]))),
        ("layers/1/q.npy", &|f| f.member("layers/1/q.npy").truncate(1000)),
        ("layers/1/lse.npy", &|f| f.member("layers/1/lse.npy")[20] ^= 1),
        ("evictions.json", &|f| f.json("evictions.json", |runs| runs[0]["case"]["policy"] = json!("magic"))),
        ("budget 0", &|f| f.json("evictions.json", |runs| runs[0]["case"]["budget"] = json!(0))),
        ("pin 4000", &|f| f.json("evictions.json", |runs| runs[0]["pins"] = json!([4000]))),
        ("history", &|f| {
            f.json("evictions.json", |runs| runs[1]["case"] = json!({"policy": "fifo", "budget": 20}));
        }),
        ("runs/2/", &|f| {
            f.json("evictions.json", |runs| {
                let run = runs[0].clone();
                runs.as_array_mut().unwrap().push(run);
            });
        }),
        ("prompt.json", &|f| *f.member("prompt.json") = b"{}".to_vec()),
    ];
    for (wanted, change) in cases {
        let mut forgery = Forgery::new();
        change(&mut forgery);
        forgery.sign();
        let error = forgery.refused();
        assert!(matches!(error, SessionError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
    }
}
