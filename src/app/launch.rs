//! From options to a window: which renderer, and what happens where there is no display.

use super::dialogs::NativeDialogs;
use super::engine_handle::EngineHandle;
use super::guide::GuideCommand;
use super::prompt::PromptDraft;
use super::settings::Settings;
use super::state::{AppState, Services};
use super::{App, Command};
use crate::engine::Engine;
use crate::model::LoadOptions;
use crate::model::source::ModelRef;
use eframe::Renderer;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Environment variable that picks the renderer: `wgpu` or `glow`.
pub(super) const RENDERER_VARIABLE: &str = "SINKSCOPE_RENDERER";

/// What the window starts with.
pub struct RunOptions {
    /// The model to open first.
    pub model: ModelRef,
    /// Whether the network is off limits.
    pub offline: bool,
    /// Where and how weights are kept.
    pub load: LoadOptions,
    /// The prompt in the editor; the sample chat when `None`.
    pub prompt: Option<PromptDraft>,
    /// Starts the engine; it calls what it is given whenever it has something to say.
    pub engine: StartEngine,
}

/// What wakes the window from another thread.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// Starts an engine that wakes the window.
pub type StartEngine = Box<dyn Fn(Wake) -> Box<dyn EngineHandle>>;

impl RunOptions {
    /// A window on this model with the real engine and the sample prompt.
    #[must_use]
    pub fn new(model: ModelRef, offline: bool, load: LoadOptions) -> Self {
        let engine =
            |wake: Box<dyn Fn() + Send + Sync>| -> Box<dyn EngineHandle> { Box::new(Engine::start(wake)) };
        Self { model, offline, load, prompt: None, engine: Box::new(engine) }
    }
}

/// Why there is no window. The headless commands do the same work.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// Nothing to draw on.
    #[error("There is no display: neither DISPLAY nor WAYLAND_DISPLAY is set")]
    NoDisplay,
    /// No renderer came up, or a library is missing.
    #[error("It could not be opened: {0}")]
    NoRenderer(String),
}

/// Opens the window and runs until it is closed.
///
/// # Errors
/// [`WindowError`] when there is no display, no renderer works, or a library is missing.
pub fn run(options: &RunOptions) -> Result<(), WindowError> {
    if !has_display() {
        return Err(WindowError::NoDisplay);
    }
    let mut first_failure = None;
    for renderer in renderers() {
        match open(options, renderer) {
            Ok(()) => return Ok(()),
            Err(why) => {
                tracing::info!("{renderer} failed: {why}");
                // What a second renderer says is often only that the first one failed.
                first_failure.get_or_insert(why);
            }
        }
    }
    Err(WindowError::NoRenderer(first_failure.unwrap_or_default()))
}

fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(all(unix, not(target_os = "macos"))) || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// The renderers to try, the best first.
fn renderers() -> Vec<Renderer> {
    let asked = std::env::var(RENDERER_VARIABLE).unwrap_or_default();
    match asked.to_ascii_lowercase().as_str() {
        "wgpu" => vec![Renderer::Wgpu],
        "glow" => vec![Renderer::Glow],
        // Under software rendering glow draws several times as many frames.
        _ if has_real_adapter() => vec![Renderer::Wgpu, Renderer::Glow],
        _ => vec![Renderer::Glow, Renderer::Wgpu],
    }
}

/// Whether some graphics adapter is more than software.
fn has_real_adapter() -> bool {
    use eframe::wgpu;
    let adapters = catch_unwind(|| {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        let instance = wgpu::Instance::new(descriptor);
        ready(instance.enumerate_adapters(wgpu::Backends::PRIMARY)).unwrap_or_default()
    });
    let is_real = |adapter: &wgpu::Adapter| {
        !matches!(adapter.get_info().device_type, wgpu::DeviceType::Cpu | wgpu::DeviceType::Other)
    };
    adapters.is_ok_and(|adapters| adapters.iter().any(is_real))
}

