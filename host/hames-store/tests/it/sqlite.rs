//! What only a database promises: versions, modes, damage found, search.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use anyhow::Result;
use hames_store::{Database, Form, SqliteStore, Threading};
use hames_types::event::Event;
use hames_types::id::Seq;
use hames_types::port::store::{Store, StoreError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{START, Sqlite, header, id, inline, numbered, text, turn};

async fn fill(store: &SqliteStore, name: &str, events: &[Arc<Event>]) -> Result<()> {
    let epoch = store.create(&header(name)).await?;
    store.append(&header(name), epoch, START, events).await?;
    Ok(())
}

fn raw(folder: &TempDir) -> Result<rusqlite::Connection> {
    Ok(rusqlite::Connection::open(folder.path().join("sessions.db"))?)
}

#[tokio::test]
async fn new_files_are_their_owners_alone_and_old_modes_stay() -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("deep/er/sessions.db");
    let store = SqliteStore::open_file(&file, Threading::Inline)?;
    fill(&store, "s", &turn(0, 1, 0)).await?;
    let mode =
        |path: &std::path::Path| -> Result<u32> { Ok(std::fs::metadata(path)?.permissions().mode() & 0o777) };
    assert_eq!(mode(&file)?, 0o600);
    assert_eq!(mode(&file.with_extension("db-wal"))?, 0o600);
    assert_eq!(mode(&folder.path().join("deep"))?, 0o700);
    store.close().await;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640))?;
    drop(SqliteStore::open_file(&file, Threading::Inline)?);
    assert_eq!(mode(&file)?, 0o640);
    Ok(())
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() -> Result<()> {
    let folder = TempDir::new()?;
    fill(&inline::<Sqlite>(&folder)?, "s", &turn(0, 1, 0)).await?;
    raw(&folder)?.pragma_update(None, "user_version", 99)?;
    let refused = inline::<Sqlite>(&folder).err().expect("refused").to_string();
    assert!(
        refused.contains("sessions.db") && refused.contains("version 99"),
        "{refused}"
    );
    let version: i64 = raw(&folder)?.pragma_query_value(None, "user_version", |row| row.get(0))?;
    assert_eq!(version, 99);
    Ok(())
}

#[tokio::test]
async fn another_programs_database_and_a_foreign_file_are_refused_and_left_alone() -> Result<()> {
    let folder = TempDir::new()?;
    raw(&folder)?.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")?;
    let refused = Database::open(folder.path().join("sessions.db"))
        .err()
        .expect("refused");
    assert!(matches!(refused, StoreError::Unsupported { .. }), "{refused}");
    let tables: i64 = raw(&folder)?.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    assert_eq!(tables, 1);

    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "not a database at all, but long enough to be looked at ".repeat(100),
    )?;
    let before = std::fs::read(&text)?;
    let refused = Database::open(text.clone()).err().expect("refused");
    assert!(matches!(refused, StoreError::Unsupported { .. }), "{refused}");
    assert!(refused.to_string().contains("text.db"));
    assert_eq!(std::fs::read(&text)?, before);
    Ok(())
}

#[tokio::test]
async fn flipped_bits_are_found_and_other_sessions_still_load() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Sqlite>(&folder)?;
    fill(&store, "good", &turn(0, 1, 0)).await?;
    fill(&store, "bad", &turn(0, 1, 0)).await?;
    raw(&folder)?.execute(
        "UPDATE event SET data = replace(data, 'question', 'quest1on') WHERE kind = 'user/message'
           AND place >> 40 = (SELECT key FROM session WHERE id = 'bad')",
        [],
    )?;
    let found = store.load(&id("bad")).await.expect_err("damage");
    assert!(matches!(found, StoreError::Damaged { .. }), "{found}");
    assert!(
        found.to_string().contains("sessions.db, session `bad`, event 1"),
        "{found}"
    );
    assert_eq!(text(&store.load(&id("good")).await?.events), text(&turn(0, 1, 0)));
    // What lies before and behind the damage can still be read.
    assert_eq!(store.page(&id("bad"), START, 1).await?.events.len(), 1);
    assert_eq!(store.page(&id("bad"), Seq::new(2), 10).await?.events.len(), 4);
    Ok(())
}

