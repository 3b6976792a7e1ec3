//! Opening a model from the Hub, as a person does it: the real window, the real engine, a Hub on this machine.

use crate::hub_server::{HubServer, Reply, Request};
use crate::stage::builder;
use crate::support::Answering;
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use sinkscope::app::hub::HubCommand;
use sinkscope::app::settings::{Recent, Settings};
use sinkscope::app::{App, AppState, Command, Picked, Services};
use sinkscope::engine::Engine;
use sinkscope::model::source::{Locator, ModelRef};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Desk {
    harness: Harness<'static, App>,
    server: HubServer,
    folder: TempDir,
}

/// A window without a model whose Hub is `server`.
fn desk(server: HubServer) -> Desk {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (home, cache) = (folder.path().join("home"), folder.path().join("hub"));
    let endpoint = server.endpoint.clone();
    let locator = move |offline| Locator::new(&home, &cache).with_endpoint(&endpoint).offline(offline);
    let services = Services {
        engine: Box::new(Engine::start_with(locator, || {})),
        dialogs: Box::new(Answering::new(Picked::Cancelled)),
        wake: Box::new(|| {}),
    };
    let state = AppState::new(services, Settings::default(), false);
    let harness =
        builder(egui::Theme::Dark).build_eframe(move |creation| App::new(&creation.egui_ctx, state));
    Desk { harness, server, folder }
}

impl Desk {
    fn state(&self) -> &AppState {
        self.harness.state().state()
    }

    fn step_until(&mut self, what: &str, done: impl Fn(&AppState) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !done(self.state()) {
            assert!(Instant::now() < deadline, "never happened: {what}; {:?}", self.state().hub);
            std::thread::sleep(Duration::from_millis(5));
            self.harness.step();
        }
        self.harness.run_steps(4);
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.run_steps(4);
    }

    /// Types a name into the model card's field and waits for what the Hub has.
    fn list(&mut self, name: &str) {
        self.harness.run_steps(2);
        self.harness.get_by_label("Hub name").focus();
        self.harness.run_steps(2);
        self.harness.get_by_label("Hub name").type_text(name);
        self.harness.run_steps(2);
        self.click("List…");
        self.step_until("an answer of the Hub", |state| state.hub.listing_job.is_none());
    }

    /// The models on offer, as a screen reader says them.
    fn offered(&self) -> Vec<String> {
        let rows = self.harness.query_all_by_role(egui::Role::RadioButton);
        rows.filter_map(|row| row.accesskit_node().label()).collect()
    }

    fn is_shown(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }
}

fn is_content(request: &Request) -> bool {
    request.path.contains("/resolve") || request.path.starts_with("/storage/")
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32 / 4).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

/// The tiny llama of the fixtures, as a repository.
fn tiny_model() -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new("tests/fixtures/tiny/llama");
    let files = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"];
    let read = |name: &str| std::fs::read(folder.join(name)).ok().map(|content| (name.to_owned(), content));
    files.into_iter().filter_map(read).collect()
}

#[test]
fn a_repository_is_listed_with_sizes_before_anything_is_downloaded() {
    let (q4, q8) = (bytes(3 << 20), bytes(6 << 20));
    let files: [(&str, &[u8]); 4] =
        [("README.md", b"#"), ("mmproj-F16.gguf", b"m"), ("n-Q8_0.gguf", &q8), ("n-Q4_K_M.gguf", &q4)];
    let mut desk = desk(HubServer::new(&files));
    desk.list("o/n");
    assert_eq!(desk.offered(), ["Q4_K_M, 3.0 MiB", "Q8_0, 6.0 MiB"]);
    assert!(desk.is_shown("Choose one of the models") && !desk.state().hub.can_open());
    desk.click("Q8_0, 6.0 MiB");
    assert_eq!(desk.harness.get_by_label("n-Q8_0.gguf").value().as_deref(), Some("6.0 MiB"));
    assert!(desk.is_shown("Downloads 6.0 MiB · "), "and how much room there is");
    assert!(desk.is_shown(" free in "));
    desk.harness.get_by_label("Download 6.0 MiB and open");
    assert!(!desk.server.requests().iter().any(is_content), "nothing is downloaded");
    assert!(!desk.folder.path().join("hub").exists());

    desk.harness.key_press(egui::Key::Escape);
    desk.harness.run_steps(3);
    assert!(!desk.state().hub.is_open);
    assert!(desk.state().job.is_none());
}

#[test]
fn a_download_shows_how_far_it_is_can_be_stopped_and_goes_on_from_there() {
    let content = bytes(4 << 20);
    let files: [(&str, &[u8]); 1] = [("n-Q8_0.gguf", &content)];
    let server = HubServer::with_fault(&files, |request, mut reply| {
        if request.path.starts_with("/storage/") && request.earlier == 0 {
            reply.stall_after = Some(1 << 20);
        }
        reply
    });
    let mut desk = desk(server);
    desk.list("o/n");
    desk.click("Download 4.0 MiB and open");
    desk.step_until("a megabyte and its speed", |state| {
        let Some(job) = &state.job else { return false };
        job.line().contains("/s") && job.progress.as_ref().is_some_and(|progress| progress.done >= 1 << 20)
    });
    let line = "Downloading n-Q8_0.gguf · 1.0 of 4.0 MiB · ";
    desk.harness.get_all_by_label_contains(line).next().expect("bytes and speed");
    desk.harness.get_by_label("Opening");
    desk.click("Stop");
    desk.step_until("the list again", |state| state.job.is_none() && state.hub.listing_job.is_none());
    assert!(desk.state().hub.is_open && desk.state().hub.failure.is_none());
    assert!(desk.is_shown("Downloads 3.0 MiB, 1.0 MiB are here already"));
    let row = desk.harness.get_by_label("Q8_0, 4.0 MiB").value();
    assert_eq!(row.as_deref(), Some("n-Q8_0.gguf, 25% here"));

    desk.click("Download 3.0 MiB and open");
    desk.step_until("an end", |state| state.job.is_none());
    let from: Vec<_> = desk.server.storage_requests().iter().map(|request| request.from_byte).collect();
    assert_eq!(from, [0, 1 << 20], "the second try goes on where the first stopped");
    assert!(desk.is_shown("not a GGUF file"), "what is no model says so in the dialog");
    assert!(desk.state().toasts.is_empty(), "and not twice");
}