/// The value of a future that is ready at once, as this one is everywhere but on the web.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

fn open(options: &RunOptions, renderer: Renderer) -> Result<(), String> {
    let native = eframe::NativeOptions {
        renderer,
        viewport: egui::ViewportBuilder::default()
            .with_title("Sinkscope")
            .with_app_id("sinkscope")
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size([960.0, 620.0])
            .with_drag_and_drop(true)
            .with_icon(icon()),
        persist_window: true,
        ..Default::default()
    };
    // winit panics where a library such as libxkbcommon-x11 is missing: that is told in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        eframe::run_native("sinkscope", native, Box::new(|creation| Ok(Box::new(create(options, creation)))))
    }));
    say_panics_again();
    match outcome {
        Ok(result) => result.map_err(|why| in_short(&why.to_string())),
        Err(panic) => Err(panic_message(panic.as_ref())),
    }
}

/// Back to the standard hook, which prints a panic.
fn say_panics_again() {
    drop(std::panic::take_hook());
}

/// Without the place in some library's source that winit's messages carry.
fn in_short(why: &str) -> String {
    if why.contains(".rs:") { why.rsplit(": ").next().unwrap_or(why).to_owned() } else { why.to_owned() }
}

fn create(options: &RunOptions, creation: &eframe::CreationContext<'_>) -> App {
    say_panics_again();
    let ctx = &creation.egui_ctx;
    let settings: Settings =
        creation.storage.and_then(|storage| eframe::get_value(storage, Settings::KEY)).unwrap_or_default();
    let wake = || {
        let ctx = ctx.clone();
        move || ctx.request_repaint()
    };
    let services = Services {
        engine: (options.engine)(Box::new(wake())),
        dialogs: Box::new(NativeDialogs::new(ctx.clone())),
        wake: Box::new(wake()),
    };
    let mut state = AppState::new(services, settings, options.offline);
    state.load = options.load;
    if let Some(prompt) = &options.prompt {
        state.prompt = prompt.clone();
    }
    if let Some(folder) = data_folder() {
        state.autosave_in(&folder.join("autosave"));
    }
    state.watch_memory(wake());
    state.handle(Command::OpenModel(options.model.clone()));
    if !state.settings.layout.tour_seen {
        state.handle(Command::Guide(GuideCommand::StartTour));
    }
    App::new(ctx, state)
}

/// Where the window's own files go.
fn data_folder() -> Option<std::path::PathBuf> {
    eframe::storage_dir("sinkscope")
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "it panicked".to_owned());
    text.lines().next().unwrap_or_default().to_owned()
}

/// The window's icon: a causal triangle with one bright column.
fn icon() -> egui::IconData {
    const SIDE: u32 = 64;
    let mut rgba = Vec::with_capacity((SIDE * SIDE * 4) as usize);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let color: [u8; 4] = match (x, y) {
                _ if x > y => [0x1a, 0x1d, 0x22, 0xff],
                (4..14, _) => [0xf5, 0x9e, 0x42, 0xff],
                _ if y - x < 8 => [0x5b, 0xa7, 0xe8, 0xff],
                _ => [0x2c, 0x3e, 0x52, 0xff],
            };
            rgba.extend_from_slice(&color);
        }
    }
    egui::IconData { rgba, width: SIDE, height: SIDE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_the_place_in_the_source_but_nothing_else() {
        let long =
            "winit EventLoopError: os error at /x/winit/mod.rs:788: Failed to open connection to X server";
        assert_eq!(in_short(long), "Failed to open connection to X server");
        assert_eq!(in_short("glutin error: bad config"), "glutin error: bad config");
    }

    #[test]
    fn the_icon_is_as_large_as_it_says() {
        let icon = icon();
        assert_eq!(icon.rgba.len(), (icon.width * icon.height * 4) as usize);
    }
}