#[tokio::test]
async fn a_missing_row_is_found() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Sqlite>(&folder)?;
    for (name, lost) in [("middle", 2), ("end", 5)] {
        fill(&store, name, &turn(0, 1, 0)).await?;
        let changed = raw(&folder)?.execute(
            "DELETE FROM event WHERE place = ((SELECT key FROM session WHERE id = ?1) << 40) + ?2",
            rusqlite::params![name, lost],
        )?;
        assert_eq!(changed, 1);
        let found = store.load(&id(name)).await.expect_err("damage");
        assert!(matches!(found, StoreError::Damaged { .. }), "{found}");
    }
    Ok(())
}

#[tokio::test]
async fn stored_text_stays_as_it_was_written() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Sqlite>(&folder)?;
    // Another program's order of keys, number format and spacing inside the payload.
    let log = concat!(
        r#"{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}"#,
        "\n",
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"trigger":{"source":{"kind":"user"},"kind":"message"},"turn":1}}"#,
        "\n",
        r#"{"type":"x:y","seq":1,"time":1,"data":{"n":1.50, "z":[ ],"a":"\u00e9"}}"#,
        "\n",
        r#"{"type":"turn/end","seq":2,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#,
        "\n",
    );
    store.import(log.as_bytes().to_vec()).await?;
    assert_eq!(
        String::from_utf8(store.export(&id("s"), Form::Plain).await?)?,
        log
    );
    let opened = store.open(&id("s")).await?;
    store
        .append(&opened.stored.header, opened.epoch, Seq::new(3), &turn(3, 2, 0))
        .await?;
    assert!(String::from_utf8(store.export(&id("s"), Form::Plain).await?)?.starts_with(log));
    Ok(())
}

/// A turn in which something is said aloud, something thought and something read by a tool.
fn said(turn: u64, prompt: &str, answer: &str) -> Vec<(&'static str, Value, Option<Value>)> {
    vec![
        (
            "turn/start",
            json!({"turn": turn, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
            None,
        ),
        (
            "user/message",
            json!({"content": [{"type": "text", "text": format!("hidden context {prompt}")}], "source": {"kind": "user"},
                       "envelope": {"displayContent": [{"type": "text", "text": prompt}], "prefixContexts": []}}),
            Some(json!({"surfaceOp": "append"})),
        ),
        (
            "tool/result",
            json!({"turn": turn, "step": 1, "callId": "c", "content": [{"type": "text", "text": "secretfile"}], "isError": false}),
            Some(json!({"surfaceOp": "append"})),
        ),
        (
            "assistant/message",
            json!({"turn": turn, "step": 1, "content": [{"type": "reasoning", "text": "pondering"}, {"type": "text", "text": answer}],
                       "provenance": {"provider": "p", "model": "m"}}),
            Some(json!({"surfaceOp": "append"})),
        ),
        (
            "turn/end",
            json!({"turn": turn, "reason": {"kind": "completed"}}),
            None,
        ),
    ]
}

#[tokio::test]
async fn what_people_read_is_found_and_nothing_else() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Sqlite>(&folder)?;
    fill(
        &store,
        "a",
        &numbered(
            0,
            said(
                1,
                "Where is the Übergabe?",
                "In the river Elbe, north of \"Dresden\"",
            ),
        ),
    )
    .await?;
    fill(
        &store,
        "b",
        &numbered(0, said(1, "把数据库打开", "好的,数据库已经打开了")),
    )
    .await?;
    let hits = async |typed: &str| -> Result<Vec<(String, u64)>> {
        let hits = store.search(typed, 10).await?;
        Ok(hits
            .into_iter()
            .map(|hit| (hit.session.to_string(), hit.seq.get()))
            .collect())
    };
    let found = |session: &str, seq| vec![(session.to_owned(), seq)];
    assert_eq!(hits("ubergabe").await?, found("a", 1));
    assert_eq!(hits("river dresden").await?, found("a", 3));
    assert_eq!(hits("\"river elbe\"").await?, found("a", 3));
    assert_eq!(hits("\"elbe river\"").await?, vec![]);
    assert_eq!(hits("river übergabe").await?, vec![]);
    assert_eq!(hits("数据库").await?.len(), 2);
    assert_eq!(hits("已经打开").await?, found("b", 3));
    for nothing in [
        "",
        "  ",
        "\"",
        "*",
        "hidden",
        "secretfile",
        "pondering",
        "riv",
        "NOT river OR",
        "text:river",
    ] {
        assert_eq!(hits(nothing).await?, vec![], "{nothing}");
    }
    let hit = store.search("dresden", 1).await?.remove(0);
    assert_eq!(hit.excerpt, "In the river Elbe, north of \"Dresden\"");
    store.delete(&id("a")).await?;
    assert_eq!(hits("dresden").await?, vec![]);
    Ok(())
}
