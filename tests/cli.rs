//! The command line as a user meets it: the real binary, good and bad input, wording and exit codes.

mod common;
#[path = "source/hub_server.rs"]
#[expect(dead_code, reason = "the tests of the source use more of it")]
mod hub_server;

use common::{fixture, smollm2_path};
use hub_server::{COMMIT, HubServer, Reply};
use std::path::Path;
use std::process::{Command, Output};

fn sinkscope(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sinkscope")).args(args).output().expect("the binary runs")
}

fn tiny() -> String {
    fixture("tiny/llama").display().to_string()
}

/// The one line on stderr and the exit code of a command that must fail without a panic.
fn failure(args: &[&str]) -> (String, i32) {
    let output = sinkscope(args);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let line = stderr.lines().last().unwrap_or_default().to_owned();
    (line, output.status.code().expect("not killed"))
}

fn file(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("written");
    path.display().to_string()
}

#[test]
fn analyze_writes_the_json_and_the_tensors_that_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = |name: &str| folder.path().join(name).display().to_string();
    let ids: Vec<u32> = (0..60).map(|i| (i * 37 + 11) % 320).collect();
    let ids = file(folder.path(), "ids.json", serde_json::to_string(&ids).expect("JSON").as_bytes());
    let (json, logits, patterns) = (out("out.json"), out("logits.safetensors"), out("p.safetensors"));
    let output = sinkscope(&[
        "analyze",
        "--model",
        &tiny(),
        "--token-ids",
        &ids,
        "--json",
        &json,
        "--logits",
        &logits,
        "--patterns",
        "0:0,2:3",
        "--patterns-out",
        &patterns,
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).expect("there")).expect("JSON");
    for (object, keys) in [
        (
            "model",
            "name architecture layers heads kv_heads head_dim vocab parameters dtype device source sha256",
        ),
        ("profiles", "share alpha lift far_lift"),
        ("detector", "profile threshold median_ln mad_ln line floored"),
        ("checks", "max_row_sum_error causal_leak nan_count"),
        ("timing_ms", "load prefill analysis"),
        ("memory", "peak_rss_bytes capture_bytes"),
    ] {
        for key in keys.split(' ') {
            assert!(!report[object][key].is_null(), "{object}.{key} in {report}");
        }
    }
    assert_eq!(report["tokens"].as_array().expect("tokens").len(), 60);
    assert_eq!(report["tokens"][0]["id"], 11);
    assert_eq!(report["nll"].as_array().expect("nll").len(), 59);
    // The last Δ + m − 1 keys are not tested, which is null and not zero.
    let far_lift = report["profiles"]["far_lift"].as_array().expect("far_lift");
    assert_eq!(far_lift.iter().filter(|value| value.is_null()).count(), 31);
    assert_eq!(report["model"]["parameters"], 43_744);
    assert_eq!(report["checks"]["causal_leak"], 0.0);

    let read = |path: &str| candle_core::safetensors::load(path, &candle_core::Device::Cpu).expect("reads");
    assert_eq!(read(&logits)["logits"].dims(), [60, 320]);
    let patterns = read(&patterns);
    assert_eq!(patterns.len(), 2);
    let rows = patterns["l2h3"].to_vec2::<f32>().expect("f32");
    for (query, row) in rows.iter().enumerate() {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(row[query + 1..].iter().all(|&weight| weight == 0.0));
    }
}

const TEXT: &str =
    "a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 and then some more";