#[test]
fn a_model_that_was_downloaded_opens_and_runs() {
    let files = tiny_model();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    let mut desk = desk(HubServer::new(&files));
    desk.list("o/n");
    let [only] = desk.offered().try_into().expect("one model");
    assert!(only.starts_with("Safetensors, "), "{only}");
    assert_eq!(desk.state().hub.chosen, Some(0), "there is nothing to choose");
    desk.harness.get_by_label_contains(" and open").click();
    desk.step_until("a model", |state| state.model.is_some());
    assert!(!desk.state().hub.is_open, "the dialog has done its work");
    assert_eq!(desk.state().settings.recents, [Recent::Hub("o/n".into(), None)]);

    desk.harness.state_mut().state_mut().handle(Command::Hub(HubCommand::Show(true)));
    desk.harness.state_mut().state_mut().handle(Command::Hub(HubCommand::List));
    desk.step_until("the list again", |state| state.hub.listing_job.is_none());
    assert!(desk.is_shown("are in the cache: nothing is downloaded"));
    desk.harness.get_by_label("Open");
}

#[test]
fn a_refusal_is_one_line_that_says_where_to_ask() {
    let server = HubServer::with_fault(&[], |_, _| Reply::status(403).with("x-error-code", "GatedRepo"));
    let mut desk = desk(server);
    desk.list("o/n");
    let line = format!("o/n is gated; ask for access at {}/o/n, then set HF_TOKEN", desk.server.endpoint);
    desk.harness.get_by_label(&line);
    assert!(desk.offered().is_empty() && desk.state().hub.is_open);
    assert!(desk.state().toasts.is_empty() && desk.state().job.is_none());
}

#[test]
fn a_gated_repository_that_lists_its_files_fails_in_the_dialog_when_it_is_opened() {
    let files: [(&str, &[u8]); 1] = [("n-Q8_0.gguf", b"eight bits")];
    let server = HubServer::with_fault(&files, |request, reply| {
        let gated = request.path.contains("/resolve/");
        if gated { Reply::status(401).with("x-error-code", "GatedRepo") } else { reply }
    });
    let mut desk = desk(server);
    desk.list("o/n");
    desk.click("Download 10 B and open");
    desk.step_until("a refusal", |state| state.hub.failure.is_some());
    assert!(desk.is_shown("o/n is gated; ask for access at "));
    assert_eq!(desk.offered(), ["Q8_0, 10 B"], "the choices stay");
    assert!(desk.state().model.is_none() && desk.state().hub.can_open());
}

#[test]
fn listing_leaves_the_model_that_is_being_opened_alone() {
    let files: [(&str, &[u8]); 1] = [("n-Q8_0.gguf", b"eight bits")];
    let mut desk = desk(HubServer::new(&files));
    let path = std::path::PathBuf::from("tests/fixtures/tiny/llama");
    let state = desk.harness.state_mut().state_mut();
    state.handle(Command::OpenModel(ModelRef::Path(path)));
    state.handle(Command::Hub(HubCommand::SetName("o/n".to_owned())));
    state.handle(Command::Hub(HubCommand::List));
    desk.step_until("a model and a list", |state| state.model.is_some() && state.hub.listing.is_some());
    assert_eq!(desk.offered(), ["Q8_0, 10 B"]);
    assert!(desk.state().hub.is_open, "the model that opened is another one");
}

#[test]
fn what_is_no_name_asks_nobody() {
    let mut desk = desk(HubServer::new(&[]));
    desk.list("just-a-word");
    assert!(desk.is_shown("Type owner/name, or paste the address of a model's page on the Hub"));
    assert!(desk.server.requests().is_empty());
}

#[test]
fn a_revision_has_its_own_field() {
    let files: [(&str, &[u8]); 1] = [("n-Q8_0.gguf", b"eight bits")];
    let mut desk = desk(HubServer::new(&files));
    desk.list("https://huggingface.co/o/n");
    desk.harness.get_by_label("Revision").focus();
    desk.harness.run_steps(2);
    desk.harness.get_by_label("Revision").type_text("v2");
    desk.harness.run_steps(2);
    desk.click("List files");
    desk.step_until("an answer", |state| state.hub.listing_job.is_none());
    let asked = desk.server.requests().iter().any(|request| request.path.ends_with("/revision/v2"));
    assert!(asked, "{:?}", desk.server.requests());
    assert_eq!(desk.state().hub.choice().map(|choice| choice.name.as_str()), Some("o/n@v2:Q8_0"));
}
