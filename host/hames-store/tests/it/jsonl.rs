//! What only readable logs promise: they are the ones others write and read, and torn ends are told from damage.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hames_store::{Compression, Folder, Form, Home, JsonlStore, Threading, record};
use hames_types::id::Seq;
use hames_types::port::store::{Store, StoreError};
use tempfile::TempDir;

use crate::kit::{Frames, Lines, START, header, id, inline, interrupted, text, turn};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/jsonl");

fn plain(root: &Path, form: Form) -> Result<JsonlStore> {
    Ok(JsonlStore::open_folder(
        root,
        Compression::Plain,
        form,
        Threading::Inline,
    )?)
}

/// Every log under a root.
fn logs(root: &Path) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            logs.extend(self::logs(&path)?);
        } else if path.to_string_lossy().contains(".jsonl") {
            logs.push(path);
        }
    }
    Ok(logs)
}

async fn fill<B: hames_store::Backend>(store: &Home<B>, batches: &[usize]) -> Result<()> {
    let (header, all) = (header("s"), turn(0, 1, 40));
    let epoch = store.create(&header).await?;
    let mut at = 0;
    for end in batches {
        store.append(&header, epoch, Seq::at(at), &all[at..*end]).await?;
        at = *end;
    }
    Ok(())
}

#[tokio::test]
async fn recorded_logs_are_read_and_written_byte_for_byte() -> Result<()> {
    let mut seen = 0;
    for root in fs::read_dir(RECORDED)? {
        let root = root?.path();
        if !root.is_dir() {
            continue;
        }
        let packed = root.to_string_lossy().ends_with("-packed");
        let form = if packed { Form::Packed } else { Form::Plain };
        let copy = TempDir::new()?;
        for header in plain(&root, form)?.list().await? {
            let id = &header.id;
            let recorded = logs(&root)?
                .into_iter()
                .find(|log| {
                    let name = log.file_name().unwrap().to_string_lossy().into_owned();
                    hames_store::path::segment(id).is_ok_and(|segment| name == format!("{segment}.jsonl"))
                })
                .context("its log")?;
            let bytes = fs::read(&recorded)?;
            // Loading and appending what was loaded writes the same bytes at the same place.
            let stored = plain(&root, form)?.load(id).await?;
            let store = plain(copy.path(), form)?;
            let epoch = store.create(&header).await?;
            store.append(&header, epoch, START, &stored.events).await?;
            let written = copy.path().join(recorded.strip_prefix(&root)?);
            assert_eq!(
                fs::read_to_string(&written)?,
                String::from_utf8(bytes.clone())?,
                "{}",
                recorded.display()
            );
            // As do import and export, through a store of another kind.
            let other = TempDir::new()?;
            let other = inline::<crate::kit::Sqlite>(&other)?;
            other.import(bytes.clone()).await?;
            assert_eq!(
                String::from_utf8(other.export(id, form).await?)?,
                String::from_utf8(bytes)?
            );
            assert_eq!(text(&other.load(id).await?.events), text(&stored.events));
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen}");
    Ok(())
}

#[tokio::test]
async fn every_torn_end_of_a_plain_log_keeps_the_whole_lines() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Lines>(&folder)?;
    let epoch = store.create(&header("s")).await?;
    let all = interrupted(0, 1, 3);
    store.append(&header("s"), epoch, START, &all).await?;
    let file = logs(folder.path())?.remove(0);
    let bytes = fs::read(&file)?;
    let head = bytes.iter().position(|byte| *byte == b'\n').context("a line")? + 1;
    for length in head..=bytes.len() {
        fs::write(&file, &bytes[..length])?;
        let whole = bytes[head..length].iter().filter(|byte| **byte == b'\n').count();
        let opened = inline::<Lines>(&folder)?.adopt(&id("s")).await?;
        assert_eq!(text(&opened.stored.events), text(&all[..whole]), "{length}");
        // Only what is torn was cut off.
        let kept = bytes[..length]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .context("a line")?
            + 1;
        assert_eq!(fs::read(&file)?, &bytes[..kept]);
    }
    Ok(())
}

