//! The Hugging Face cache on disk, in the layout that Python's `huggingface_hub` reads and writes:
//! `models--owner--name/{blobs,refs,snapshots}`, where a snapshot's files are links to blobs.

use super::gguf_files::{gguf_models, split_part};
use super::names::{HubName, Pick, is_gguf, stem};
use super::repository::{INDEX, SINGLE, shards, tokenizer_files};
use super::{LocatedModel, SourceError};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The branch that is meant when none is named.
pub(super) const MAIN: &str = "main";

/// The folder that `HF_HUB_CACHE` names.
#[derive(Debug, Clone)]
pub(super) struct HubCache {
    pub(super) root: PathBuf,
}

impl HubCache {
    fn repository(&self, name: &HubName) -> PathBuf {
        self.root.join(folder_name(name))
    }

    /// Where a blob lies or is to lie.
    pub(super) fn blob(&self, name: &HubName, blob: &str) -> PathBuf {
        self.repository(name).join("blobs").join(blob)
    }

    /// Where a blob is while it is being received; the name under which Python resumes, too.
    pub(super) fn partial(&self, name: &HubName, blob: &str) -> PathBuf {
        self.repository(name).join("blobs").join(format!("{blob}.incomplete"))
    }

    /// Where a file of a commit can be read.
    pub(super) fn snapshot_file(&self, name: &HubName, commit: &str, file: &str) -> PathBuf {
        self.repository(name).join("snapshots").join(commit).join(file)
    }

    /// A whole model of this name, where the cache has one.
    pub(super) fn find(&self, name: &HubName, revision: &str) -> Option<LocatedModel> {
        let commit = self.commit(name, revision)?;
        let snapshot = self.repository(name).join("snapshots").join(&commit);
        let weights = match &name.pick {
            Pick::Safetensors => folder_weights(&snapshot),
            Pick::Usual => folder_weights(&snapshot).or_else(|| whole_gguf(&snapshot, &name.pick)),
            Pick::File(_) | Pick::Quantisation(_) => whole_gguf(&snapshot, &name.pick),
        }?;
        let gguf = is_gguf(&weights.to_string_lossy());
        Some(LocatedModel {
            name: if gguf { gguf_name(&weights) } else { name.name.clone() },
            sha256: blob_hash(&weights),
            path: if gguf { weights } else { snapshot },
            source: format!("hub:{}@{commit}", name.repository()),
        })
    }

    /// The files that a commit's folder has, by their paths in the repository.
    pub(super) fn snapshot_files(&self, name: &HubName, commit: &str) -> Vec<String> {
        files_below(&self.snapshot_file(name, commit, ""))
    }

    /// How many bytes of a file are here, and whether those are all.
    pub(super) fn bytes_of(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        blob: Option<&str>,
        size_bytes: Option<u64>,
    ) -> (u64, bool) {
        let length =
            |path: PathBuf| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
        // Another commit may have brought the same content.
        let whole = length(self.snapshot_file(name, commit, file)).or_else(|| {
            length(self.blob(name, blob?)).filter(|&bytes| size_bytes.is_none_or(|size| size == bytes))
        });
        if let Some(bytes) = whole {
            return (bytes, true);
        }
        let partial = blob.and_then(|blob| length(self.partial(name, blob))).unwrap_or(0);
        (partial.min(size_bytes.unwrap_or(u64::MAX)), false)
    }

    /// The commit that a branch or tag stood for when it was last asked for.
    pub(super) fn commit(&self, name: &HubName, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = fs::read_to_string(self.repository(name).join("refs").join(revision)).ok()?;
        Some(text.trim().to_owned()).filter(|commit| is_commit(commit))
    }

    /// Makes a blob visible under its name in a commit.
    pub(super) fn link(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        blob: &str,
    ) -> Result<(), SourceError> {
        let link = self.snapshot_file(name, commit, file);
        let failed = |error: std::io::Error| SourceError::cache(&error, &link);
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        // A link to a blob that was deleted would be in the way.
        match fs::remove_file(&link) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let up = "../".repeat(2 + file.matches('/').count());
        let target = PathBuf::from(format!("{up}blobs/{blob}"));
        match make_link(&target, &self.blob(name, blob), &link) {
            // Another program was as quick; the same commit means the same blob.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Records which commit a branch or tag stands for.
    pub(super) fn write_ref(&self, name: &HubName, revision: &str, commit: &str) -> Result<(), SourceError> {
        if is_commit(revision) {
            return Ok(());
        }
        let path = self.repository(name).join("refs").join(revision);
        let write = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, commit)
        };
        write().map_err(|error| SourceError::cache(&error, &path))
    }

    /// The lock that Python and hf-hub take around the transfer of a blob.
    pub(super) fn lock(&self, name: &HubName, blob: &str) -> Result<BlobLock, SourceError> {
        let path = self.root.join(".locks").join(folder_name(name)).join(format!("{blob}.lock"));
        let open = || {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::options().write(true).create(true).truncate(false).open(&path)
        };
        Ok(BlobLock(open().map_err(|error| SourceError::cache(&error, &path))?))
    }
}

/// Held while one process transfers a blob; let go when dropped.
pub(super) struct BlobLock(File);

impl BlobLock {
    /// Whether the lock is ours. File systems without locks always say yes: the hash check guards the result.
    pub(super) fn try_take(&self) -> bool {
        !matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }
}

fn folder_name(name: &HubName) -> String {
    format!("models--{}--{}", name.owner, name.name)
}

