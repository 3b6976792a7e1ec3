//! Commands, keys, undo, panels, zoom, messages and the tour, as a person meets them.

use crate::stage::{SINKS, Stage, opening, showing};
use crate::support;
use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::Command;
use sinkscope::app::guide::GuideCommand;
use sinkscope::app::layout::{LayoutCommand, Side};
use sinkscope::app::view::{HeadId, Tab};
use sinkscope::engine::Event;
use sinkscope::eviction::PinChoice;
use sinkscope::model::tokenizer::PromptError;

fn shown() -> Stage {
    showing(egui::Theme::Dark, support::CHAT, &SINKS)
}

/// A window on a machine without any font.
fn stage_without_fonts() -> Stage {
    let fonts = sinkscope::app::fonts::SystemFonts::of(Vec::new());
    let stage = crate::stage::opening_with_fonts(egui::Theme::Dark, fonts);
    stage.harness.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    stage
}

#[test]
fn the_palette_offers_what_can_be_done_now_and_nothing_else() {
    let mut stage = shown();
    stage.press_with(Modifiers::COMMAND, Key::K);
    // The field has the keyboard, and a screen reader says the row that it chooses.
    assert!(stage.harness.get_by_label("Run the prompt").is_focused());
    stage.write("cancel");
    assert!(!stage.is_shown("Cancel the running job"), "nothing runs");
    stage.press(Key::Escape);
    stage.click("▶ Run");
    stage.by_palette("cancel");
    assert_eq!(stage.engine.0.borrow().cancelled, 1);
    // Commands of a view that is not open are absent.
    stage.press_with(Modifiers::COMMAND, Key::K);
    stage.write("smaller budget");
    assert!(!stage.is_shown("Smaller budget"));
    stage.harness.get_by_label_contains("No such command now");
    stage.press(Key::Escape);
    stage.tell(Command::ShowTab(Tab::Eviction));
    stage.press_with(Modifiers::COMMAND, Key::K);
    stage.write("smaller budget");
    assert!(stage.is_shown("Smaller budget"));
}

#[test]
fn arrows_go_through_the_palette_and_a_click_takes_a_row() {
    let mut stage = shown();
    stage.press_with(Modifiers::COMMAND, Key::K);
    stage.write("show s");
    stage.press(Key::ArrowDown);
    stage.press(Key::ArrowDown);
    stage.press(Key::ArrowUp);
    assert_eq!(stage.state().guide.palette.as_ref().expect("open").chosen, 1);
    assert_eq!(stage.state().view.selected, None, "the arrows were not the strip's");
    stage.write("inks");
    assert_eq!(stage.state().guide.palette.as_ref().expect("open").chosen, 0, "another query, the first row");
    stage.click("Show sinks");
    assert_eq!(stage.state().view.tab, Tab::Sinks);
    assert!(stage.state().guide.palette.is_none());
}

#[test]
fn the_sheet_lists_the_keys_and_keys_of_the_window_rest_meanwhile() {
    let mut stage = shown();
    stage.press(Key::Questionmark);
    assert!(stage.state().guide.sheet);
    for words in ["Run the prompt", "Next sink", "Larger budget", "Undo", "Zoom to a box"] {
        stage.harness.get_by_label(words);
    }
    stage.press(Key::S);
    assert_eq!(stage.state().view.selected, None, "the sheet lies over the window");
    stage.press(Key::Escape);
    assert!(!stage.state().guide.sheet);
    stage.press(Key::S);
    assert_eq!(stage.state().view.selected, Some(0));
}