#[tokio::test]
async fn every_torn_end_of_a_framed_log_keeps_at_least_the_whole_frames() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Frames>(&folder)?;
    fill(&store, &[5, 40]).await?;
    let file = logs(folder.path())?.remove(0);
    let two = fs::read(&file)?;
    let opened = store.adopt(&id("s")).await?;
    store
        .append(&header("s"), opened.epoch, Seq::new(40), &turn(0, 1, 40)[40..])
        .await?;
    let three = fs::read(&file)?;
    let all = text(&turn(0, 1, 40));
    let mut recovered = 0;
    for length in two.len()..=three.len() {
        fs::write(&file, &three[..length])?;
        let read_only = inline::<Frames>(&folder)?.load(&id("s")).await?.events;
        assert_eq!(fs::read(&file)?.len(), length, "reading changes nothing");
        let opened = inline::<Frames>(&folder)?.adopt(&id("s")).await?.stored.events;
        assert!(opened.len() >= 40 && all.starts_with(&text(&opened)), "{length}");
        assert_eq!(text(&read_only), text(&opened));
        recovered = recovered.max(if length < three.len() { opened.len() } else { 0 });
        // What was recovered is durable now, and the file is whole.
        assert_eq!(
            text(&inline::<Frames>(&folder)?.load(&id("s")).await?.events),
            text(&opened)
        );
        let again = inline::<Frames>(&folder)?.adopt(&id("s")).await?;
        store_more(&inline::<Frames>(&folder)?, again.stored.events.len()).await?;
    }
    assert!(recovered > 40, "nothing was ever recovered from a torn frame");
    Ok(())
}

async fn store_more(store: &Home<Folder>, length: usize) -> Result<()> {
    let opened = store.open(&id("s")).await?;
    let at = opened.stored.events.len() as u64;
    assert!(opened.stored.events.len() >= length);
    store
        .append(&header("s"), opened.epoch, Seq::new(at), &turn(at, 2, 3))
        .await?;
    assert_eq!(store.load(&id("s")).await?.events.len() as u64, at + 9);
    Ok(())
}

#[tokio::test]
async fn a_flipped_byte_in_a_frame_is_damage_not_a_torn_end() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Frames>(&folder)?;
    fill(&store, &[5, 46]).await?;
    let file = logs(folder.path())?.remove(0);
    let bytes = fs::read(&file)?;
    let mut damaged = 0;
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        fs::write(&file, &bad)?;
        match inline::<Frames>(&folder)?.load(&id("s")).await {
            Ok(stored) => {
                // A changed length can make the last frame look torn; never is something made up.
                assert!(
                    text(&turn(0, 1, 40)).starts_with(&text(&stored.events)),
                    "byte {at}"
                );
            }
            Err(StoreError::Damaged { place, .. }) => {
                assert!(place.contains("s.jsonl.zstd"), "{place}");
                damaged += 1;
            }
            Err(StoreError::Unsupported { .. } | StoreError::NotFound(_)) => damaged += 1,
            Err(other) => panic!("byte {at}: {other:?}"),
        }
    }
    assert!(damaged > bytes.len() / 2, "{damaged} of {}", bytes.len());
    Ok(())
}

#[tokio::test]
async fn a_root_holds_one_kind_of_log() -> Result<()> {
    let folder = TempDir::new()?;
    fill(&inline::<Frames>(&folder)?, &[46]).await?;
    let refused = Folder::open(folder.path(), Compression::Plain, Form::Plain)
        .err()
        .expect("refused");
    assert!(matches!(refused, StoreError::Unsupported { .. }), "{refused}");
    // Also when the other kind appears later, in any bucket.
    let frames = inline::<Frames>(&folder)?;
    fs::create_dir(folder.path().join("cwd-000000000000"))?;
    fs::write(folder.path().join("cwd-000000000000/s.jsonl"), "")?;
    assert!(matches!(frames.list().await, Err(StoreError::Unsupported { .. })));
    assert!(matches!(
        frames.load(&id("s")).await,
        Err(StoreError::Unsupported { .. })
    ));
    Ok(())
}