/// What each view needs on the line.
const VIEWS: [(&str, &[&str]); 15] = [
    ("grid", &[]),
    ("grid", &["--order", "similarity", "--layer", "1", "--head", "2", "--without-sinks"]),
    ("grid", &["--order", "on-selected", "--token", "2", "--as-map"]),
    ("strip", &["--by", "incoming", "--token", "2,4"]),
    ("head", &["--layer", "1", "--head", "2", "--queries", "4-30", "--sinks", "renormalised"]),
    ("mean", &["--layer", "1"]),
    ("difference", &["--layer", "1", "--minus", "0:1"]),
    ("lines", &["--layer", "1", "--head", "2", "--also-heads", "0,3", "--queries", "5-20"]),
    ("profile", &[]),
    ("strip", &[]),
    ("token-heads", &["--token", "3"]),
    ("layers", &[]),
    ("peak", &["--peak-keys", "2"]),
    ("norms", &[]),
    ("stability", &["--others", r#"[{"prompt": "another text"}, {"token_ids": [5, 6, 7], "bos": "no"}]"#]),
];

#[test]
fn render_writes_every_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = tiny();
    for (view, needs) in VIEWS {
        for extension in ["png", "svg", "csv", "json"] {
            let out = folder.path().join(format!("{view}.{extension}")).display().to_string();
            let args = [
                &["render", view, "--model", &model, "--prompt", TEXT, "--threshold", "0.5", "--out", &out],
                needs,
            ]
            .concat();
            let output = sinkscope(&args);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let bytes = std::fs::read(&out).expect("written");
            match extension {
                "png" => assert!(image::load_from_memory(&bytes).expect("a PNG").width() > 300),
                "svg" => assert!(String::from_utf8(bytes).expect("UTF-8").contains("<text")),
                "csv" => assert!(bytes.split(|&byte| byte == b'\n').count() > 2, "{view}"),
                _ => assert!(serde_json::from_slice::<serde_json::Value>(&bytes).expect("JSON").is_object()),
            }
        }
    }
}

#[test]
fn render_says_what_it_can_not_draw() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = tiny();
    let out = |name: &str| folder.path().join(name).display().to_string();
    let failed = |view: &str, name: &str, more: &[&str]| {
        let out = out(name);
        let args = [&["render", view, "--model", &model, "--prompt", TEXT, "--out", &out], more].concat();
        failure(&args).0
    };
    assert!(failed("profile", "a.npy", &[]).contains("A .npy holds patterns, which this view has not"));
    assert!(failed("profile", "a.bmp", &[]).contains("Unknown format"));
    assert!(failed("token-heads", "a.png", &["--token", "9999"]).contains("There is no token 9999"));
    assert!(failed("stability", "a.png", &[]).contains("needs --others"));
    let prompt = r#"[{"prompt": "a"}]"#;
    assert!(
        failed("profile", "a.png", &["--others", prompt]).contains("render difference and render stability")
    );
    for (others, why) in [
        ("[]", "the list is empty"),
        (r#"[{"prompt": "a", "chat": []}]"#, "run 0 needs exactly one of"),
        (r#"[{"prompt": "a"}, {}]"#, "run 1 needs exactly one of"),
        (r#"[{"prompt": "a", "modle": "x"}]"#, "unknown field `modle`"),
        (r#"[{"prompt": "a", "device": "tpu"}]"#, "run 0 device"),
        ("[1]", "invalid type"),
        (r#"[{"prompt": "a"}"#, "EOF"),
    ] {
        let said = failed("stability", "a.png", &["--others", others]);
        assert!(said.contains("Can't use the other runs") && said.contains(why), "{said}");
    }
    let file = file(folder.path(), "runs.json", b"{}");
    assert!(failed("stability", "a.png", &["--others", &file]).ends_with("runs.json"));
}

#[test]
fn a_difference_of_two_runs_names_what_is_in_one_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("d.json").display().to_string();
    let model = tiny();
    let others = format!(r#"[{{"model": "{model}", "dtype": "f16", "prompt": "{TEXT}", "bos": "no"}}]"#);
    let output = sinkscope(&[
        "render",
        "difference",
        "--model",
        &model,
        "--prompt",
        TEXT,
        "--bos",
        "yes",
        "--layer",
        "1",
        "--head",
        "2",
        "--minus",
        "1:2",
        "--others",
        &others,
        "--out",
        &out,
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&out).expect("written")).expect("JSON");
    assert_eq!(report["entries"][0], serde_json::json!([0, null]), "BOS");
    assert_eq!(report["entries"][1], serde_json::json!([1, 0]));
    assert!(report["differences"][1][0].is_null() && report["differences"][5][3].is_number());
}

#[test]
fn bad_models_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let gguf = std::fs::read(smollm2_path()).expect("the model");
    let config = std::fs::read_to_string(fixture("tiny/llama/config.json")).expect("fixture");
    let copy = |name: &str, change: &dyn Fn(&Path)| {
        let to = folder.path().join(name);
        std::fs::create_dir(&to).expect("new");
        for part in ["config.json", "model.safetensors", "tokenizer.json"] {
            std::fs::copy(fixture(&format!("tiny/llama/{part}")), to.join(part)).expect("copied");
        }
        change(&to);
        to.display().to_string()
    };
    let weights = std::fs::read(fixture("tiny/llama/model.safetensors")).expect("fixture");
    std::fs::create_dir(path("empty")).expect("new");
    let with_config = |from: &'static str, to: &'static str| {
        let config = config.replace(from, to);
        assert!(config.contains(to));
        move |folder: &Path| std::fs::write(folder.join("config.json"), &config).expect("written")
    };
    for (model, wording) in [
        (path("nothing.gguf"), "nothing.gguf"),
        (path("empty"), "The folder has no config.json, so it is no model"),
        (
            copy("mamba", &with_config("\"llama\"", "\"mamba\"")),
            "Architecture \"mamba\" is not supported yet (known: llama, mistral",
        ),
        (
            copy("wide", &with_config("\"intermediate_size\": 48", "\"intermediate_size\": 50")),
            "has shape [48, 32], the configuration says [50, 32]",
        ),
        (
            copy("deep", &with_config("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4")),
            "Tensor model.layers.3.",
        ),
        (
            copy("vocab", &with_config("\"vocab_size\": 320", "\"vocab_size\": 100")),
            "The tokenizer has 285 tokens but the model only 100",
        ),
        (
            copy("cut", &|f| std::fs::write(f.join("model.safetensors"), &weights[..5000]).expect("written")),
            "Safetensors file is damaged or not supported",
        ),
        (
            copy("junk", &|f| {
                std::fs::write(f.join("model.safetensors"), b"<html>Not found</html>").expect("written");
            }),
            "Safetensors file is damaged or not supported",
        ),
        (
            copy("weightless", &|f| std::fs::remove_file(f.join("model.safetensors")).expect("gone")),
            "neither model.safetensors nor model.safetensors.index.json",
        ),
        (file(folder.path(), "short.gguf", &gguf[..1000]), "GGUF file is damaged or not supported: "),
        (file(folder.path(), "half.gguf", &gguf[..gguf.len() / 2]), "cut short: tensor "),
        (file(folder.path(), "text.gguf", b"This is no model."), "not a GGUF file (wrong magic bytes)"),
    ] {
        let (line, code) = failure(&["analyze", "--offline", "--model", &model, "--prompt", "x y"]);
        assert_eq!(code, 1, "{line}");
        assert!(line.contains(wording), "{model}: {line}");
        assert!(line.len() < 400 && line.starts_with("sinkscope: "), "{line}");
    }
}

#[test]
fn bad_prompts_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let invalid = file(folder.path(), "latin1.txt", b"caf\xe9");
    let chat = file(folder.path(), "chat.json", b"{\"role\": \"user\"}");
    let ids = file(folder.path(), "ids.json", b"[1, 2, 320]");
    for (args, wording) in [
        (["--prompt", ""], "The prompt is empty"),
        (["--prompt-file", "missing.txt"], "missing.txt"),
        (["--prompt-file", &invalid], "not UTF-8"),
        (["--chat", &chat], "The chat is not a list like"),
        (["--token-ids", &ids], "Token id 320 at index 2 is outside the model's vocabulary of 320"),
    ] {
        let (line, code) = failure(&["analyze", "--model", &tiny(), args[0], args[1]]);
        assert_eq!(code, 1, "{line}");
        assert!(line.contains(wording), "{args:?}: {line}");
    }
}

#[test]
fn one_token_is_no_error_and_scores_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids = file(folder.path(), "ids.json", b"{\"input_ids\": [7]}");
    let out = folder.path().join("out.json").display().to_string();
    let output = sinkscope(&["analyze", "--model", &tiny(), "--token-ids", &ids, "--json", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&out).expect("there")).expect("JSON");
    assert!(report["perplexity"].is_null() && report["nll"].as_array().expect("nll").is_empty());
}

#[test]
fn a_prompt_beyond_the_context_is_run_with_a_warning() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids: Vec<u32> = (0..300).map(|i| i % 320).collect();
    let ids = file(folder.path(), "ids.json", serde_json::to_string(&ids).expect("JSON").as_bytes());
    let output = sinkscope(&["analyze", "--model", &tiny(), "--token-ids", &ids]);
    assert!(output.status.success());
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.contains("The prompt has 300 tokens, the model was trained for 256"), "{stderr}");
}

