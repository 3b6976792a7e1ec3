//! File dialogs, behind a trait so that tests can inject a path.

use super::command::{PickKind, Picked};
use crate::session::EXTENSION;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Asks for files. Neither call blocks.
pub trait FileDialogs {
    /// Opens a dialog; its answer comes from [`FileDialogs::poll`].
    fn ask(&mut self, kind: PickKind);
    /// Opens a dialog that suggests a name for a new file.
    fn ask_where(&mut self, kind: PickKind, name: &str) {
        let _ = name;
        self.ask(kind);
    }
    /// An answer that came in, if there is one.
    fn poll(&mut self) -> Option<(PickKind, Picked)>;
}

/// The desktop's own dialogs.
pub struct NativeDialogs {
    sender: Sender<(PickKind, Picked)>,
    receiver: Receiver<(PickKind, Picked)>,
    ctx: egui::Context,
}

impl NativeDialogs {
    /// Dialogs that wake `ctx` when they are answered.
    #[must_use]
    pub fn new(ctx: egui::Context) -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver, ctx }
    }
}

impl FileDialogs for NativeDialogs {
    fn ask(&mut self, kind: PickKind) {
        self.ask_where(kind, "");
    }

    fn ask_where(&mut self, kind: PickKind, name: &str) {
        let name = name.to_owned();
        let (sender, ctx) = (self.sender.clone(), self.ctx.clone());
        let answer = move || {
            // The receiver is gone only when the window is: nobody is left to tell.
            let _ = sender.send((kind, pick(kind, &name)));
            ctx.request_repaint();
        };
        // macOS wants its dialogs on the main thread; elsewhere they must not hold up the window.
        if cfg!(target_os = "macos") {
            answer();
        } else {
            std::thread::spawn(answer);
        }
    }

    fn poll(&mut self) -> Option<(PickKind, Picked)> {
        self.receiver.try_recv().ok()
    }
}

fn pick(kind: PickKind, name: &str) -> Picked {
    // A person needs longer than this to close a dialog, a missing portal does not.
    const QUICKEST_PERSON: Duration = Duration::from_millis(250);
    if !a_dialog_can_open() {
        return Picked::Unavailable;
    }
    let asked = Instant::now();
    let dialog = rfd::FileDialog::new();
    let path = match kind {
        PickKind::ModelFile => {
            dialog.set_title("Open a GGUF model").add_filter("GGUF model", &["gguf"]).pick_file()
        }
        PickKind::ModelFolder => dialog.set_title("Open a model folder").pick_folder(),
        PickKind::PromptFile => dialog
            .set_title("Open a prompt")
            .add_filter("Text or chat", &["txt", "md", "json"])
            .add_filter("All files", &["*"])
            .pick_file(),
        PickKind::Session => {
            dialog.set_title("Open a session").add_filter("Sinkscope session", &[EXTENSION]).pick_file()
        }
        PickKind::SaveSession => dialog
            .set_title("Save the session")
            .add_filter("Sinkscope session", &[EXTENSION])
            .set_file_name(name)
            .save_file(),
        PickKind::Export(format) => {
            let extension = format.extension();
            dialog.set_title("Export").add_filter(extension, &[extension]).set_file_name(name).save_file()
        }
    };
    match path {
        Some(path) => Picked::Path(path),
        None if asked.elapsed() < QUICKEST_PERSON => Picked::Unavailable,
        None => Picked::Cancelled,
    }
}

/// On Linux a dialog needs a session bus (for the portal) or zenity.
fn a_dialog_can_open() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let bus = std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some()
        || std::env::var_os("XDG_RUNTIME_DIR")
            .is_some_and(|dir| std::path::Path::new(&dir).join("bus").exists());
    let zenity = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join("zenity").is_file()));
    bus || zenity
}
