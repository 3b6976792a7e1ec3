//! Files that were cut or changed on their way.

use crate::support::{assert_same, members, saved, session};
use sinkscope::session::{Kept, SessionError, read_session};
use std::path::Path;

fn open(path: &Path, bytes: &[u8]) -> Result<sinkscope::session::Session, SessionError> {
    std::fs::write(path, bytes).expect("written");
    let result = read_session(path);
    assert_eq!(std::fs::read(path).expect("the file"), bytes, "opening changes nothing");
    result
}

#[test]
fn a_file_cut_anywhere_is_refused_with_what_is_wrong() {
    let (folder, path) = saved(&session(), Kept::F32);
    let whole = std::fs::read(&path).expect("the file");
    let cut = folder.path().join("cut.sinkscope");
    // All of the beginning and of the directory at the end, and a sample of what lies between.
    let places =
        (0..200).chain((200..whole.len() - 6000).step_by(1009)).chain(whole.len() - 6000..whole.len());
    for place in places {
        let error = open(&cut, &whole[..place]).expect_err("cut").to_string();
        let wanted = if place < 4 { "This is no Sinkscope session" } else { "This session is damaged, " };
        assert!(error.starts_with(wanted), "cut at {place}: {error}");
        assert!(error.ends_with("cut.sinkscope") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_flipped_bit_is_noticed_or_changes_nothing() {
    let before = session();
    let (folder, path) = saved(&before, Kept::F32);
    let whole = std::fs::read(&path).expect("the file");
    let flipped = folder.path().join("flipped.sinkscope");
    let places =
        (0..300).chain((300..whole.len() - 3000).step_by(211)).chain(whole.len() - 3000..whole.len());
    let mut noticed = 0;
    for place in places {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        match open(&flipped, &bytes) {
            Ok(after) => assert_same(&before, &after, Kept::F32),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 500, "most bytes matter: {noticed}");
}

#[test]
fn each_member_that_is_missing_or_changed_is_named() {
    let (folder, path) = saved(&session(), Kept::F32);
    let all = members(&path);
    let other = folder.path().join("other.sinkscope");
    for (victim, _) in &all {
        // As if another program had written the archive anew: its own checksums are right.
        let without: Vec<_> = all.iter().filter(|(name, _)| name != victim).cloned().collect();
        crate::forged::write_members(&other, &without);
        let error = read_session(&other).expect_err("missing").to_string();
        let wanted = if victim == "manifest.json" { "This is no Sinkscope session" } else { victim };
        assert!(error.contains(wanted), "{victim}: {error}");

        let mut changed = all.clone();
        let member = changed.iter_mut().find(|(name, _)| name == victim).expect("it is there");
        let last = member.1.len() - 1;
        member.1[last] ^= 0x10;
        crate::forged::write_members(&other, &changed);
        let error = read_session(&other).expect_err("changed").to_string();
        assert!(error.contains(&**victim), "{victim}: {error}");
    }
}