#[test]
fn wrong_arguments_exit_with_2() {
    for args in [
        &["analyze"][..],
        &["analyze", "--prompt", "a", "--chat", "b"],
        &["analyze", "--prompt", "a", "--bos", "maybe"],
        &["analyze", "--prompt", "a", "--patterns", "0:0"],
        &["frobnicate"],
        &["bench", "evict", "--length", "100", "--budget", "100"],
    ] {
        assert_eq!(failure(args).1, 2, "{args:?}");
    }
    for (args, wording) in [
        (["--layers", "0-9"], "--layers 0-9: \"0-9\" is no layer; the model has 0-2"),
        (["--threshold", "-1"], "--threshold -1 is not positive"),
    ] {
        let equals = format!("{}={}", args[0], args[1]);
        let (line, code) = failure(&["analyze", "--model", &tiny(), "--prompt", "a b", &equals]);
        assert_eq!(code, 2, "{line}");
        assert!(line.contains(wording), "{line}");
    }
}

#[test]
fn an_unwritable_output_is_named() {
    let (line, code) =
        failure(&["analyze", "--model", &tiny(), "--prompt", "a b c", "--json", "/nowhere/at/all.json"]);
    assert_eq!(code, 1);
    assert!(line.contains("Can't write the file") && line.ends_with("/nowhere/at/all.json"), "{line}");
}

