//! How do sessions get out, in, and away? Copied from one to another, to and from files, removed.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use hames_store::Form;
use hames_types::event::{Event, EventBody};
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::clock::Clock as _;
use serde_json::json;
use std::sync::Arc;

use super::find;
use crate::compose::Shelf;
use crate::exit::{Ended, Exit};
use crate::output::{Output, visible};
use crate::outside::{SystemClock, session_id};

/// Makes a session of the beginning of another.
pub(super) async fn fork(
    shelf: &Shelf,
    typed: &str,
    turn: Option<u64>,
    new: Option<String>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let store = shelf.store();
    let id = find(&*store, typed).await?;
    let stored = store.load(&id).await?;
    let length = boundary(&stored.events, turn)
        .ok_or(Ended(Exit::Store))
        .with_context(|| match turn {
            Some(turn) => {
                format!(
                    "session `{id}` has no turn {turn} that is ended; `hames sessions show {id}` prints them"
                )
            }
            None => format!("session `{id}` has no turn that is ended, so there is nothing to fork"),
        })?;
    let now = SystemClock.now_ms();
    let mut header = SessionHeader::new(new.map_or_else(|| session_id(now), SessionId::new), now);
    header.fields.cwd.clone_from(&stored.header.fields.cwd);
    header.fields.parent_session = Some(id.clone());
    header.fields.seed_length = Some(length as u64);
    let epoch = store.create(&header).await?;
    let events = stored.events.get(..length).unwrap_or_default();
    store.append(&header, epoch, Seq::at(0), events).await?;
    if output.is_json() {
        output.json(&json!({"type": "forked", "id": header.id, "from": id, "events": length}))?;
    } else {
        output.line(format_args!(
            "{}: the first {length} events of {}; go on with `hames resume {}`",
            visible(header.id.as_str()),
            visible(id.as_str()),
            visible(header.id.as_str()),
        ))?;
    }
    Ok(Exit::Done)
}

/// How many events there are up to the end of a turn, or of the last one that is ended.
fn boundary(events: &[Arc<Event>], turn: Option<u64>) -> Option<usize> {
    events
        .iter()
        .rposition(|event| match event.body() {
            Some(EventBody::TurnEnd(end)) => turn.is_none_or(|turn| end.turn.get() == turn),
            _ => false,
        })
        .map(|at| at + 1)
}

/// Writes a session as a readable log.
pub(super) async fn export(
    shelf: &Shelf,
    typed: &str,
    file: Option<&Path>,
    packed: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let id = find(&*shelf.store(), typed).await?;
    let form = if packed { Form::Packed } else { Form::Plain };
    let log = shelf.export(&id, form).await?;
    let Some(file) = file else {
        io::stdout().lock().write_all(&log)?;
        return Ok(Exit::Done);
    };
    // What somebody has there already may be all that is left of a session.
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut out| out.write_all(&log));
    written.with_context(|| {
        format!(
            "{} can't be written; name a file that isn't there yet",
            file.display()
        )
    })?;
    if output.is_json() {
        output.json(
            &json!({"type": "exported", "id": id, "file": file.display().to_string(), "bytes": log.len()}),
        )?;
    } else {
        output.line(format_args!(
            "{}: {} bytes to {}",
            visible(id.as_str()),
            log.len(),
            file.display()
        ))?;
    }
    Ok(Exit::Done)
}

/// Stores a readable log.
pub(super) async fn import(shelf: &Shelf, file: &Path, output: &Output) -> anyhow::Result<Exit> {
    let mut log = Vec::new();
    let read = if file.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut log)
    } else {
        fs::File::open(file).and_then(|mut opened| opened.read_to_end(&mut log))
    };
    read.with_context(|| format!("{} can't be read", file.display()))?;
    let header = shelf.import(log).await?;
    if output.is_json() {
        output.json(&json!({"type": "imported", "id": header.id, "file": file.display().to_string()}))?;
    } else {
        output.line(format_args!(
            "{}: imported from {}",
            visible(header.id.as_str()),
            file.display()
        ))?;
    }
    Ok(Exit::Done)
}

/// Removes sessions, each asked for unless told not to.
pub(super) async fn delete(
    shelf: &Shelf,
    ids: &[String],
    yes: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let store = shelf.store();
    for typed in ids {
        // Whole ids only: a beginning that is too short would remove another session than was meant.
        let id = SessionId::new(typed.as_str());
        store.header(&id).await?;
        if !yes && !output.is_interactive() {
            return Err(anyhow::Error::new(Ended(Exit::Usage)).context(
                "nobody can be asked here whether to remove sessions for good; say so with `--yes`",
            ));
        }
        if !yes && !confirmed(&id, output)? {
            output.note(format_args!("{} is kept", visible(id.as_str())));
            continue;
        }
        store.delete(&id).await?;
        if output.is_json() {
            output.json(&json!({"type": "deleted", "id": id}))?;
        } else {
            output.line(format_args!("{}: removed", visible(id.as_str())))?;
        }
    }
    Ok(Exit::Done)
}

fn confirmed(id: &SessionId, output: &Output) -> io::Result<bool> {
    output.note(format_args!("remove {} for good? [y/N]", visible(id.as_str())));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
