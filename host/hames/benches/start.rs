//! How long is it from the start of the process to its first model request, with ten plugins that were compiled
//! before, and how much memory does it hold then?
//!
//!     cargo bench -p hames --bench start

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hames_sandbox_tests::handmade::Module;

/// How many plugins are configured.
const PLUGINS: usize = 10;

/// How many starts are measured, behind one that fills the cache.
const STARTS: usize = 30;

fn main() -> anyhow::Result<()> {
    // `cargo test` runs benchmarks once to see that they work.
    let starts = if std::env::args().any(|argument| argument == "--bench") {
        STARTS
    } else {
        2
    };
    let root = tempfile::tempdir()?;
    let component = Module::default().component()?;
    let mut text = String::new();
    for number in 0..PLUGINS {
        std::fs::write(
            root.path().join(format!("{number}.wasm")),
            differing(&component, number),
        )?;
        text +=
            &format!("[[plugin]]\nid = \"p{number}\"\nsource = \"{number}.wasm\"\nprefix = \"p{number}_\"\n");
    }
    let config = root.path().join("hames.toml");
    std::fs::write(&config, text)?;
    let server = TcpListener::bind(("127.0.0.1", 0))?;
    let mut times = Vec::new();
    let mut memory = Vec::new();
    for number in 0..=starts {
        let (time, kib) = start(root.path(), &server)?;
        if number > 0 {
            times.push(time);
            memory.push(kib);
        }
    }
    times.sort();
    memory.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    writeln!(
        std::io::stdout(),
        "start to first request, {PLUGINS} cached plugins: median {:?}, 90th {:?}, best {:?}; resident {} KiB (median)",
        at(50),
        at(90),
        at(0),
        memory.get(memory.len() / 2).copied().unwrap_or_default()
    )?;
    Ok(())
}

/// The component with a section of its own, so that each has its own place in the cache.
fn differing(component: &[u8], number: usize) -> Vec<u8> {
    hames_sandbox_tests::handmade::with_section(component, "number", number.to_string().as_bytes()).to_vec()
}

/// Starts the program, waits for its request, and lets it end.
fn start(root: &std::path::Path, server: &TcpListener) -> anyhow::Result<(Duration, u64)> {
    let address = server.local_addr()?;
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hames"))
        .args([
            "run",
            "hi",
            "--set=model.provider=compatible",
            "--set=model.model=m",
            "--config",
        ])
        .arg(root.join("hames.toml"))
        .arg(format!("--set=model.base_url=http://{address}/v1"))
        .env_clear()
        .env("HOME", root)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (stream, _) = server.accept()?;
    request(&stream)?;
    let time = began.elapsed();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let resident = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    let kib = resident.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    answer(&stream)?;
    anyhow::ensure!(child.wait()?.success(), "the run failed");
    Ok((time, kib))
}

fn request(stream: &TcpStream) -> std::io::Result<()> {
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
    reader.read_exact(&mut vec![0; length])
}

fn answer(mut stream: &TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
          data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n\
          data: [DONE]\n\n",
    )
}