#[test]
fn evict_writes_every_case_with_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let ids: Vec<u32> = (0..60).map(|i| (i * 37 + 11) % 312 + 8).collect();
    let ids = file(folder.path(), "ids.json", serde_json::to_string(&ids).expect("JSON").as_bytes());
    let cases = br#"{"cases": [{"policy": "full"}, {"policy": "fifo", "budget": 16, "pins": "first:2",
        "positions": "slot", "nll": [1.0]}, {"policy": "h2o", "budget": 12, "recent": 4},
        {"policy": "random", "budget": 12, "seed": 5}, {"policy": "fifo", "budget": 200}]}"#;
    let cases = file(folder.path(), "cases.json", cases);
    let out = folder.path().join("out.json").display().to_string();
    let output =
        sinkscope(&["evict", "--model", &tiny(), "--token-ids", &ids, "--cases", &cases, "--json", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&out).expect("there")).expect("JSON");
    let cases = report["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 5);
    assert!(cases.iter().all(|case| case["nll"].as_array().is_some_and(|nll| nll.len() == 59)));
    let pinned = &cases[1];
    assert_eq!((&pinned["pins"], &pinned["pinned"]), (&"first:2".into(), &serde_json::json!([0, 1])));
    assert_eq!((&pinned["positions"], &pinned["first_differing_row"]), (&"slot".into(), &17.into()));
    assert_eq!(pinned["kept_after_last_token"].as_array().expect("one list").len(), 16);
    assert!(
        pinned["mean_delta_nll_after_fill"].is_number() && pinned["full_perplexity_after_fill"].is_number()
    );
    let h2o = &cases[2]["kept_after_last_token"];
    assert_eq!(h2o.as_array().expect("layers").len(), 3);
    assert_eq!(h2o[0].as_array().expect("KV heads").len(), 2);
    assert_eq!(h2o[0][0].as_array().expect("keys").len(), 12);
    assert!(cases[4]["mean_delta_nll_after_fill"].is_null() && cases[4]["first_differing_row"].is_null());
    assert_eq!(cases[0]["nll"], cases[4]["nll"]);
    // A result file is a file of cases again.
    let again = sinkscope(&["evict", "--model", &tiny(), "--token-ids", &ids, "--cases", &out]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn bad_cases_are_refused_with_file_index_and_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let prompt = ["--model", &tiny(), "--prompt", "one two three four five six seven eight nine ten"];
    for (content, wording) in [
        ("[", "EOF while parsing"),
        ("{\"case\": []}", "the object has no array \"cases\""),
        ("[{\"policy\": \"full\"}, {\"policy\": \"lru\", \"budget\": 4}]", "case 1: unknown variant `lru`"),
        ("[{\"policy\": \"fifo\", \"budgets\": 4}]", "case 0: unknown field `budgets`"),
        ("[{\"policy\": \"fifo\", \"budget\": -4}]", "case 0: invalid value: integer `-4`"),
        ("[{\"policy\": \"fifo\", \"budget\": 4, \"pins\": \"some\"}]", "case 0: pins \"some\" are neither"),
        ("[{\"policy\": \"fifo\", \"budget\": 4, \"pins\": {}}]", "case 0: pins must be a list"),
        ("[{\"policy\": \"fifo\"}]", "case 0: budget is missing"),
        ("[{\"policy\": \"fifo\", \"budget\": 0}]", "case 0: budget 0 keeps nothing"),
        (
            "[{\"policy\": \"fifo\", \"budget\": 2, \"pins\": [0, 1]}]",
            "case 0: budget 2 must exceed the 2 pinned",
        ),
        ("[{\"policy\": \"fifo\", \"budget\": 4, \"pins\": [999]}]", "case 0: pin 999 is outside the text"),
    ] {
        let cases = file(folder.path(), "cases.json", content.as_bytes());
        let (line, code) = failure(&[&["evict", "--cases", &cases][..], &prompt].concat());
        assert_eq!(code, 2, "{line}");
        assert!(line.contains(wording) && line.ends_with("cases.json"), "{content}: {line}");
    }
    let (line, code) =
        failure(&[&["evict", "--policy", "fifo", "--budget", "4", "--pins", "bos"][..], &prompt].concat());
    assert_eq!(code, 1, "{line}");
    assert!(line.contains("the text does not start with BOS: pin first:1, or prepend BOS"), "{line}");
    for text in ["a", "ab cd"] {
        let (line, _) = failure(&[
            "evict",
            "--model",
            &tiny(),
            "--token-ids",
            &{
                let ids: Vec<u32> = (8..8 + text.split(' ').count() as u32).collect();
                file(folder.path(), "ids.json", serde_json::to_string(&ids).expect("JSON").as_bytes())
            },
            "--policy",
            "fifo",
            "--budget",
            "1",
        ]);
        assert!(line.contains("eviction needs at least 3"), "{line}");
    }
}

#[test]
fn render_eviction_draws_the_cases_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("eviction.svg").display().to_string();
    let ids: Vec<u32> = (0..60).map(|i| (i * 37 + 11) % 320).collect();
    let ids = file(folder.path(), "ids.json", serde_json::to_string(&ids).expect("JSON").as_bytes());
    let tiny = tiny();
    let common = ["--model", &tiny, "--token-ids", &ids, "--out", &out];
    let with = |view: &'static str, more: &[&'static str]| {
        let words: Vec<&str> =
            ["render", view].into_iter().chain(common).chain(more.iter().copied()).collect();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let args = with("eviction", &["--policy", "fifo", "--budget", "12", "--pins", "first:1"]);
    let output = sinkscope(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let svg = std::fs::read_to_string(&out).expect("there");
    assert!(svg.contains("Window 12 · first token pinned: perplexity ") && svg.contains("Full cache"));

    for (view, more, wanted) in [
        ("eviction", vec![], "render eviction needs --policy and --budget, or --cases"),
        ("grid", vec!["--policy", "full"], "render eviction is the only view that takes --policy"),
        ("eviction", vec!["--policy", "fifo"], "budget is missing"),
    ] {
        let args = with(view, &more);
        let (line, _) = failure(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(line.contains(wanted), "{line}");
    }
}

/// The binary with caches in `folder` and a Hub at `server`.
fn with_hub(server: &HubServer, folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sinkscope"))
        .args(args)
        .env("HF_ENDPOINT", &server.endpoint)
        .env("HF_HOME", folder.join("hf"))
        .env("SINKSCOPE_HOME", folder.join("home"))
        .env("HF_TOKEN", "hf_secret")
        .env("RUST_LOG", "trace")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_HUB_CACHE")
        .output()
        .expect("the binary runs")
}

fn json_of(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_repository_is_listed_and_one_of_its_models_is_analysed() {
    let folder = tempfile::tempdir().expect("a folder");
    let gguf = std::fs::read(smollm2_path()).expect("the model");
    let server = HubServer::new(&[("n-Q4_K_M.gguf", &gguf), ("n-Q8_0.gguf", b"eight"), ("README.md", b"#")]);
    let run = |args: &[&str]| with_hub(&server, folder.path(), args);

    let listed = json_of(&run(&["models", "list", "o/n", "--json"]));
    assert_eq!((&listed["commit"], &listed["meant"]), (&COMMIT.into(), &serde_json::Value::Null));
    let models = listed["models"].as_array().expect("models");
    let names: Vec<_> = models.iter().map(|model| model["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["o/n:Q8_0", "o/n:Q4_K_M"], "the smallest first");
    assert_eq!(models[1]["total_bytes"], gguf.len());
    assert_eq!(models[1]["files"][0]["path"], "n-Q4_K_M.gguf");
    assert_eq!(models[1]["is_cached"], false);
    assert!(!folder.path().join("hf/hub").exists(), "listing downloads nothing");

    let info = json_of(&run(&["models", "info", "o/n:Q4_K_M", "--json"]));
    assert_eq!((&info["path"], &info["download_bytes"]), (&serde_json::Value::Null, &gguf.len().into()));
    assert_eq!(info["spec"]["layers"], 30);
    let read: usize =
        server.storage_requests().iter().map(|r| r.end_byte.expect("a range") - r.from_byte).sum();
    assert!(read < gguf.len() / 10, "the header alone: {read} bytes");

    let refused = run(&["analyze", "--model", "o/n", "--prompt", "The sky"]);
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(stderr.contains("choose one, for example o/n:Q4_K_M. It has Q4_K_M, Q8_0"), "{stderr}");
    let json = folder.path().join("out.json").display().to_string();
    let args = ["analyze", "--model", "o/n:Q4_K_M", "--prompt", "The sky is blue", "--json", &json];
    let analysed = run(&args);
    let stderr = String::from_utf8_lossy(&analysed.stderr).into_owned();
    assert!(analysed.status.success(), "{stderr}");
    assert!(!stderr.contains("hf_secret"), "a token is for the Hub alone, whatever is logged");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).expect("there")).expect("JSON");
    assert_eq!(report["model"]["source"], format!("hub:o/n@{COMMIT}"));

    let table = String::from_utf8(run(&["models", "list", "o/n"]).stdout).expect("UTF-8");
    let cells = |line: usize| table.lines().nth(line).map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(cells(1), Some(vec!["o/n:Q8_0", "5", "B", "-", "n-Q8_0.gguf"]));
    assert_eq!(cells(2), Some(vec!["o/n:Q4_K_M", "94", "MiB", "all", "n-Q4_K_M.gguf"]));
}

#[test]
fn a_gated_repository_says_where_to_ask_and_shows_no_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = HubServer::with_fault(&[], |_, _| Reply::status(403).with("x-error-code", "GatedRepo"));
    for command in ["list", "info", "fetch"] {
        let output = with_hub(&server, folder.path(), &["models", command, "o/n"]);
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1));
        let line = format!("o/n is gated; ask for access at {}/o/n, then set HF_TOKEN", server.endpoint);
        assert!(stderr.ends_with(&format!("sinkscope: {line}\n")), "{stderr}");
        assert!(!stderr.contains("hf_secret"));
    }
}

