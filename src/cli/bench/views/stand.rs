//! The window on a stand: everything is the app's own but the engine, which has its run ready.

use super::script::{Figures, FrameCost, Script};
use crate::app::dialogs::FileDialogs;
use crate::app::engine_handle::EngineHandle;
use crate::app::settings::Settings;
use crate::app::{App, AppState, Command, PickKind, Picked, Services};
use crate::capture::Capture;
use crate::engine::{Event, Job, JobId};
use crate::model::source::ModelRef;
use crate::{Error, Result};
use cpu_time::ThreadTime;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An engine whose only run is done.
struct ReadyEngine {
    capture: Arc<Capture>,
    jobs: u64,
    events: VecDeque<(JobId, Event)>,
}

impl EngineHandle for ReadyEngine {
    fn submit(&mut self, job: Job) -> JobId {
        self.jobs += 1;
        let event = match job {
            Job::Open { .. } => Some(Event::ModelReady(Arc::clone(&self.capture.model))),
            Job::Analyze { .. } => Some(Event::CaptureReady(Arc::clone(&self.capture))),
            _ => None,
        };
        let id = JobId(self.jobs);
        self.events.extend(event.map(|event| (id, event)));
        id
    }

    fn cancel(&mut self) {}

    fn try_recv(&mut self) -> Option<(JobId, Event)> {
        self.events.pop_front()
    }
}

/// Nobody is there to answer a dialog.
struct NoDialogs;

impl FileDialogs for NoDialogs {
    fn ask(&mut self, _: PickKind) {}

    fn poll(&mut self) -> Option<(PickKind, Picked)> {
        None
    }
}

fn app(ctx: &egui::Context, capture: &Arc<Capture>) -> App {
    let engine = ReadyEngine { capture: Arc::clone(capture), jobs: 0, events: VecDeque::new() };
    let wake = ctx.clone();
    let services = Services {
        engine: Box::new(engine),
        dialogs: Box::new(NoDialogs),
        wake: Box::new(move || wake.request_repaint()),
    };
    let mut state = AppState::new(services, Settings::default(), true);
    state.handle(Command::OpenModel(ModelRef::Default));
    App::new(ctx, state)
}

/// Runs the script without a display: what is measured is the layout, the drawing lists and the
/// tessellation of a window of 1280 × 800 points.
pub(super) fn headless(capture: &Arc<Capture>, patience: Duration) -> Figures {
    let ctx = egui::Context::default();
    let mut app = app(&ctx, capture);
    let mut script = Script::new(patience);
    let began = Instant::now();
    while let Some(events) = script.next(app.state_mut()) {
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1280.0, 800.0))),
            max_texture_side: Some(8192),
            time: Some(began.elapsed().as_secs_f64()),
            focused: true,
            events,
            ..egui::RawInput::default()
        };
        let (cpu, wall) = (ThreadTime::now(), Instant::now());
        let output = ctx.run_ui(input, |ui| {
            app.prepare(ui.ctx());
            app.show(ui);
        });
        drop(ctx.tessellate(output.shapes, output.pixels_per_point));
        let cpu_ms = cpu.elapsed().as_secs_f64() * 1e3;
        script.note(FrameCost { cpu_ms, wall_ms: wall.elapsed().as_secs_f64() * 1e3, period_ms: None });
        // A display would take as long; the workers get the processor.
        std::thread::sleep(Duration::from_millis(4));
    }
    script.finish()
}

/// The app in a real window that does as the script says, and closes behind it.
struct Scripted {
    app: App,
    script: Option<Script>,
    figures: Rc<RefCell<Option<Figures>>>,
    began: Option<(ThreadTime, Instant)>,
    began_before: Option<Instant>,
}

impl eframe::App for Scripted {
    fn raw_input_hook(&mut self, ctx: &egui::Context, raw_input: &mut egui::RawInput) {
        let Some(script) = &mut self.script else { return };
        if let Some(events) = script.next(self.app.state_mut()) {
            raw_input.events.extend(events);
        } else {
            *self.figures.borrow_mut() = self.script.take().map(Script::finish);
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
    }

    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        self.began = Some((ThreadTime::now(), Instant::now()));
        self.app.prepare(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        self.app.show(ui);
        if let (Some((cpu, wall)), Some(script)) = (self.began.take(), &mut self.script) {
            let cpu_ms = cpu.elapsed().as_secs_f64() * 1e3;
            let before = self.began_before.replace(wall);
            script.note(FrameCost {
                cpu_ms,
                wall_ms: wall.elapsed().as_secs_f64() * 1e3,
                period_ms: before.map(|before| wall.duration_since(before).as_secs_f64() * 1e3),
            });
        }
        ui.ctx().request_repaint();
    }
}

/// Runs the script in a window on this display: what is measured is the layout and the drawing lists,
/// between frames that the renderer really draws.
///
/// # Errors
/// There is no display, or no renderer works.
pub(super) fn in_window(capture: &Arc<Capture>, patience: Duration) -> Result<Figures> {
    let figures = Rc::new(RefCell::new(None));
    let native = eframe::NativeOptions {
        renderer: eframe::Renderer::Glow,
        viewport: egui::ViewportBuilder::default().with_title("Sinkscope").with_inner_size([1280.0, 800.0]),
        ..Default::default()
    };
    let (capture, theirs) = (Arc::clone(capture), Rc::clone(&figures));
    eframe::run_native(
        "sinkscope-bench",
        native,
        Box::new(move |creation| {
            let app = app(&creation.egui_ctx, &capture);
            Ok(Box::new(Scripted {
                app,
                script: Some(Script::new(patience)),
                figures: theirs,
                began: None,
                began_before: None,
            }))
        }),
    )
    .map_err(|why| Error::Usage(format!("No window could be opened: {why}")))?;
    let figures = figures.borrow_mut().take();
    figures.ok_or_else(|| Error::Usage("The window was closed before it was measured".to_owned()))
}
