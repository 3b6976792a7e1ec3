//! The real window, on a real X server (Xvfb), with the real model: it comes up, analyses the
//! sample, and a reader of the screen finds the sink at index 0.
//!
//! Needs `Xvfb`, `xdotool`, `import` and `convert` (ImageMagick) and `tesseract`. Where one of them is missing the
//! tests are skipped with a message, except under `CI`, where all of them must be there.

mod common;

use common::smollm2_path;
use sinkscope::engine::PromptInput;
use sinkscope::session::{Session, read_session};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A child process that does not outlive the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tools_are_there() -> bool {
    let missing: Vec<&str> = ["Xvfb", "xdotool", "import", "convert", "tesseract"]
        .into_iter()
        .filter(|tool| {
            let found = Command::new("which").arg(tool).stdout(Stdio::null()).stderr(Stdio::null()).status();
            !found.is_ok_and(|status| status.success())
        })
        .collect();
    assert!(missing.is_empty() || std::env::var_os("CI").is_none(), "CI lacks {missing:?}");
    if !missing.is_empty() {
        eprintln!("skipped: {missing:?} not installed");
    }
    missing.is_empty()
}

/// Starts an X server on a display that it chooses.
fn x_server(size: &str) -> (Running, String) {
    let mut child = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", &format!("{size}x24")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Xvfb starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a display number");
    (Running(child), format!(":{}", line.trim()))
}

/// What a reader makes of the screen: white on black is turned round and enlarged first.
fn read_screen(display: &str, folder: &Path) -> String {
    let (shot, large) = (folder.join("screen.png"), folder.join("large.png"));
    let run = |program: &str, args: &[&str]| {
        Command::new(program).args(args).env("DISPLAY", display).stderr(Stdio::null()).output().expect("runs")
    };
    let (shot, large) = (shot.display().to_string(), large.display().to_string());
    run("import", &["-window", "root", &shot]);
    run("convert", &[&shot, "-resize", "300%", "-colorspace", "Gray", "-negate", &large]);
    let read = run("tesseract", &[&large, "-", "--psm", "11"]);
    String::from_utf8_lossy(&read.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_window_comes_up_and_shows_the_sink_at_index_0() {
    if !tools_are_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, display) = x_server("1280x800");
    let mut app = start(&display, folder.path());
    // The headline, the sink's z in the table, and the line on the plot.
    let wanted = ["Token 0 <|im_start|> receives", "40% of all attention", "+6.3", "4 sinks"];
    wait_for(&mut app, &display, folder.path(), &wanted);
}

/// The window on the default model, its files in a folder.
fn start(display: &str, folder: &Path) -> Running {
    let app = Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .arg("--model")
        .arg(smollm2_path())
        .env("DISPLAY", display)
        .env("XDG_DATA_HOME", folder)
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    Running(app)
}

/// Waits until all of these can be read on the screen.
fn wait_for(app: &mut Running, display: &str, folder: &Path, wanted: &[&str]) {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let text = read_screen(display, folder);
        if wanted.iter().all(|line| text.contains(line)) {
            return;
        }
        let ended = app.0.try_wait().expect("a child");
        assert!(ended.is_none(), "the window closed: {ended:?}");
        assert!(Instant::now() < deadline, "not on the screen after two minutes: {wanted:?}: {text}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Keys and clicks of a person in front of the screen.
fn act(display: &str, arguments: &[&str]) {
    let status =
        Command::new("xdotool").args(arguments).env("DISPLAY", display).status().expect("xdotool runs");
    assert!(status.success(), "{arguments:?}");
    std::thread::sleep(Duration::from_millis(400));
}

/// Without a window manager nobody gives a window the keyboard.
fn give_keyboard(display: &str) {
    act(display, &["search", "--sync", "--onlyvisible", "--name", "Sinkscope", "windowfocus"]);
}

/// Sessions that were put aside below a folder, other than one.
fn put_aside(folder: &Path, but: Option<&Path>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("sinkscope/autosave")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "sinkscope") && Some(path.as_path()) != but)
        .collect()
}

fn wait_until_put_aside(folder: &Path, but: Option<&Path>) -> PathBuf {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        if let Some(path) = put_aside(folder, but).pop() {
            return path;
        }
        assert!(Instant::now() < deadline, "nothing was put aside after two minutes");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_was_run_survives_a_kill() {
    const WRITTEN: &str = "Sinks are keys that nobody needs, and all look at.";
    if !tools_are_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (_server, display) = x_server("1280x800");
    let mut app = start(&display, folder.path());
    wait_for(&mut app, &display, folder.path(), &["40% of all attention"]);
    assert!(put_aside(folder.path(), None).is_empty(), "the sample is nobody's work");

    give_keyboard(&display);
    // The tour ends; the long turn of the sample is written anew and run.
    act(&display, &["key", "Escape"]);
    act(&display, &["mousemove", "110", "380", "click", "1"]);
    act(&display, &["key", "ctrl+a"]);
    act(&display, &["type", "--delay", "30", WRITTEN]);
    act(&display, &["key", "ctrl+Return"]);
    let left = wait_until_put_aside(folder.path(), None);
    app.0.kill().expect("SIGKILL");
    app.0.wait().expect("it ends");
    let killed = read_session(&left).expect("a whole session");
    let PromptInput::Chat(turns) = &killed.prompt else { panic!("no chat: {:?}", killed.prompt) };
    assert!(turns.iter().any(|turn| turn.content == WRITTEN), "{turns:?}");

    let mut app = start(&display, folder.path());
    wait_for(&mut app, &display, folder.path(), &["Recover the last session?"]);
    give_keyboard(&display);
    act(&display, &["key", "Tab"]);
    act(&display, &["key", "space"]);
    // It is put aside anew at once, and only then is the old place emptied.
    let again = wait_until_put_aside(folder.path(), Some(&left));
    let recovered = read_session(&again).expect("a whole session");
    assert_same(&killed, &recovered);
    wait_for(&mut app, &display, folder.path(), &["39% of all attention"]);
    assert!(!left.exists());

    // What the program computes for this prompt without a window.
    let chat = serde_json::to_string(&turns).expect("JSON");
    let out = folder.path().join("analysis.json");
    let status = Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .arg("analyze")
        .arg("--model")
        .arg(smollm2_path())
        .arg(format!("--chat={chat}"))
        .arg("--json")
        .arg(&out)
        .stdout(Stdio::null())
        .status()
        .expect("the binary starts");
    assert!(status.success());
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&out).expect("the report")).expect("JSON");
    let ids = report["tokens"].as_array().expect("tokens").iter().filter_map(|token| token["id"].as_u64());
    let kept = recovered.capture.tokens.ids();
    assert_eq!(ids.collect::<Vec<_>>(), kept.into_iter().map(u64::from).collect::<Vec<_>>());
    let nll = report["nll"].as_array().expect("an array").iter().filter_map(serde_json::Value::as_f64);
    assert_eq!(nll.map(|nll| nll as f32).collect::<Vec<_>>(), recovered.capture.nll_nats);
}

