//! A plugin that does everything with the session that calls it: reads, appends, replaces. Says what came of it.

use std::collections::BTreeMap;

use hames_sdk::prelude::*;
use hames_sdk::session::{self, EventBody};

/// Does one thing with the session.
#[arguments]
struct Scribe {
    /// What to do.
    what: What,
    /// Where to begin, or how much.
    #[serde(default)]
    first: u64,
    /// Where to end, or how much.
    #[serde(default)]
    last: u64,
    /// What to write, or a kind.
    #[serde(default)]
    text: String,
}

#[arguments]
#[derive(Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum What {
    Describe,
    Read,
    Newest,
    Messages,
    Header,
    Note,
    Append,
    Flood,
    Todos,
    Replace,
    ReplaceResult,
    Shorten,
}

impl Tool for Scribe {
    fn run(self, _call: &Call) -> Answer {
        Ok(self.done()?.into())
    }
}

impl Scribe {
    fn done(&self) -> Result<String, Error> {
        Ok(match self.what {
            What::Describe => {
                let info = session::describe()?;
                format!("{} {}", info.id, info.length)
            }
            What::Read => {
                let kinds: &[&str] = if self.text.is_empty() { &[] } else { &[&self.text] };
                let page = session::read(self.first, self.last as u32, kinds)?;
                let seqs: Vec<String> = page.events.iter().map(|event| event.seq.to_string()).collect();
                format!("{} next {:?}", seqs.join(","), page.next)
            }
            What::Newest => {
                let found = session::newest(&self.text)?;
                format!("{:?}", found.map(|event| event.seq))
            }
            What::Messages => {
                let messages = session::messages(self.last as u32)?;
                messages.len().to_string()
            }
            What::Header => {
                let header = session::header()?;
                header.is_some().to_string()
            }
            What::Note => note(&self.text)?.to_string(),
            What::Append => {
                let fields = BTreeMap::from([("text", "x")]);
                session::append(&self.text, &fields)?.to_string()
            }
            What::Flood => {
                for count in 0..self.last {
                    if note("again").is_err() {
                        return Ok(format!("{count} of {}", self.last));
                    }
                }
                "all".to_owned()
            }
            What::Todos => session::write_todos(&[])?.to_string(),
            What::Replace => session::replace(self.first, self.last, &self.text, &[])?.to_string(),
            What::ReplaceResult => session::replace_result(self.first, &self.text)?.to_string(),
            What::Shorten => self.shorten()?,
        })
    }

    /// Replaces the first prompt of the session, which it finds by reading.
    fn shorten(&self) -> Result<String, Error> {
        let page = session::read(0, 1_000, &[])?;
        let prompt = page
            .events
            .iter()
            .find(|event| matches!(event.body, EventBody::UserMessage(_)))
            .ok_or_else(|| Error::new("there is no prompt"))?;
        Ok(session::replace(prompt.seq, prompt.seq, &self.text, &[0])?.to_string())
    }
}

fn note(text: &str) -> Result<u64, Error> {
    session::append("scribe:note", &BTreeMap::from([("text", text)]))
}

export_plugin!(Scribe; manifest = "../manifest.json");