#[test]
fn info_tells_a_folder_model_without_loading_it() {
    let info = json_of(&sinkscope(&["models", "info", &tiny(), "--json"]));
    for (key, value) in [("layers", 3), ("heads", 4), ("kv_heads", 2), ("vocabulary", 320), ("context", 256)]
    {
        assert_eq!(info["spec"][key], value, "{key}");
    }
    assert_eq!(info["parameters"], 43_744);
    assert_eq!(info["memory_bytes"]["f32"], 4 * 43_744);
    assert_eq!(info["memory_bytes"]["bf16"], 2 * 43_744);
    assert_eq!(info["memory_bytes"]["stored"], 4 * 43_744);
    assert_eq!(info["stored_as"], serde_json::json!({ "F32": 43_744 }));
    assert_eq!(info["tokenizer"]["chat_template"], false);
    let text = String::from_utf8(sinkscope(&["models", "info", &tiny()]).stdout).expect("UTF-8");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        "Architecture llama",
        "KV heads 2 (each serves 2 query heads)",
        "Windows every layer sees the whole text",
        "Memory as f32 171 KiB",
        "In the file 171 KiB (F32 100%)",
        "Chat template no",
    ] {
        assert!(lines.contains(&line.split(' ').collect()), "{line:?} in {text}");
    }
}