#[test]
fn keys_are_not_taken_from_a_text_that_is_written() {
    let mut stage = shown();
    stage.click("Text");
    stage.tell(Command::SetPromptText(String::new()));
    stage.harness.get_by_label("Prompt text").focus();
    stage.settle();
    for (key, text) in [(Key::S, "s"), (Key::H, "h"), (Key::Questionmark, "?"), (Key::OpenBracket, "[")] {
        stage.harness.key_press(key);
        stage.write(text);
    }
    assert_eq!(stage.state().prompt.text, "sh?[");
    stage.press(Key::ArrowLeft);
    for _ in 0..4 {
        stage.press_with(Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(stage.state().view.selected, None);
    assert!(!stage.state().guide.sheet);
    assert!(!stage.state().undo.can_redo(), "the text's own undo");
    assert!(stage.state().prompt.text.len() < 4, "it took something back: {}", stage.state().prompt.text);
}

#[test]
fn undo_and_redo_go_through_what_was_shown() {
    let mut stage = shown();
    assert!(!stage.state().undo.can_undo(), "the first run is nothing to undo");
    let focus = stage.state().view.focus;
    stage.tell(Command::FocusHead(HeadId { layer: 7, head: 1 }));
    stage.tell(Command::SetThreshold(5.0));
    stage.tell(Command::SelectToken(22));
    stage.tell(Command::ShowTab(Tab::Eviction));
    let pins = sinkscope::app::eviction::EvictionCommand::SetPins(PinChoice::First(4));
    stage.tell(Command::Eviction(pins));
    stage.tell(Command::ShowTab(Tab::Attention));

    let undo = |stage: &mut Stage| stage.press_with(Modifiers::COMMAND, Key::Z);
    undo(&mut stage);
    assert_eq!(stage.state().eviction.choices.pins, PinChoice::Bos);
    assert_eq!(stage.state().view.tab, Tab::Eviction, "where it was changed");
    stage.harness.get_by_label("Undone: pins");
    undo(&mut stage);
    assert_eq!(stage.state().view.selected, None);
    undo(&mut stage);
    assert_eq!(stage.state().view.threshold, 3.5);
    let run = stage.state().run.as_ref().expect("a run");
    assert_eq!(run.analysis.detection.threshold, 3.5, "the analysis follows");
    undo(&mut stage);
    assert_eq!(stage.state().view.focus, focus);
    undo(&mut stage);
    assert!(!stage.state().undo.can_undo());

    for _ in 0..4 {
        stage.press_with(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    }
    let state = stage.state();
    assert_eq!((state.view.focus, state.view.selected), (HeadId { layer: 7, head: 1 }, Some(22)));
    assert_eq!(state.eviction.choices.pins, PinChoice::First(4));
    assert!(!state.undo.can_redo());
    // A new change leaves nothing to redo.
    undo(&mut stage);
    stage.tell(Command::SelectToken(3));
    assert!(!stage.state().undo.can_redo());
}

#[test]
fn a_drag_is_one_step_and_the_history_is_bounded() {
    let mut stage = shown();
    for tenths in 20..60_u8 {
        stage.harness.state_mut().state_mut().handle(Command::SetThreshold(f64::from(tenths) / 10.0));
    }
    stage.press_with(Modifiers::COMMAND, Key::Z);
    assert_eq!(stage.state().view.threshold, 3.5, "one step for the whole drag");
    for token in 0..sinkscope::app::MOST_STEPS + 20 {
        stage.harness.state_mut().state_mut().handle(Command::SelectToken(token % 50));
    }
    let mut steps = 0;
    while stage.state().undo.can_undo() {
        stage.harness.state_mut().state_mut().handle(Command::Undo);
        steps += 1;
    }
    assert_eq!(steps, sinkscope::app::MOST_STEPS);
}

#[test]
fn an_undo_of_a_longer_text_stays_within_the_shorter_one() {
    let mut stage = shown();
    stage.tell(Command::SelectToken(60));
    stage.tell(Command::ClearSelection);
    let short = support::tokens("<|im_start|>Why is the sky blue?");
    stage.click("▶ Run");
    let capture = support::capture(2, &support::model(2, 2, 8), &short, &[(0, 14.0)]);
    stage.engine.say(Event::CaptureReady(capture));
    stage.settle();
    stage.press_with(Modifiers::COMMAND, Key::Z);
    assert_eq!(stage.state().view.selected, None, "there is no token 60");
    assert!(stage.state().view.focus.layer < 2);
}

#[test]
fn panels_close_and_open_and_stay_as_they_were_left() {
    let mut stage = shown();
    let centre = stage.harness.get_by_label("Mass profile").rect().left();
    stage.press_with(Modifiers::COMMAND, Key::B);
    assert!(!stage.is_shown("Hub name"));
    assert!(
        stage.harness.get_by_label("Mass profile").rect().left() < centre - 150.0,
        "the centre has the room"
    );
    stage.harness.get_by_role_and_label(Role::CheckBox, "Inspector panel").click();
    stage.settle();
    assert!(!stage.is_shown("THIS PROMPT"));
    let layout = stage.state().settings.layout.clone();
    assert_eq!((layout.prompt, layout.inspector, layout.strip, layout.profile), (false, false, true, true));
    // Written and read as the storage does it.
    let text = serde_json::to_string(&stage.state().settings).expect("written");
    let read: sinkscope::app::settings::Settings = serde_json::from_str(&text).expect("read");
    assert_eq!(read, stage.state().settings);
    stage.press_with(Modifiers::COMMAND, Key::B);
    stage.press_with(Modifiers::COMMAND, Key::I);
    assert!(stage.is_shown("Hub name") && stage.is_shown("THIS PROMPT"));
}

#[test]
fn a_panel_is_resized_by_its_edge_and_reset_by_a_command() {
    let mut stage = shown();
    let before = stage.harness.get_by_label("Mass profile").rect().left();
    let edge = egui::pos2(before - 10.0, 400.0);
    stage.harness.drag_at(edge);
    stage.harness.step();
    stage.harness.hover_at(edge + egui::vec2(90.0, 0.0));
    stage.harness.run_steps(2);
    stage.harness.drop_at(edge + egui::vec2(90.0, 0.0));
    stage.settle();
    let wider = stage.harness.get_by_label("Mass profile").rect().left();
    assert!((wider - before - 90.0).abs() < 3.0, "{before} → {wider}");
    stage.tell(Command::Layout(LayoutCommand::Show(Side::Strip, false)));
    stage.by_palette("panels as");
    stage.settle();
    let reset = stage.harness.get_by_label("Mass profile").rect().left();
    assert!((reset - before).abs() < 1.0, "{before} → {reset}");
    assert!(stage.state().settings.layout.strip);
}

#[test]
fn the_whole_window_zooms_and_keeps_it() {
    let mut stage = shown();
    for _ in 0..5 {
        stage.press_with(Modifiers::COMMAND, Key::Plus);
    }
    assert_eq!(stage.state().settings.layout.zoom, 1.5);
    assert_eq!(stage.harness.ctx.zoom_factor(), 1.5);
    let width = stage.harness.ctx.content_rect().width();
    assert!((width - 1280.0 / 1.5).abs() < 1.0, "as many points fit less: {width}");
    assert!(stage.harness.get_by_label("▶ Run").rect().right() < width);
    stage.press_with(Modifiers::COMMAND, Key::Minus);
    assert_eq!(stage.state().settings.layout.zoom, 1.4);
    stage.press_with(Modifiers::COMMAND, Key::Num0);
    assert_eq!(stage.harness.ctx.zoom_factor(), 1.0);
}

#[test]
fn a_failure_shows_details_on_demand_and_copies_them() {
    let mut stage = shown();
    stage.click("▶ Run");
    stage.engine.say(Event::Failed(PromptError::Empty.into()));
    stage.settle();
    let version = concat!("Sinkscope ", env!("CARGO_PKG_VERSION"));
    assert!(stage.harness.query_by_label_contains(version).is_none());
    stage.click("Details");
    stage.harness.get_by_label_contains(version);
    stage.harness.get_by_label("Copy").click();
    stage.harness.step();
    let commands = &stage.harness.output().platform_output.commands;
    let copied = commands.iter().find_map(|command| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("something was copied");
    assert!(copied.contains(version) && copied.contains("Model: Synthetic-Instruct"), "{copied}");
    let read = stage.state().toasts[0].id;
    for i in 0..6 {
        stage.tell(Command::Undo);
        stage.engine.say_of(sinkscope::engine::JobId(0), Event::Notice(String::new()));
        stage.tell(Command::FocusHead(HeadId { layer: i, head: 0 }));
        stage.tell(Command::Undo);
    }
    assert!(stage.state().toasts.iter().any(|toast| toast.id == read), "what is read stays");
}

#[test]
fn messages_stack_and_do_not_cover_each_other() {
    let mut stage = shown();
    for path in ["a", "b", "c", "d", "e"] {
        stage.tell(Command::OpenPath(format!("/nowhere/{path}.txt").into()));
    }
    let rects: Vec<_> = stage.harness.get_all_by_label("Dismiss").map(|node| node.rect()).collect();
    assert_eq!(rects.len(), 4, "the oldest went");
    assert!(rects.windows(2).all(|pair| pair[0].bottom() < pair[1].top()), "{rects:?}");
    assert!(rects.iter().all(|rect| rect.bottom() < 800.0 && rect.right() < 1280.0), "{rects:?}");
}

#[test]
fn the_tour_is_shown_once_and_can_be_taken_again() {
    let mut stage = opening(egui::Theme::Dark);
    stage.tell(Command::Guide(GuideCommand::StartTour));
    assert!(!stage.is_shown("Next hint"), "there is nothing to point at yet");
    let model = support::model(4, 2, 8);
    stage.engine.say(Event::ModelReady(model.clone()));
    stage.settle();
    let tokens = support::tokens(support::CHAT);
    stage.engine.say(Event::CaptureReady(support::capture(1, &model, &tokens, &SINKS)));
    stage.settle();
    stage.harness.get_by_label("Every token is a chip");
    assert!(!stage.state().settings.layout.tour_seen);
    stage.click("Next hint");
    stage.harness.get_by_label("Every head is a small picture");
    stage.click("Back");
    for _ in 0..3 {
        stage.click("Next hint");
    }
    stage.harness.get_by_label("See what a smaller cache costs");
    stage.click("Done");
    assert!(stage.state().settings.layout.tour_seen && stage.state().guide.tour.is_none());
    stage.by_palette("tour");
    stage.harness.get_by_label("Every token is a chip");
    stage.press(Key::Escape);
    assert!(stage.state().guide.tour.is_none(), "skipped");
}

#[test]
fn the_tour_lets_one_work_meanwhile() {
    let mut stage = shown();
    stage.tell(Command::Guide(GuideCommand::StartTour));
    stage.harness.get_by_label("Token 0 <|im_start|>").click();
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(0));
}

#[test]
fn a_cancelled_first_run_leaves_a_page_that_says_what_to_do() {
    let mut stage = opening(egui::Theme::Dark);
    stage.engine.say(Event::ModelReady(support::model(2, 2, 8)));
    stage.settle();
    stage.engine.say(Event::Failed(sinkscope::progress::Cancelled.into()));
    stage.settle();
    stage.harness.get_by_label_contains("Synthetic-Instruct is ready");
    let before = stage.engine.jobs();
    stage.harness.get_by_label_contains("Run the prompt").click();
    stage.settle();
    assert_eq!(stage.engine.jobs(), before + 1);
}

#[test]
fn a_script_that_no_font_has_is_told_once() {
    let mut stage = stage_without_fonts();
    stage.tell(Command::SetPromptText("日本語 and 한국어".into()));
    stage.tell(Command::SetPromptKind(sinkscope::app::prompt::PromptKind::Text));
    stage.harness.get_by_label_contains("No installed font has some Chinese, Japanese or Korean characters");
    let toast = stage.state().toasts[0].id;
    stage.tell(Command::DismissToast(toast));
    stage.tell(Command::SetPromptText("中文".into()));
    assert!(stage.state().toasts.is_empty(), "once is enough: {:?}", stage.state().toasts);
}

/// An installed font with Chinese characters, by the names of the usual ones.
fn chinese_font() -> Option<std::path::PathBuf> {
    let folders = ["wqy", "droid", "opentype/noto", "noto-cjk"];
    let files = folders.iter().flat_map(|folder| {
        let root = std::path::Path::new("/usr/share/fonts");
        [root.join(folder), root.join("truetype").join(folder)]
    });
    let mut files = files.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    files.find_map(|entry| {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let known = ["wqy-microhei", "droidsansfallback", "cjk-regular", "cjksc-regular"];
        known.iter().any(|part| name.contains(part)).then(|| entry.path())
    })
}

#[test]
fn a_script_that_a_font_has_is_drawn_with_it() {
    let Some(font) = chinese_font() else {
        eprintln!("skipped: no font with Chinese characters is installed");
        return;
    };
    let fonts = sinkscope::app::fonts::SystemFonts::of(vec![font]);
    let mut stage = crate::stage::opening_with_fonts(egui::Theme::Dark, fonts);
    stage.tell(Command::SetPromptText("中文 and 日本語".into()));
    stage.tell(Command::SetPromptKind(sinkscope::app::prompt::PromptKind::Text));
    let complaints: Vec<_> = stage.state().toasts.iter().map(|toast| toast.text.clone()).collect();
    assert!(complaints.iter().all(|text| !text.contains("No installed font")), "{complaints:?}");
    let id = egui::FontId::monospace(13.0);
    assert!(stage.harness.ctx.fonts_mut(|fonts| fonts.has_glyphs(&id, "中文日本語")));
}