#[tokio::test]
async fn listing_skips_what_is_no_log() -> Result<()> {
    for (compression, suffix) in [(Compression::Plain, "jsonl"), (Compression::Zstd, "jsonl.zstd")] {
        let folder = TempDir::new()?;
        let store = JsonlStore::open_folder(folder.path(), compression, Form::Packed, Threading::Inline)?;
        assert!(store.list().await?.is_empty());
        fill(&store, &[46]).await?;
        let bucket = folder.path().join("_no-cwd");
        fs::write(bucket.join(format!("empty.{suffix}")), "")?;
        fs::write(bucket.join(format!("odd.{suffix}")), "what?\n")?;
        fs::write(bucket.join("note.txt"), "hello")?;
        assert_eq!(store.list().await?, vec![header("s")]);
    }
    Ok(())
}

#[tokio::test]
async fn files_and_folders_are_their_owners_alone() -> Result<()> {
    let folder = TempDir::new()?;
    let store = plain(&folder.path().join("root"), Form::Plain)?;
    fill(&store, &[46]).await?;
    let mode = |path: &str| -> Result<u32> {
        Ok(fs::metadata(folder.path().join(path))?.permissions().mode() & 0o777)
    };
    assert_eq!(mode("root")?, 0o700);
    assert_eq!(mode("root/_no-cwd")?, 0o700);
    assert_eq!(mode("root/_no-cwd/s.jsonl")?, 0o600);
    assert_eq!(fs::read_dir(folder.path().join("root/_no-cwd"))?.count(), 1);
    store.delete(&id("s")).await?;
    assert!(logs(folder.path())?.is_empty());
    assert_eq!(fs::read_dir(folder.path().join("root/_writers"))?.count(), 1);
    Ok(())
}

#[tokio::test]
async fn an_unfinished_append_of_a_dead_writer_is_cut_off_by_the_next_one() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Lines>(&folder)?;
    fill(&store, &[46]).await?;
    let file = logs(folder.path())?.remove(0);
    let mut bytes = fs::read(&file)?;
    let whole = bytes.len();
    bytes.extend_from_slice(b"{\"type\":\"turn/st");
    fs::write(&file, &bytes)?;
    let opened = inline::<Lines>(&folder)?.open(&id("s")).await?;
    assert_eq!(fs::read(&file)?.len(), whole);
    let other = inline::<Lines>(&folder)?;
    other
        .append(&header("s"), opened.epoch, Seq::new(46), &turn(46, 2, 1))
        .await?;
    assert_eq!(other.load(&id("s")).await?.events.len(), 53);
    Ok(())
}

#[test]
fn hostile_lines_are_errors() {
    let deep = format!(
        "{{\"type\":\"x:y\",\"seq\":0,\"time\":1,\"data\":{}1{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let far = "{\"type\":\"x:y\",\"seq\":18446744073709551615,\"time\":1,\"data\":1}";
    let row = "{\"type\":\"text-chunks\",\"seq0\":9007199254740991,\"time0\":0,\"data\":{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1],\"texts\":[\"a\",\"b\"]}}";
    let null = "{\"type\":\"user/message\",\"seq\":0,\"time\":1,\"data\":{},\"surfaceOp\":null}";
    let extra = "{\"type\":\"x:y\",\"seq\":0,\"time\":1,\"data\":{},\"more\":1}";
    for line in [
        &deep,
        far,
        row,
        null,
        extra,
        "",
        "[]",
        "{}",
        "{\"type\":\"text-chunks\"}",
    ] {
        let mut events = Vec::new();
        assert!(record::read(line, &mut events).is_err(), "{line:.80}");
        assert!(events.is_empty());
    }
}

#[tokio::test]
async fn a_log_of_the_old_format_is_refused_however_it_is_read() -> Result<()> {
    let folder = TempDir::new()?;
    let bucket = folder.path().join("_no-cwd");
    fs::create_dir(&bucket)?;
    let log = concat!(
        r#"{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}"#,
        "\n",
        r#"{"type":"mode/set","seq":0,"time":1,"data":{"mode":"x"}}"#,
        "\n",
    );
    fs::write(bucket.join("s.jsonl"), log)?;
    let store = inline::<Lines>(&folder)?;
    for refused in [store.load(&id("s")).await.err(), store.open(&id("s")).await.err()] {
        assert!(matches!(refused, Some(StoreError::Refused { .. })), "{refused:?}");
    }
    store.delete(&id("s")).await?;
    let refused = store.import(log.as_bytes().to_vec()).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    Ok(())
}
