//! The real window, on a real X server (Xvfb), with the real model: it comes up, analyses the
//! sample, and a reader of the screen finds the sink at index 0.
//!
//! Needs `Xvfb`, `import` and `convert` (ImageMagick) and `tesseract`. Where one of them is missing the test is
//! skipped with a message, except under `CI`, where all of them must be there.

mod common;

use common::smollm2_path;
use std::io::{BufRead, BufReader};
use std::path::Path;
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
    let missing: Vec<&str> = ["Xvfb", "import", "convert", "tesseract"]
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
    let app = Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .arg("--model")
        .arg(smollm2_path())
        .env("DISPLAY", &display)
        .env("XDG_DATA_HOME", folder.path())
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut app = Running(app);
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let text = read_screen(&display, folder.path());
        // The headline, the sink's z in the table, and the line on the plot.
        let wanted = ["Token 0 <|im_start|> receives", "40% of all attention", "+6.3", "4 sinks"];
        if wanted.iter().all(|line| text.contains(line)) {
            break;
        }
        let ended = app.0.try_wait().expect("a child");
        assert!(ended.is_none(), "the window closed: {ended:?}");
        assert!(Instant::now() < deadline, "no sink on the screen after two minutes: {text}");
        std::thread::sleep(Duration::from_millis(500));
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
