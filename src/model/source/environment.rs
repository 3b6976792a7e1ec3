//! A [`Locator`] from the environment's variables.

use super::Locator;
use super::hub::Token;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

impl Locator {
    /// Follows the environment, with the variables and defaults of Python's `huggingface_hub`: `SINKSCOPE_HOME`,
    /// `HF_HUB_CACHE`, `HF_HOME`, `HF_ENDPOINT`, `HF_TOKEN` (or its old name `HUGGING_FACE_HUB_TOKEN`, else the token
    /// file of a login, which `HF_TOKEN_PATH` may name), `HF_HUB_OFFLINE`.
    #[must_use]
    pub fn from_environment(offline: bool) -> Self {
        let directories = directories::BaseDirs::new();
        let cache = directories.map_or_else(std::env::temp_dir, |base| base.cache_dir().to_owned());
        let home_cache = std::env::home_dir().map_or_else(|| cache.clone(), |home| home.join(".cache"));
        Self::from_variables(|name| std::env::var_os(name), &cache, &home_cache).offline(offline)
    }

    /// `platform_cache` is where applications cache, `home_cache` is `~/.cache`, where Python's library does.
    fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
        platform_cache: &Path,
        home_cache: &Path,
    ) -> Self {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let path = |name| variable(name).map(PathBuf::from);
        let text = |name| variable(name).and_then(|value| value.into_string().ok());
        let hf_home = path("HF_HOME").unwrap_or_else(|| {
            path("XDG_CACHE_HOME").unwrap_or_else(|| home_cache.to_owned()).join("huggingface")
        });
        let token_file = path("HF_TOKEN_PATH").unwrap_or_else(|| hf_home.join("token"));
        let stored_token = || {
            let wanted = variable("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_none();
            wanted.then(|| std::fs::read_to_string(token_file).ok()).flatten()
        };
        let given = text("HF_TOKEN").or_else(|| text("HUGGING_FACE_HUB_TOKEN"));
        let token = given.or_else(stored_token).map(|token| token.trim().to_owned());
        let mut locator = Self::new(
            path("SINKSCOPE_HOME").unwrap_or_else(|| platform_cache.join("sinkscope")),
            path("HF_HUB_CACHE").unwrap_or_else(|| hf_home.join("hub")),
        );
        locator.hub.token = token.filter(|token| !token.is_empty()).map(Token);
        if let Some(endpoint) = text("HF_ENDPOINT") {
            locator = locator.with_endpoint(endpoint);
        }
        let yes = |value: String| matches!(value.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE");
        locator.hub_offline = text("HF_HUB_OFFLINE").is_some_and(yes);
        locator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locator(variables: &[(&str, &str)]) -> Locator {
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        Locator::from_variables(lookup, Path::new("/cache"), Path::new("/home/u/.cache"))
    }

    #[test]
    fn without_variables_the_usual_folders_are_used() {
        let plain = locator(&[("HF_TOKEN", ""), ("HF_HOME", "")]);
        assert_eq!(plain.home(), Path::new("/cache/sinkscope"));
        assert_eq!(plain.hub_cache(), Path::new("/home/u/.cache/huggingface/hub"));
        assert_eq!(plain.hub.endpoint, "https://huggingface.co");
        assert!(plain.hub.token.is_none() && !plain.hub_offline && !plain.offline);
    }

    #[test]
    fn each_variable_counts_as_in_python() {
        let xdg = locator(&[("XDG_CACHE_HOME", "/xdg")]);
        assert_eq!(xdg.hub_cache(), Path::new("/xdg/huggingface/hub"));
        let set = locator(&[
            ("SINKSCOPE_HOME", "/s"),
            ("HF_HOME", "/h"),
            ("HF_ENDPOINT", "http://hub.local/"),
            ("HF_TOKEN", "hf_secret\n"),
            ("HF_HUB_OFFLINE", "true"),
        ]);
        assert_eq!((set.home(), set.hub_cache()), (Path::new("/s"), Path::new("/h/hub")));
        assert_eq!(set.hub.endpoint, "http://hub.local");
        assert_eq!(set.hub.token.as_ref().unwrap().0, "hf_secret");
        assert!(set.hub_offline);
        assert!(!format!("{set:?}").contains("secret"));
        let cache = locator(&[("HF_HOME", "/h"), ("HF_HUB_CACHE", "/elsewhere")]);
        assert_eq!(cache.hub_cache(), Path::new("/elsewhere"));
    }

    #[test]
    fn a_login_leaves_its_token_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "hf_stored\n").unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(locator(&[("HF_HOME", home)]).hub.token.unwrap().0, "hf_stored");
        std::fs::write(folder.path().join("other"), "hf_other").unwrap();
        let path = folder.path().join("other");
        let named = locator(&[("HF_HOME", home), ("HF_TOKEN_PATH", path.to_str().unwrap())]);
        assert_eq!(named.hub.token.unwrap().0, "hf_other");
        let old = locator(&[("HF_HOME", home), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]);
        assert_eq!(old.hub.token.unwrap().0, "hf_old");
        let both = locator(&[("HF_TOKEN", "hf_new"), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]);
        assert_eq!(both.hub.token.unwrap().0, "hf_new");
        let disabled = locator(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]);
        assert!(disabled.hub.token.is_none());
    }
}