/// Bit for bit the same run.
fn assert_same(a: &Session, b: &Session) {
    assert_eq!(a.prompt, b.prompt);
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(a.capture.tokens.ids(), b.capture.tokens.ids());
    assert_eq!(bits(&a.capture.nll_nats), bits(&b.capture.nll_nats));
    assert_eq!(a.capture.layers.len(), b.capture.layers.len());
    for (a, b) in a.capture.layers.iter().zip(&b.capture.layers) {
        assert!(!a.q.is_empty());
        for (a, b) in [(&a.q, &b.q), (&a.k, &b.k), (&a.lse, &b.lse), (&a.column_sums, &b.column_sums)] {
            assert!(bits(a) == bits(b));
        }
    }
}

#[test]
fn without_a_display_the_main_job_runs_headless() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .arg("--model")
        .arg(smollm2_path())
        .current_dir(folder.path())
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .expect("the binary starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("No window: ") && stderr.contains("sinkscope analyze"), "{stderr}");
    assert!(stdout.contains("4 attention sinks") && stdout.contains("<|im_start|>"), "{stdout}");
    for file in ["grid.png", "head.png", "profile.png", "strip.png"] {
        let bytes = std::fs::read(folder.path().join("sinkscope-out").join(file)).expect(file);
        assert!(image::load_from_memory(&bytes).expect("a PNG").width() > 300);
    }
    let json = std::fs::read(folder.path().join("sinkscope-out/analysis.json")).expect("JSON");
    let report: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(report["sinks"][0]["index"], 0);
}