/// Whether a revision is a full commit hash.
pub(super) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The first weights file of a folder that has everything which a model needs.
fn folder_weights(folder: &Path) -> Option<PathBuf> {
    let there = |name: &str| Some(folder.join(name)).filter(|file| file.is_file());
    there("config.json")?;
    tokenizer_files(|name| there(name).is_some())?;
    if let Some(single) = there(SINGLE) {
        return Some(single);
    }
    match there(INDEX) {
        Some(index) => {
            let names = shards("", &fs::read(index).ok()?).ok()?;
            let files: Option<Vec<_>> = names.iter().map(|shard| there(shard)).collect();
            files?.into_iter().next()
        }
        None => only_file(folder, |name| name.ends_with(".safetensors")),
    }
}

/// The (first) file of the one GGUF model in a folder that is meant and whole.
fn whole_gguf(folder: &Path, pick: &Pick) -> Option<PathBuf> {
    let files = files_below(folder);
    let models = gguf_models(&files);
    let mut meant = models.iter().filter(|model| match pick {
        Pick::File(file) => model.has(file),
        Pick::Quantisation(label) => model.quantisation.as_ref() == Some(label),
        Pick::Usual | Pick::Safetensors => true,
    });
    match (meant.next(), meant.next()) {
        (Some(only), None) => only.whole.then(|| folder.join(&only.files[0])),
        (None, _) => match pick {
            // Asked for by name, a file that is no model is the loader's to refuse.
            Pick::File(file) => files.contains(file).then(|| folder.join(file)),
            _ => None,
        },
        (Some(_), Some(_)) => None,
    }
}

/// A GGUF file's name without its ending and without the number of its part.
fn gguf_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    split_part(&name).map_or_else(|| stem(file), |(whole, _)| whole.to_owned())
}

/// Paths of the files in a folder and its folders, relative to it, with `/` between their parts.
fn files_below(folder: &Path) -> Vec<String> {
    /// No repository nests deeper, but a link might lead in circles.
    const DEEPEST: usize = 6;
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let path = entry.path();
            if path.is_file() {
                files.push(name);
            } else if path.is_dir() && depth < DEEPEST {
                folders.push((path, format!("{name}/"), depth + 1));
            }
        }
    }
    files.sort();
    files
}

fn only_file(folder: &Path, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut matching = files.filter(|path| wanted(&path.to_string_lossy()) && path.is_file());
    matching.next().filter(|_| matching.next().is_none())
}

/// The sha256 in the name of the blob that a snapshot's file links to; only large files are named by it.
fn blob_hash(file: &Path) -> Option<String> {
    let blob = fs::read_link(file).ok()?.file_name()?.to_str()?.to_owned();
    Some(blob).filter(|name| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(unix)]
fn make_link(target: &Path, _blob: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Windows lets only some users make symbolic links; a hard link costs no space either.
#[cfg(not(unix))]
fn make_link(_target: &Path, blob: &Path, link: &Path) -> std::io::Result<()> {
    fs::hard_link(blob, link).or_else(|_| fs::copy(blob, link).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn add(cache: &HubCache, name: &HubName, file: &str, blob: &str, content: &str) {
        fs::create_dir_all(cache.blob(name, "")).unwrap();
        fs::write(cache.blob(name, blob), content).unwrap();
        cache.link(name, COMMIT, file, blob).unwrap();
    }

    #[test]
    fn a_snapshot_is_a_model_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let cache = HubCache { root: folder.path().to_owned() };
        let name = HubName::parse("o/n").unwrap();
        cache.write_ref(&name, MAIN, COMMIT).unwrap();
        assert_eq!(cache.find(&name, MAIN), None);
        add(&cache, &name, "config.json", "c", "{}");
        add(&cache, &name, "tokenizer.json", "t", "{}");
        add(&cache, &name, INDEX, "i", r#"{"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}}"#);
        let hash = "ab".repeat(32);
        add(&cache, &name, "m-1.safetensors", &hash, "weights");
        assert_eq!(cache.find(&name, MAIN), None, "the second shard is missing");
        add(&cache, &name, "m-2.safetensors", "w2", "weights");

        let found = cache.find(&name, MAIN).unwrap();
        assert_eq!(found.name, "n");
        assert_eq!(found.source, format!("hub:o/n@{COMMIT}"));
        assert_eq!(found.sha256, Some(hash.clone()));
        assert_eq!(fs::read_to_string(found.path.join("config.json")).unwrap(), "{}");
        assert_eq!(cache.find(&name, COMMIT), Some(found));

        fs::remove_file(cache.blob(&name, &hash)).unwrap();
        assert_eq!(cache.find(&name, MAIN), None, "a link whose blob is gone is no file");
    }

    #[test]
    fn a_file_in_a_folder_links_back_to_its_blob() {
        let folder = tempfile::tempdir().unwrap();
        let cache = HubCache { root: folder.path().to_owned() };
        let name = HubName::parse("o/n:q8/n.gguf").unwrap();
        cache.write_ref(&name, "refs/pr/1", COMMIT).unwrap();
        add(&cache, &name, "q8/n.gguf", "g", "GGUF");
        let found = cache.find(&name, "refs/pr/1").unwrap();
        assert_eq!((found.name.as_str(), fs::read_to_string(&found.path).unwrap().as_str()), ("n", "GGUF"));
    }

    #[test]
    fn only_one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let cache = HubCache { root: folder.path().to_owned() };
        let name = HubName::parse("o/n").unwrap();
        let first = cache.lock(&name, "b").unwrap();
        assert!(first.try_take());
        let second = cache.lock(&name, "b").unwrap();
        assert!(!second.try_take());
        drop(first);
        assert!(second.try_take());
    }
}
