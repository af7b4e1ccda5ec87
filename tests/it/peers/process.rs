//! A server of somebody else's, on loopback, ended with its value; and the few words of HTTP to drive it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hames_types::json::Json;

/// How long a server may take to start on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Where `.ci/peers` installs.
pub(super) fn installed(path: &str) -> PathBuf {
    let path = root().join(".ci/cache/peers").join(path);
    assert!(
        path.exists(),
        "{} is missing; run `bash .ci/peers` first",
        path.display()
    );
    path
}

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(super) struct Server {
    child: Child,
    pub(super) address: String,
}

impl Server {
    /// Starts `command`, to which `port` adds where to listen, and waits until it does.
    pub(super) fn start(command: &mut Command, port: impl FnOnce(&mut Command, u16)) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        port(command, free.port());
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Self {
            child,
            address: free.to_string(),
        };
        let begin = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            assert!(begin.elapsed() < START_LIMIT, "the server did not start");
            assert!(
                server.child.try_wait().unwrap().is_none(),
                "the server ended at once"
            );
            sleep(Duration::from_millis(50));
        }
        server
    }

    /// Waits until `path` answers with a success: some servers listen before they are ready.
    pub(super) fn ready_at(self, path: &str) -> Self {
        let begin = Instant::now();
        while !self
            .raw(&format!("GET {path} HTTP/1.1\r\n"), "")
            .starts_with("HTTP/1.1 2")
        {
            assert!(begin.elapsed() < START_LIMIT, "the server did not get ready");
            sleep(Duration::from_millis(100));
        }
        self
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"), "")
    }

    pub(super) fn post(&self, path: &str, body: &Json) -> String {
        self.ask(
            &format!("POST {path} HTTP/1.1\r\ncontent-type: application/json\r\n"),
            &body.to_string(),
        )
    }

    /// The body of the answer, which must be a success.
    fn ask(&self, head: &str, body: &str) -> String {
        let answer = self.raw(head, body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{answer}");
        body.to_owned()
    }

    fn raw(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{head}host: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
