//! A loopback server that plays one recorded answer, byte for byte, and keeps what it was sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use hames_types::json::Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Between two recorded writes.
const WRITE_GAP: Duration = Duration::from_millis(8);
/// Between the last byte and a reset.
const RESET_GAP: Duration = Duration::from_millis(60);
/// How much more than it sends a truncated answer promises.
const PROMISED_MORE: usize = 50;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body's text.
    pub body: String,
}

/// An answer as recorded: how it begins, what it holds, how it ends.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u64,
    headers: Vec<(String, String)>,
    pieces: Vec<Vec<u8>>,
    chunked: bool,
    end: String,
}

impl Answer {
    /// Reads the recorded form.
    ///
    /// # Errors
    /// If it isn't one.
    pub fn read(response: &Json) -> anyhow::Result<Self> {
        let body = body_of(response)?;
        let mut cuts = vec![0];
        for cut in response
            .get("splits")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            cuts.push(usize::try_from(cut.as_u64().context("a split that is no offset")?)?.min(body.len()));
        }
        cuts.push(body.len());
        let headers = response.get("headers").and_then(Json::as_object);
        Ok(Self {
            status: response.get("status").and_then(Json::as_u64).unwrap_or(200),
            headers: headers
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect(),
            pieces: cuts
                .windows(2)
                .filter_map(|pair| body.get(*pair.first()?..*pair.last()?))
                .filter(|piece| !piece.is_empty())
                .map(<[u8]>::to_vec)
                .collect(),
            chunked: response.get("chunked") == Some(&Json::Bool(true)),
            end: response
                .get("end")
                .and_then(Json::as_str)
                .unwrap_or("close")
                .to_owned(),
        })
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Recorded\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.chunked {
            head.push_str("transfer-encoding: chunked\r\n");
        } else if self.end == "truncated" {
            let sent: usize = self.pieces.iter().map(Vec::len).sum();
            head.push_str(&format!("content-length: {}\r\n", sent + PROMISED_MORE));
        }
        head.push_str("\r\n");
        head
    }

    async fn play(&self, mut stream: TcpStream) -> anyhow::Result<()> {
        match self.end.as_str() {
            "reset-before-headers" => return reset(stream),
            "stall-before-headers" => return stall(stream).await,
            _ => {}
        }
        stream.write_all(self.head().as_bytes()).await?;
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                sleep(WRITE_GAP).await;
            }
            let framed = if self.chunked {
                [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
            } else {
                piece.clone()
            };
            stream.write_all(&framed).await?;
        }
        match self.end.as_str() {
            "reset" => {
                sleep(RESET_GAP).await;
                reset(stream)
            }
            "stall" => stall(stream).await,
            end => {
                if self.chunked && end != "truncated" {
                    stream.write_all(b"0\r\n\r\n").await?;
                }
                Ok(stream.shutdown().await?)
            }
        }
    }
}

/// The server; it ends with its value.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
    gone: Arc<AtomicUsize>,
    /// Owns the accepting task, which ends with it.
    _accepting: JoinSet<()>,
}

impl Server {
    /// Plays `answer` to whoever asks.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start(answer: Answer) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let received = Arc::new(Mutex::new(Vec::new()));
        let gone = Arc::new(AtomicUsize::new(0));
        let (seen, ended) = (Arc::clone(&received), Arc::clone(&gone));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if let Ok(request) = read_request(&mut stream).await {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                    // The client may be gone by now; what it made of the answer is what counts.
                    drop(answer.play(stream).await);
                    ended.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Ok(Self {
            base_url,
            received,
            gone,
            _accepting: accepting,
        })
    }

    /// How many clients were answered to the end, or left before it.
    #[must_use]
    pub fn clients_gone(&self) -> usize {
        self.gone.load(Ordering::SeqCst)
    }

    /// The requests so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn reset(stream: TcpStream) -> anyhow::Result<()> {
    stream.set_zero_linger()?;
    drop(stream);
    Ok(())
}

/// Open and silent until the client goes.
async fn stall(mut stream: TcpStream) -> anyhow::Result<()> {
    let mut rest = [0; 64];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> anyhow::Result<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        ensure!(
            stream.read_buf(&mut bytes).await? > 0,
            "the request ended in its head"
        );
    };
    let head = String::from_utf8_lossy(bytes.get(..head_end).unwrap_or_default()).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(Ok(0), |(_, value)| value.parse())?;
    let body_start = head_end + 4;
    while bytes.len() < body_start + length {
        ensure!(
            stream.read_buf(&mut bytes).await? > 0,
            "the request ended in its body"
        );
    }
    Ok(Received {
        method: first.next().unwrap_or_default().to_owned(),
        path: first.next().unwrap_or_default().to_owned(),
        headers,
        body: String::from_utf8(bytes.split_off(body_start))?,
    })
}

/// The bytes of a recorded answer's body.
///
/// # Errors
/// If they are written as base64 and aren't.
pub fn body_of(response: &Json) -> anyhow::Result<Vec<u8>> {
    match (response.get("body"), response.get("bodyB64")) {
        (Some(Json::String(text)), _) => Ok(text.clone().into_bytes()),
        (_, Some(Json::String(text))) => base64(text),
        _ => Ok(Vec::new()),
    }
}

/// The bytes of a base64 text.
fn base64(text: &str) -> anyhow::Result<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let digit = ALPHABET
            .iter()
            .position(|known| *known == letter)
            .context("no base64")?;
        bits = (bits << 6) | u32::try_from(digit)?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff)?);
        }
    }
    Ok(bytes)
}
