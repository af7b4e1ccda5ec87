//! A server of chat completions on this machine, whose answers a test writes and whose pauses it decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A piece of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Text.
    Text(&'static str),
    /// A call.
    Call(&'static str, Value),
    /// Nothing until the test says so, or nobody listens any more.
    Hold,
    /// The whole answer is this status and body.
    Status(u16, Value),
}

/// The server.
pub(crate) struct Model {
    port: u16,
    requests: Arc<Mutex<Vec<Value>>>,
    go_on: Sender<()>,
}

impl Model {
    /// Answers one request after the other; further ones get the last answer.
    pub(crate) fn start(answers: Vec<Vec<Piece>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (go_on, may_go_on) = channel();
        let kept = Arc::clone(&requests);
        // Ends with the process; each test has few.
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Some(answer) = answers.get(number).or(answers.last()) else {
                    return;
                };
                if let Ok(stream) = stream {
                    // A client that went away is what some tests are about.
                    drop(serve(&stream, answer, &kept, &may_go_on));
                }
            }
        });
        Self {
            port,
            requests,
            go_on,
        }
    }

    /// The flags that lead to it.
    pub(crate) fn flags(&self) -> Vec<String> {
        [
            "--set=model.provider=compatible".to_owned(),
            "--set=model.model=m".to_owned(),
            format!("--set=model.base_url=http://127.0.0.1:{}/v1", self.port),
        ]
        .into()
    }

    pub(crate) fn go_on(&self) {
        self.go_on.send(()).expect("the server is there");
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("nobody panicked").clone()
    }
}

fn serve(
    stream: &TcpStream,
    answer: &[Piece],
    requests: &Mutex<Vec<Value>>,
    go_on: &Receiver<()>,
) -> std::io::Result<()> {
    let request = read(stream)?;
    requests.lock().expect("nobody panicked").push(request);
    let mut out = stream;
    if let [Piece::Status(status, body)] = answer {
        let body = body.to_string();
        return write!(
            out,
            "HTTP/1.1 {status} Told\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    )?;
    let mut calls = 0;
    let mut event = |value: Value| -> std::io::Result<()> {
        write!(out, "data: {value}\n\n")?;
        out.flush()
    };
    for piece in answer {
        match piece {
            Piece::Text(text) => event(json!({"choices": [{"index": 0, "delta": {"content": text}}]}))?,
            Piece::Call(name, arguments) => {
                let function = json!({"name": name, "arguments": arguments.to_string()});
                let call = json!({"index": calls, "id": format!("call-{calls}"), "type": "function", "function": function});
                event(json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))?;
                calls += 1;
            }
            Piece::Hold => drop(go_on.recv_timeout(Duration::from_secs(20))),
            Piece::Status(..) => {}
        }
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    event(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))?;
    event(
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}),
    )?;
    write!(out, "data: [DONE]\n\n")
}

fn read(stream: &TcpStream) -> std::io::Result<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