#[test]
fn info_tells_a_gguf_by_its_header() {
    let model = smollm2_path().display().to_string();
    let info = json_of(&sinkscope(&["models", "info", &model, "--json"]));
    assert_eq!(info["parameters"], 134_515_008);
    assert_eq!(info["tokenizer"]["tokenizer"], "byte-level BPE (smollm)");
    assert_eq!(info["tokenizer"]["bos"]["text"], "<|im_start|>");
    assert_eq!(info["tokenizer"]["chat_template"], true);
    let stored = info["memory_bytes"]["stored"].as_u64().expect("bytes");
    assert!((90_000_000..98_362_432).contains(&stored), "{stored}");
    let types = info["stored_as"].as_object().expect("types");
    let weights: u64 = types.values().filter_map(serde_json::Value::as_u64).sum();
    assert!(types.contains_key("Q4_1") && weights == 134_515_008, "{types:?}");

    // Cut within its header: a line, and no panic.
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = std::fs::read(smollm2_path()).expect("the model");
    let cut = file(folder.path(), "cut.gguf", &bytes[..100_000]);
    let (line, code) = failure(&["models", "info", &cut]);
    assert_eq!(code, 1);
    assert!(line.contains("GGUF file is damaged") && line.ends_with("cut.gguf"), "{line}");
}

