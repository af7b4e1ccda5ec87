//! How is the same work done elsewhere? In a process of its own for each call, or by a server over standard streams.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hames_types::json::Json;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// One process, from its start to its end.
pub(crate) async fn once(program: &Path, script: Option<&Path>, arguments: &str) -> Duration {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(arguments.as_bytes()).await.unwrap();
    drop(stdin);
    let mut answer = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .await
        .unwrap();
    let answer: Json = serde_json::from_str(&answer).unwrap();
    assert!(answer.as_str().is_some_and(|text| text.starts_with("Hello, x")));
    assert!(child.wait().await.unwrap().success());
    begun.elapsed()
}

/// A server of the Model Context Protocol over standard streams, and as little of a client as it takes.
pub(crate) struct Mcp {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Mcp {
    pub(crate) async fn start(program: &Path, script: &Path) -> Self {
        let mut child = Command::new(program)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut server = Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
        };
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "hames-bench", "version": "0" },
        });
        server.ask("initialize", &about).await;
        server
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        server
    }

    pub(crate) async fn call(&mut self, arguments: &Json) -> Duration {
        let begun = Instant::now();
        let answer = self
            .ask("tools/call", &json!({ "name": "hello", "arguments": arguments }))
            .await;
        let took = begun.elapsed();
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        assert!(text.starts_with("Hello, x"), "{answer}");
        took
    }

    async fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.from.read_line(&mut line).await.unwrap();
            assert!(read > 0, "the server ended");
            let message: Json = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn send(&mut self, message: &Json) {
        let line = format!("{message}\n");
        self.to.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn end(mut self) {
        drop(self.to);
        self.child.wait().await.unwrap();
    }
}
