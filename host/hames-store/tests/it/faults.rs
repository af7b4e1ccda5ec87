//! What if what is stored is broken? Each break gives a typed error that names the file, and what can be read is read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hames_store::{Compression, Database, Folder, Form};
use hames_types::id::Seq;
use hames_types::port::store::{Store, StoreError};
use tempfile::TempDir;

use crate::kit::{Frames, Kind, Lines, START, Sqlite, header, id, inline, text, turn};

/// Two sessions in a database that was closed, with the pages of the second at its end.
async fn database() -> Result<(TempDir, PathBuf)> {
    let folder = TempDir::new()?;
    let store = inline::<Sqlite>(&folder)?;
    for (name, chunks) in [("early", 10), ("late", 8_000)] {
        let mut events = turn(0, 1, chunks);
        // Each chunk its own text, so that nothing compresses away.
        events.truncate(chunks);
        let epoch = store.create(&header(name)).await?;
        store.append(&header(name), epoch, START, &events).await?;
    }
    store.close().await;
    let file = folder.path().join("sessions.db");
    Ok((folder, file))
}

fn is_typed(error: &StoreError, file: &Path) -> bool {
    let named = error.to_string().contains(&file.display().to_string());
    named
        && matches!(
            error,
            StoreError::Damaged { .. } | StoreError::Unsupported { .. } | StoreError::Io { .. }
        )
}

#[tokio::test]
async fn a_page_of_garbage_is_named_and_the_other_session_loads() -> Result<()> {
    let (folder, file) = database().await?;
    let whole = fs::read(&file)?;
    let pages = whole.len() / 4096;
    let (mut refused, mut early) = (0, 0);
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
        fs::write(&file, &bytes)?;
        let opened = Database::open(file.clone());
        if let Err(error) = opened {
            assert!(is_typed(&error, &file), "page {page}: {error:?}");
            continue;
        }
        let store = inline::<Sqlite>(&folder)?;
        for name in ["early", "late"] {
            match store.load(&id(name)).await {
                Ok(stored) => {
                    let expected = turn(0, 1, stored.events.len());
                    assert_eq!(
                        text(&stored.events),
                        text(&expected[..stored.events.len()]),
                        "page {page}"
                    );
                    early += usize::from(name == "early");
                }
                Err(StoreError::NotFound(_)) => {}
                Err(error) => {
                    assert!(is_typed(&error, &file), "page {page}: {error:?}");
                    refused += 1;
                }
            }
        }
        store.close().await;
    }
    assert!(refused > pages / 4, "{refused} of {pages} pages were missed");
    assert!(early > 0, "the early session never loaded");
    Ok(())
}

#[tokio::test]
async fn a_truncated_database_is_an_error_and_never_less_than_was_stored() -> Result<()> {
    let (folder, file) = database().await?;
    let whole = fs::read(&file)?;
    for part in 1..8 {
        fs::write(&file, &whole[..whole.len() * part / 8])?;
        match Database::open(file.clone()) {
            Err(error) => assert!(is_typed(&error, &file), "{part}: {error:?}"),
            Ok(opened) => {
                drop(opened);
                let store = inline::<Sqlite>(&folder)?;
                let loaded = store.load(&id("late")).await.map(|stored| stored.events.len());
                let error = loaded.expect_err("a part is missing");
                assert!(is_typed(&error, &file), "{part}: {error:?}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_in_the_files_place_and_a_file_in_the_folders_are_named() -> Result<()> {
    let folder = TempDir::new()?;
    fs::create_dir(folder.path().join("sessions.db"))?;
    let error = Sqlite::open(&folder).err().context("refused")?;
    assert!(error.to_string().contains("sessions.db"), "{error}");

    let place = folder.path().join("file");
    fs::write(&place, "x")?;
    for compression in [Compression::Plain, Compression::Zstd] {
        let error = Folder::open(&place, compression, Form::Plain)
            .err()
            .context("refused")?;
        assert!(is_typed(&error, &place), "{error:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_log_of_nothing_or_of_something_else_is_named() -> Result<()> {
    let folder = TempDir::new()?;
    let bucket = folder.path().join("_no-cwd");
    fs::create_dir(&bucket)?;
    let file = bucket.join("s.jsonl");
    for bytes in [
        &b""[..],
        b"hello\n",
        b"\xff\xfe\n",
        b"{\"type\":\"session\"}\n",
        b"[]\n",
    ] {
        fs::write(&file, bytes)?;
        let store = inline::<Lines>(&folder)?;
        for error in [store.load(&id("s")).await.err(), store.open(&id("s")).await.err()] {
            let error = error.context("refused")?;
            assert!(is_typed(&error, &file), "{error:?}");
        }
        assert_eq!(fs::read(&file)?, bytes, "nothing is changed");
    }
    fs::write(
        &file,
        "{\"type\":\"session\",\"version\":9,\"id\":\"s\",\"createdAt\":1,\"delegationDepth\":0}\n",
    )?;
    let error = inline::<Lines>(&folder)?
        .load(&id("s"))
        .await
        .err()
        .context("refused")?;
    assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn a_log_that_lost_its_middle_is_damaged_whatever_its_kind() -> Result<()> {
    let folder = TempDir::new()?;
    let store = inline::<Frames>(&folder)?;
    let epoch = store.create(&header("s")).await?;
    let all = turn(0, 1, 40);
    for (from, to) in [(0, 10), (10, 20), (20, 46)] {
        store
            .append(&header("s"), epoch, Seq::at(from), &all[from..to])
            .await?;
    }
    let file = folder.path().join("_no-cwd/s.jsonl.zstd");
    let bytes = fs::read(&file)?;
    // The third frame goes: what follows doesn't continue what is left.
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at..].starts_with(&magic))
        .collect();
    let mut cut = bytes[..starts[2]].to_vec();
    cut.extend_from_slice(&bytes[starts[3]..]);
    fs::write(&file, &cut)?;
    let error = inline::<Frames>(&folder)?
        .load(&id("s"))
        .await
        .err()
        .context("refused")?;
    assert!(
        matches!(error, StoreError::Damaged { .. }) && is_typed(&error, &file),
        "{error:?}"
    );
    Ok(())
}
