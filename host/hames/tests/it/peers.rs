//! Does the main job work against a server that other people wrote, and against a real model? `.ci/peers` installs them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::kit::User;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A server, ended with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: PathBuf, arguments: impl Fn(u16) -> Vec<String>) -> Self {
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let child = Command::new(program)
            .args(arguments(port))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts; `.ci/peers` installs it");
        let server = Self { child, port };
        let until = Instant::now() + Duration::from_secs(120);
        while !server.is_ready() {
            assert!(Instant::now() < until, "the server isn't ready");
            thread::sleep(Duration::from_millis(100));
        }
        server
    }

    /// Whether it answers at all, and no longer that it is loading.
    fn is_ready(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1") && !answer.starts_with("HTTP/1.1 503"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the demonstration's plugins in the repository, with a model at this port: the code, and the lines it says.
fn run(user: &User, port: u16, prompt: &str, rest: &[&str]) -> (Option<i32>, Vec<Value>) {
    let base = format!("--set=model.base_url=http://127.0.0.1:{port}/v1");
    let mut arguments = vec!["run", prompt, "--json", "--set=model.provider=compatible", &base];
    arguments.extend(rest);
    let output = user
        .command(&arguments)
        .current_dir(root())
        .output()
        .expect("the program starts");
    let lines = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    (output.status.code(), lines)
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

#[test]
#[ignore = "needs the servers that `.ci/peers` installs"]
fn the_main_job_runs_against_aimock() {
    let script = root().join(".ci/cache/peers/node_modules/@copilotkit/aimock/dist/cli.js");
    let fixtures = root().join("tests/peers/aimock.json");
    let server = Server::start("node".into(), |port| {
        let port = port.to_string();
        let (script, fixtures) = (script.display().to_string(), fixtures.display().to_string());
        [
            &script,
            "-p",
            &port,
            "-f",
            &fixtures,
            "--validate-on-load",
            "--strict",
        ]
        .map(str::to_owned)
        .into()
    });
    let user = User::new();
    let (code, lines) = run(&user, server.port, "main job", &["--set=model.model=m"]);
    assert_eq!(code, Some(0), "{lines:?}");
    let results = of(&lines, "result");
    let told: Vec<(&str, bool)> = results
        .iter()
        .map(|line| (line["name"].as_str().unwrap_or_default(), line["error"] == true))
        .collect();
    assert_eq!(told, [("read", false), ("todo_write", false), ("read", true)]);
    assert!(
        results[0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("# hames")),
        "a real file was read"
    );
    assert_eq!(of(&lines, "end")[0]["exit"], "DONE");
}

#[test]
#[ignore = "needs the model that `.ci/peers model` installs"]
fn the_main_job_runs_against_a_real_model() {
    let python = root().join(".ci/cache/peers/python/bin/python");
    let (program, template) = (
        root().join("tests/peers/real_model.py"),
        root().join("tests/peers/hermes.jinja"),
    );
    let server = Server::start(python, |port| {
        [
            program.display().to_string(),
            port.to_string(),
            template.display().to_string(),
            "8192".to_owned(),
        ]
        .into()
    });
    let user = User::new();
    // A model of this size calls a tool only if it is told the call word for word.
    let prompt = "Repeat exactly this text and nothing else:\n<tool_call>\n\
                  {\"name\": \"read\", \"arguments\": {\"path\": \"README.md\", \"lines\": 3}}\n</tool_call>";
    let limits = [
        "--set=model.model=smollm2",
        "--set=loop.max_steps=4",
        "--set=model.idle_timeout=10m",
    ];
    let (code, lines) = run(&user, server.port, prompt, &limits);
    // What it says is nonsense; that it calls a tool, hears of it and that the turn ends in order is real.
    assert!(!of(&lines, "result").is_empty(), "it called a tool: {lines:?}");
    assert_eq!(of(&lines, "end").len(), 1, "{lines:?}");
    assert!(matches!(code, Some(0 | 1 | 7)), "{code:?}: {lines:?}");
}