#[test]
fn json_may_stand_on_the_line_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = "[1,2,3,4,5,6,7,8,9,10]";
    let ids = file(folder.path(), "ids.json", json.as_bytes());
    let tokens = |name: &str, ids: &str, heads: &str| {
        let path = folder.path().join(name);
        let out = path.display().to_string();
        let output =
            sinkscope(&["analyze", "--model", &tiny(), "--token-ids", ids, "--heads", heads, "--csv", &out]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(path).expect("a table")
    };
    assert_eq!(tokens("a.csv", json, "all"), tokens("b.csv", &ids, "0-3"), "the model has four heads");
    assert_ne!(tokens("a.csv", json, "all"), tokens("c.csv", &ids, "0"));
    let bad = [
        (["--token-ids", "[1,x]"], "--token-ids is no list of ids"),
        (["--chat", "[{}]"], "--chat is no chat"),
    ];
    for ([option, value], wanted) in bad {
        let (line, code) = failure(&["analyze", "--model", &tiny(), option, value]);
        assert!(line.contains(wanted) && code == 2, "{line} {code}");
    }
    let (line, code) = failure(&["analyze", "--model", &tiny(), "--token-ids", json, "--heads", "9"]);
    assert!(line.contains("\"9\" is no head; the model has 0-") && code == 2, "{line} {code}");
}
