//! Which sessions are there, and in which was something said?

use hames_types::header::SessionHeader;
use serde_json::{Value, json};

use super::sort;
use crate::compose::Shelf;
use crate::exit::{Ended, Exit};
use crate::output::{Output, Tone, visible};
use crate::outside::shown_time;

/// Prints the newest sessions.
pub(super) async fn list(shelf: &Shelf, limit: usize, output: &Output) -> anyhow::Result<Exit> {
    let mut headers = shelf.store().list().await?;
    sort(&mut headers);
    let more = headers.len().saturating_sub(limit);
    headers.truncate(limit);
    for header in &headers {
        if output.is_json() {
            output.json(&value(header))?;
        } else {
            output.line(line(header, output))?;
        }
    }
    if output.is_json() {
        return Ok(Exit::Done);
    }
    if headers.is_empty() {
        output.note("no session is stored yet; `hames run \"…\"` makes one");
    } else if more > 0 {
        output.note(format_args!("{more} more; `--all` prints them"));
    }
    Ok(Exit::Done)
}

/// A session's header as a line of JSON.
pub(super) fn value(header: &SessionHeader) -> Value {
    let mut value = json!({"type": "session", "id": header.id, "createdAt": header.fields.created_at_ms});
    let fields = [
        ("cwd", header.fields.cwd.as_ref().map(|cwd| json!(cwd))),
        (
            "parentSession",
            header.fields.parent_session.as_ref().map(|parent| json!(parent)),
        ),
        (
            "seedLength",
            header.fields.seed_length.map(|length| json!(length)),
        ),
    ];
    if let Value::Object(map) = &mut value {
        map.extend(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?))),
        );
    }
    value
}

/// A session's header for a person.
pub(super) fn line(header: &SessionHeader, output: &Output) -> String {
    let created = header
        .fields
        .created_at_ms
        .as_u64()
        .map(shown_time)
        .unwrap_or_default();
    let id = visible(header.id.as_str());
    let mut line = format!(
        "{}  {}",
        output.paint(Tone::Strong, id),
        output.paint(Tone::Dim, created)
    );
    if let Some(cwd) = &header.fields.cwd {
        line.push_str("  ");
        line.push_str(&visible(cwd));
    }
    if let Some(parent) = &header.fields.parent_session {
        let from = format!("  from {}", visible(parent.as_str()));
        line.push_str(&output.paint(Tone::Dim, from).to_string());
    }
    line
}

/// Prints where words were said.
pub(super) async fn search(
    shelf: &Shelf,
    words: &str,
    limit: usize,
    output: &Output,
) -> anyhow::Result<Exit> {
    let Shelf::Sqlite(store, _) = shelf else {
        return Err(anyhow::Error::new(Ended(Exit::Config)).context(
            "only a store of kind `sqlite` has an index to search; set `store.kind`, or search the files themselves",
        ));
    };
    let hits = store.search(words, limit).await?;
    for hit in &hits {
        if output.is_json() {
            output.json(&json!({
                "type": "hit",
                "session": hit.session,
                "seq": hit.seq,
                "kind": hit.kind,
                "excerpt": hit.excerpt,
            }))?;
        } else {
            let place = format!("{}#{}", visible(hit.session.as_str()), hit.seq);
            let excerpt = visible(&hit.excerpt).replace('\n', " ");
            output.line(format_args!("{}  {excerpt}", output.paint(Tone::Strong, place)))?;
        }
    }
    if hits.is_empty() && !output.is_json() {
        output.note("nothing was found: every word has to occur, as a whole word");
    }
    Ok(Exit::Done)
}
