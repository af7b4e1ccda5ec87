//! Does one prompt run to its end, and does the code say how it ended?

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::kit::User;
use crate::model::{Model, Piece};

fn flags<'a>(model: &'a [String], rest: &[&'a str]) -> Vec<&'a str> {
    rest.iter()
        .copied()
        .chain(model.iter().map(String::as_str))
        .collect()
}

#[test]
fn an_answer_goes_to_standard_output_and_everything_else_beside_it() {
    let user = User::new();
    let model = Model::start(vec![vec![Piece::Text("Hello, "), Piece::Text("person.")]]);
    let model = model.flags();
    let told = user.run(&flags(&model, &["run", "hi", "--session", "s1"]));
    expect_file!["seen/run.txt"].assert_eq(&told.all());
    let told = user.run(&flags(&model, &["run", "hi", "--session", "s2", "--json"]));
    expect_file!["seen/run.json"].assert_eq(&told.all());
}

/// How much of the context is used, where the window is configured or known.
#[test]
fn the_end_says_how_much_of_the_context_is_used() {
    let user = User::new();
    let model = Model::start(vec![vec![Piece::Text("Hello.")]]);
    let model = model.flags();
    let window = ["run", "hi", "--set", "model.context_window=60"];
    let told = user.run(&flags(&model, &window));
    assert!(told.err.contains("25 % of the context's 60"), "{}", told.err);
}

#[test]
fn the_code_says_how_the_turn_ended() {
    let overflow = json!({"error": {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}});
    let broken = json!({"error": {"message": "no such model", "code": "model_not_found"}});
    let mut all = String::new();
    for answer in [Piece::Status(400, overflow), Piece::Status(404, broken)] {
        let user = User::new();
        let model = Model::start(vec![vec![answer]]).flags();
        all.push_str(&user.run(&flags(&model, &["run", "hi", "--session", "s"])).all());
    }
    expect_file!["seen/failures.txt"].assert_eq(&all);
}

#[test]
fn a_plugin_that_isnt_there_stops_the_start_unless_it_isnt_required() {
    let user = User::new();
    let plugin = ["--set", "plugin.gone.source=gone.wasm"];
    let told = user.run(&[&["run", "hi", "--session", "s"], &plugin[..]].concat());
    expect_file!["seen/no-plugin.txt"].assert_eq(&told.all());
    let optional = ["--set", "plugin.gone.required=false"];
    let told = user.run(&[&["run", "hi"], &plugin[..], &optional[..]].concat());
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(told.err.contains("plugin `gone` is left out"), "{}", told.err);
}

#[test]
fn what_tools_do_is_told_beside_the_answer() {
    let user = User::new();
    let model = Model::start(vec![
        vec![
            Piece::Text("Let me look."),
            Piece::Call("nothing", json!({"a": "b\u{1b}[2J"})),
        ],
        vec![Piece::Text("There is no such tool.")],
    ]);
    let model = model.flags();
    let told = user.run(&flags(&model, &["run", "hi", "--session", "s1"]));
    expect_file!["seen/tools.txt"].assert_eq(&told.all());
}

#[test]
fn a_store_in_memory_leaves_nothing_of_a_plugin_either() {
    let user = User::new();
    let told = user.run(&["run", "hi", "--set", "store.kind=memory"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let data = user.home().join(".local/share/hames");
    let left: Vec<_> = std::fs::read_dir(&data)
        .expect("the folder of compiled plugins is in it")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["compiled"], "of all that runs, only compiled plugins stay");
}

#[test]
fn an_empty_prompt_is_a_usage_error() {
    assert_eq!(User::new().run(&["run", " "]).code, Some(2));
}

/// Starts a run whose model pauses in the middle of its answer, and waits until the pause.
fn paused(user: &User, model: &Model) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let model = model.flags();
    let mut child = user
        .command(&flags(&model, &["run", "hi", "--session", "s", "--json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    while !line.contains("\"text\"") {
        line.clear();
        assert!(
            out.read_line(&mut line).expect("it says something") > 0,
            "it ended early"
        );
    }
    (child, out)
}

fn signal(child: &std::process::Child, name: &str) {
    let sent = std::process::Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status();
    assert!(sent.expect("kill is there").success());
}

#[test]
fn a_signal_cancels_the_turn_and_the_session_is_saved() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let user = User::new();
        let model = Model::start(vec![vec![Piece::Text("one "), Piece::Hold]]);
        let (mut child, out) = paused(&user, &model);
        signal(&child, name);
        let last = out
            .lines()
            .map_while(Result::ok)
            .last()
            .expect("it says how it ended");
        let end: Value = serde_json::from_str(&last).expect("a line is JSON");
        assert_eq!(end["type"], "end", "{last}");
        assert_eq!(end["reason"]["kind"], "aborted", "{last}");
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "SIG{name}");
        assert_eq!(crate::resume::ends(&user, "s"), ["aborted"]);
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_turn_in_order() {
    let user = User::new();
    let model = Model::start(vec![vec![
        Piece::Text("one "),
        Piece::Hold,
        Piece::Text("two "),
        Piece::Hold,
    ]]);
    let (mut child, out) = paused(&user, &model);
    drop(out);
    model.go_on();
    assert_eq!(child.wait().expect("it ends").code(), Some(141));
    assert_eq!(crate::resume::ends(&user, "s"), ["aborted"]);
}

#[test]
fn a_full_disk_is_told_and_the_process_ends_in_order() {
    let user = User::new();
    assert_eq!(user.run(&["run", "hi"]).code, Some(0));
    let plain = user.command(&["run", "hi", "--session", "s"]);
    let mut strace = std::process::Command::new("strace");
    strace
        .args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=pwrite64",
            "-e",
            "inject=pwrite64:error=ENOSPC:when=20+",
        ])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .env("HOME", user.home())
        .current_dir(user.folder())
        .stdin(Stdio::null());
    // The program itself is found by `PATH`, which nothing else here needs.
    let Ok(output) = strace.output() else {
        eprintln!("left out: strace isn't there");
        return;
    };
    let told = user.told(&output);
    assert_eq!(told.code, Some(5), "{}", told.err);
    assert!(told.err.contains("free space there"), "{}", told.err);
    assert!(
        !told.err.contains("go on:"),
        "it doesn't promise a session that isn't there: {}",
        told.err
    );
    assert_eq!(
        user.run(&["run", "hi"]).code,
        Some(0),
        "what was stored before is as it was"
    );
}
