//! A plugin that tries to reach things, by the standard library alone: says what it got, or why not.

use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, io, thread};

use hames_sdk::prelude::*;
use hames_sdk::tool::GenericView;
use hames_sdk::{kv, tool::ToolView};

/// Tries to reach something.
#[arguments]
struct Reach {
    /// What to do.
    what: What,
    /// Where.
    #[serde(default)]
    path: String,
    /// Where to, what, or how much.
    #[serde(default)]
    more: String,
}

#[arguments]
#[derive(Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum What {
    Read,
    Write,
    Remove,
    List,
    Symlink,
    HardLink,
    Rename,
    Environment,
    Arguments,
    Stdin,
    Stdout,
    Stderr,
    Exit,
    Panic,
    Sleep,
    Clock,
    Random,
    Allocate,
    Thread,
    Open,
    Keep,
    Kept,
}

impl Tool for Reach {
    fn run(self, _call: &Call) -> Answer {
        Ok(self.reach()?.into())
    }

    fn view(&self) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: match self.what {
                What::Clock | What::Random => self.reach().ok()?,
                _ => format!("reach {}", self.path),
            },
            body: None,
        }))
    }
}

impl Reach {
    fn reach(&self) -> Result<String, Error> {
        let number = self.more.parse::<usize>().unwrap_or(0);
        Ok(match self.what {
            What::Read => fs::read_to_string(&self.path)?,
            What::Write => done(fs::write(&self.path, &self.more))?,
            What::Remove => done(fs::remove_file(&self.path))?,
            What::List => {
                let names: io::Result<Vec<_>> = fs::read_dir(&self.path)?
                    .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                    .collect();
                names?.join(",")
            }
            What::Symlink => done(symlink(&self.more, &self.path))?,
            What::HardLink => done(fs::hard_link(&self.more, &self.path))?,
            What::Rename => done(fs::rename(&self.path, &self.more))?,
            What::Environment => {
                let all: Vec<String> = env::vars()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                all.join(",")
            }
            What::Arguments => env::args().collect::<Vec<_>>().join(","),
            What::Stdin => {
                let mut text = String::new();
                io::stdin().read_to_string(&mut text)?;
                text
            }
            What::Stdout => {
                println!("{}", "x".repeat(number));
                "written".to_owned()
            }
            What::Stderr => {
                eprintln!("{}", "x".repeat(number));
                "written".to_owned()
            }
            What::Exit => std::process::exit(3),
            What::Panic => panic!("{}", self.more),
            What::Sleep => {
                thread::sleep(Duration::from_millis(number as u64));
                "slept".to_owned()
            }
            What::Clock => SystemTime::now()
                .duration_since(UNIX_EPOCH)?
                .as_millis()
                .to_string(),
            What::Random => {
                // The standard library's maps are seeded from the system's randomness.
                use std::hash::{BuildHasher, RandomState};
                RandomState::new().hash_one(1).to_string()
            }
            What::Allocate => {
                let mut all = Vec::new();
                for _ in 0..number {
                    all.push(vec![1_u8; 1 << 20]);
                }
                all.len().to_string()
            }
            What::Thread => {
                thread::Builder::new().spawn(|| ())?;
                "started".to_owned()
            }
            What::Open => {
                let open: io::Result<Vec<_>> = (0..number).map(|_| fs::File::open(&self.path)).collect();
                open?.len().to_string()
            }
            What::Keep => {
                kv::set(&self.path, &self.more)?;
                "kept".to_owned()
            }
            What::Kept => kv::get::<String>(&self.path)?.unwrap_or_else(|| "nothing".to_owned()),
        })
    }
}

fn done(result: io::Result<()>) -> Result<String, Error> {
    result?;
    Ok("done".to_owned())
}

#[cfg(target_os = "wasi")]
#[expect(deprecated, reason = "the only way to a symbolic link on a stable toolchain")]
fn symlink(original: &str, link: &str) -> io::Result<()> {
    fs::soft_link(original, link)
}

#[cfg(not(target_os = "wasi"))]
fn symlink(_original: &str, _link: &str) -> io::Result<()> {
    Err(io::Error::other("not on this system"))
}

export_plugin!(Reach; manifest = "../manifest.json");
