//! The port's promises as one suite; every store runs all of it.

use anyhow::Result;
use hames_store::{Backend, Form, Home, Threading};
use hames_types::id::Seq;
use hames_types::port::store::{Store, StoreError, WriterEpoch};
use serde_json::json;
use tempfile::TempDir;

use crate::kit::{
    self, Frames, InMemory, Kind, Lines, START, Sqlite, header, id, interrupted, numbered, text, turn,
};

/// One store, and the way to open it again as another process would.
struct Bench<B> {
    store: Home<B>,
    again: Box<dyn Fn() -> Result<Home<B>>>,
    _folder: std::rc::Rc<TempDir>,
}

impl<B: Backend> Bench<B> {
    /// Other processes open the files anew.
    fn durable<K: Kind<Backend = B> + 'static>(threading: Threading) -> Result<Self> {
        let folder = std::rc::Rc::new(TempDir::new()?);
        let there = std::rc::Rc::clone(&folder);
        Ok(Self {
            store: Home::new(K::open(&folder)?, threading)?,
            again: Box::new(move || Ok(Home::new(K::open(&there)?, threading)?)),
            _folder: folder,
        })
    }
}

impl Bench<hames_store::Memory> {
    /// There are no other processes: a twin sees the same memory.
    fn memory() -> Result<Self> {
        let folder = std::rc::Rc::new(TempDir::new()?);
        let memory = InMemory::open(&folder)?;
        let twin = memory.twin()?;
        Ok(Self {
            store: Home::new(memory, Threading::Inline)?,
            again: Box::new(move || Ok(Home::new(twin.twin()?, Threading::Inline)?)),
            _folder: folder,
        })
    }
}

macro_rules! contract {
    ($($promise:ident),* $(,)?) => {
        mod memory { $(
            #[tokio::test]
            async fn $promise() -> anyhow::Result<()> { super::$promise(super::Bench::memory()?).await }
        )* }
        mod sqlite { $(
            #[tokio::test]
            async fn $promise() -> anyhow::Result<()> {
                super::$promise(super::Bench::durable::<super::Sqlite>(super::Threading::Own)?).await
            }
        )* }
        mod sqlite_inline { $(
            #[tokio::test(start_paused = true)]
            async fn $promise() -> anyhow::Result<()> {
                super::$promise(super::Bench::durable::<super::Sqlite>(super::Threading::Inline)?).await
            }
        )* }
        mod frames { $(
            #[tokio::test]
            async fn $promise() -> anyhow::Result<()> {
                super::$promise(super::Bench::durable::<super::Frames>(super::Threading::Own)?).await
            }
        )* }
        mod lines { $(
            #[tokio::test(start_paused = true)]
            async fn $promise() -> anyhow::Result<()> {
                super::$promise(super::Bench::durable::<super::Lines>(super::Threading::Inline)?).await
            }
        )* }
    };
}

contract! {
    what_was_appended_is_loaded_exactly,
    nothing_is_stored_before_the_first_append,
    a_taken_id_is_refused,
    an_append_must_continue_what_is_stored,
    an_empty_append_does_nothing,
    opening_closes_the_interrupted_turn_once,
    adopting_leaves_the_turn_open,
    loading_changes_nothing,
    an_older_writer_is_told_by_name,
    two_creators_of_one_id_dont_mix,
    a_deleted_session_is_gone_and_its_writer_is_told,
    legacy_words_are_refused,
    odd_payloads_are_kept,
    long_runs_of_chunks_come_back_exactly,
    pages_are_exact_and_bounded,
    lineage_is_followed_both_ways,
    traces_lead_to_sources_and_results,
    export_and_import_are_byte_stable,
    a_torn_import_stores_nothing,
    other_sessions_are_untouched,
    a_closed_store_refuses,
}

async fn what_was_appended_is_loaded_exactly<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("a session/1 é"));
    let epoch = store.create(&header).await?;
    let (one, two) = (turn(0, 1, 5), turn(11, 2, 0));
    store.append(&header, epoch, START, &one).await?;
    store.append(&header, epoch, Seq::new(11), &two).await?;
    let stored = (bench.again)()?.load(&header.id).await?;
    assert_eq!(stored.header, header);
    assert_eq!(text(&stored.events), text(&one) + &text(&two));
    assert_eq!((bench.again)()?.header(&header.id).await?, header);
    assert_eq!(store.list().await?, vec![header]);
    Ok(())
}

async fn nothing_is_stored_before_the_first_append<B: Backend>(bench: Bench<B>) -> Result<()> {
    let store = &bench.store;
    store.create(&header("s")).await?;
    assert!(store.list().await?.is_empty());
    assert!(matches!(store.load(&id("s")).await, Err(StoreError::NotFound(_))));
    assert!(matches!(
        store.header(&id("s")).await,
        Err(StoreError::NotFound(_))
    ));
    assert!(matches!(store.open(&id("s")).await, Err(StoreError::NotFound(_))));
    // The claim dies with its writer: another may have the id.
    (bench.again)()?.create(&header("s")).await?;
    Ok(())
}

async fn a_taken_id_is_refused<B: Backend>(bench: Bench<B>) -> Result<()> {
    let store = &bench.store;
    let epoch = store.create(&header("s")).await?;
    store.append(&header("s"), epoch, START, &turn(0, 1, 0)).await?;
    let mut elsewhere = header("s");
    elsewhere.fields.cwd = Some("/another".into());
    for header in [header("s"), elsewhere] {
        let refused = (bench.again)()?.create(&header).await;
        assert!(matches!(refused, Err(StoreError::Exists(_))), "{refused:?}");
    }
    Ok(())
}

async fn an_append_must_continue_what_is_stored<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let one = turn(0, 1, 0);
    store.append(&header, epoch, START, &one).await?;
    for (expected, events) in [
        (0, turn(0, 1, 0)),
        (7, turn(7, 2, 0)),
        (6, turn(5, 2, 0)),
        (5, turn(5, 2, 0)),
    ] {
        let refused = store.append(&header, epoch, Seq::new(expected), &events).await;
        assert!(
            matches!(refused, Err(StoreError::OutOfOrder { .. })),
            "{expected}: {refused:?}"
        );
    }
    let mut gap = turn(6, 2, 0);
    gap.remove(1);
    let refused = store.append(&header, epoch, Seq::new(6), &gap).await;
    assert!(
        matches!(refused, Err(StoreError::OutOfOrder { .. })),
        "{refused:?}"
    );
    assert_eq!(text(&store.load(&header.id).await?.events), text(&one));
    store.append(&header, epoch, Seq::new(6), &turn(6, 2, 0)).await?;
    Ok(())
}

async fn an_empty_append_does_nothing<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &[]).await?;
    assert!(store.list().await?.is_empty());
    Ok(())
}

async fn opening_closes_the_interrupted_turn_once<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let kept = interrupted(0, 1, 4);
    store.append(&header, epoch, START, &kept).await?;

    let opened = (bench.again)()?.open(&header.id).await?;
    let stored = &opened.stored.events;
    assert_eq!(text(&stored[..7]), text(&kept));
    let closers: Vec<&str> = stored[7..].iter().map(|event| event.kind()).collect();
    assert_eq!(closers, ["step/end", "turn/end"]);
    assert_eq!(
        text(&(bench.again)()?.load(&header.id).await?.events),
        text(stored)
    );

    let again = (bench.again)()?.open(&header.id).await?;
    assert_eq!(text(&again.stored.events), text(stored));
    assert!(again.epoch > opened.epoch);
    Ok(())
}

async fn adopting_leaves_the_turn_open<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &interrupted(0, 1, 0)).await?;
    let adopted = (bench.again)()?.adopt(&header.id).await?;
    assert_eq!(adopted.stored.events.len(), 3);
    assert!(adopted.epoch > epoch);
    Ok(())
}

async fn loading_changes_nothing<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let kept = interrupted(0, 1, 4);
    store.append(&header, epoch, START, &kept).await?;
    assert_eq!(
        text(&(bench.again)()?.load(&header.id).await?.events),
        text(&kept)
    );
    // The writer still writes.
    store.append(&header, epoch, Seq::new(7), &turn(7, 2, 0)).await?;
    Ok(())
}

async fn an_older_writer_is_told_by_name<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &turn(0, 1, 0)).await?;
    let other = (bench.again)()?;
    let taken = other.open(&header.id).await?;
    let refused = store.append(&header, epoch, Seq::new(6), &turn(6, 2, 0)).await;
    let Err(StoreError::Fenced { id, ours, current }) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        (id, WriterEpoch(*ours), WriterEpoch(*current)),
        (&header.id, epoch, taken.epoch)
    );
    other
        .append(&header, taken.epoch, Seq::new(6), &turn(6, 2, 0))
        .await?;
    assert_eq!(other.load(&header.id).await?.events.len(), 12);
    Ok(())
}

async fn two_creators_of_one_id_dont_mix<B: Backend>(bench: Bench<B>) -> Result<()> {
    let header = header("s");
    let (one, two) = (&bench.store, (bench.again)()?);
    let first = one.create(&header).await?;
    let second = two.create(&header).await?;
    two.append(&header, second, START, &turn(0, 1, 1)).await?;
    let refused = one.append(&header, first, START, &turn(0, 1, 0)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert_eq!(text(&one.load(&header.id).await?.events), text(&turn(0, 1, 1)));
    Ok(())
}

async fn a_deleted_session_is_gone_and_its_writer_is_told<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &turn(0, 1, 0)).await?;
    let other = (bench.again)()?;
    other.delete(&header.id).await?;
    assert!(matches!(
        other.delete(&header.id).await,
        Err(StoreError::NotFound(_))
    ));
    assert!(matches!(
        other.load(&header.id).await,
        Err(StoreError::NotFound(_))
    ));
    let refused = store.append(&header, epoch, Seq::new(6), &turn(6, 2, 0)).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
    // A new session of that name doesn't take the old writer back.
    let new = other.create(&header).await?;
    other.append(&header, new, START, &turn(0, 1, 0)).await?;
    let refused = store.append(&header, epoch, Seq::new(6), &turn(6, 2, 0)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    Ok(())
}

async fn legacy_words_are_refused<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    for record in [
        ("request/header-delta", json!({}), None),
        ("mode/set", json!({"mode": "x"}), None),
        (
            "request/header",
            json!({"header": {"config": {}}, "reason": "fallback"}),
            None,
        ),
    ] {
        let refused = store
            .append(&header, epoch, START, &numbered(0, vec![record]))
            .await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    assert!(store.list().await?.is_empty());
    Ok(())
}

async fn odd_payloads_are_kept<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let odd = numbered(
        0,
        vec![
            ("turn/start", json!({"turn": "one"}), None),
            ("", json!(null), None),
            ("x:y", json!([1.50, {"z": 1, "a": "\u{0}\u{1f600}"}]), None),
            (
                "assistant/chunk",
                json!({"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "a", "more": 1}}),
                None,
            ),
            (
                "user/message",
                json!({"content": 5}),
                Some(
                    json!({"surfaceOp": {"op": "replace", "start": 0, "end": 2}, "sourceEventSeqs": [2, 0, 1]}),
                ),
            ),
            (
                "assistant/message",
                json!({}),
                Some(json!({"surfaceOp": "append", "sourceEventSeqs": []})),
            ),
            (
                "turn/end",
                json!({"turn": 1, "reason": {"kind": "never heard of", "why": true}}),
                None,
            ),
        ],
    );
    store.append(&header, epoch, START, &odd).await?;
    assert_eq!(text(&(bench.again)()?.load(&header.id).await?.events), text(&odd));
    Ok(())
}

async fn long_runs_of_chunks_come_back_exactly<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let long = turn(0, 1, 5000);
    // In pieces whose seams lie inside runs.
    let mut at = 0;
    for end in [1, 4, 700, 701, 3000, long.len()] {
        store.append(&header, epoch, Seq::at(at), &long[at..end]).await?;
        at = end;
    }
    assert_eq!(
        text(&(bench.again)()?.load(&header.id).await?.events),
        text(&long)
    );
    Ok(())
}

async fn pages_are_exact_and_bounded<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    let all = turn(0, 1, 3000);
    store.append(&header, epoch, START, &all).await?;
    for (from, limit) in [
        (0, 1),
        (0, 10),
        (2, 3),
        (5, 1500),
        (1500, 1),
        (2990, 500),
        (3005, 1),
        (3006, 5),
        (9999, 5),
    ] {
        let page = store.page(&header.id, Seq::new(from), limit).await?;
        let start = usize::try_from(from)?.min(all.len());
        let end = (start + limit).min(all.len());
        assert_eq!(text(&page.events), text(&all[start..end]), "{from} {limit}");
        let next = (end < all.len()).then(|| Seq::at(end));
        assert_eq!(page.next, next, "{from} {limit}");
    }
    let page = store.page(&header.id, START, usize::MAX).await?;
    assert!(page.events.len() <= hames_store::query::MAX_PAGE);
    Ok(())
}

async fn lineage_is_followed_both_ways<B: Backend>(bench: Bench<B>) -> Result<()> {
    let store = &bench.store;
    let mut made = Vec::new();
    for (name, parent) in [
        ("a", None),
        ("b", Some("a")),
        ("c", Some("b")),
        ("d", Some("b")),
        ("e", Some("lost")),
    ] {
        let mut header = header(name);
        header.fields.parent_session = parent.map(id);
        let epoch = store.create(&header).await?;
        store.append(&header, epoch, START, &turn(0, 1, 0)).await?;
        made.push(header);
    }
    let lineage = store.lineage(&id("b")).await?;
    let mut children = lineage.children;
    children.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(
        (lineage.session, lineage.ancestors, children),
        (made[1].clone(), vec![made[0].clone()], made[2..4].to_vec())
    );
    assert!(store.lineage(&id("e")).await?.ancestors.is_empty());
    assert!(matches!(
        store.lineage(&id("x")).await,
        Err(StoreError::NotFound(_))
    ));
    Ok(())
}

async fn traces_lead_to_sources_and_results<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &turn(0, 1, 3)).await?;
    let answer = store.trace(&header.id, Seq::new(6)).await?;
    assert_eq!(answer.made_from, [3, 4, 5].map(Seq::new));
    let chunk = store.trace(&header.id, Seq::new(4)).await?;
    assert_eq!(
        (chunk.event.seq, chunk.made_into),
        (Seq::new(4), vec![Seq::new(6)])
    );
    assert!(store.trace(&header.id, Seq::new(99)).await.is_err());
    Ok(())
}

async fn export_and_import_are_byte_stable<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, mut header) = (&bench.store, header("s"));
    header.fields.cwd = Some("/w".into());
    header.fields.delegation_depth = Some(0);
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &turn(0, 1, 40)).await?;
    for form in [Form::Plain, Form::Packed] {
        let log = store.export(&header.id, form).await?;
        let copy = (bench.again)()?;
        copy.delete(&header.id).await?;
        assert_eq!(copy.import(log.clone()).await?, header);
        assert_eq!(
            String::from_utf8(copy.export(&header.id, form).await?)?,
            String::from_utf8(log.clone())?
        );
        assert!(matches!(copy.import(log).await, Err(StoreError::Exists(_))));
        assert_eq!(text(&copy.load(&header.id).await?.events), text(&turn(0, 1, 40)));
    }
    // And goes on from there.
    let opened = store.open(&header.id).await?;
    store
        .append(&header, opened.epoch, Seq::new(46), &turn(46, 2, 4))
        .await?;
    Ok(())
}

async fn a_torn_import_stores_nothing<B: Backend>(bench: Bench<B>) -> Result<()> {
    let (store, header) = (&bench.store, header("s"));
    let epoch = store.create(&header).await?;
    store.append(&header, epoch, START, &turn(0, 1, 2)).await?;
    let mut log = store.export(&header.id, Form::Plain).await?;
    store.delete(&header.id).await?;
    log.truncate(log.len() - 1);
    let refused = store.import(log).await;
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    assert!(store.list().await?.is_empty());
    Ok(())
}

async fn other_sessions_are_untouched<B: Backend>(bench: Bench<B>) -> Result<()> {
    let store = &bench.store;
    let mut elsewhere = header("b");
    elsewhere.fields.cwd = Some("/elsewhere".into());
    for header in [&header("a"), &elsewhere] {
        let epoch = store.create(header).await?;
        store.append(header, epoch, START, &turn(0, 1, 3)).await?;
    }
    store.delete(&id("a")).await?;
    assert_eq!(text(&store.load(&id("b")).await?.events), text(&turn(0, 1, 3)));
    assert_eq!(store.list().await?, vec![elsewhere]);
    Ok(())
}

async fn a_closed_store_refuses<B: Backend>(bench: Bench<B>) -> Result<()> {
    bench.store.close().await;
    assert!(matches!(bench.store.list().await, Err(StoreError::Closed)));
    assert!(matches!(
        bench.store.create(&header("s")).await,
        Err(StoreError::Closed)
    ));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn inline_stores_dont_let_virtual_time_jump() -> Result<()> {
    let folder = TempDir::new()?;
    let store = kit::inline::<Sqlite>(&folder)?;
    let before = tokio::time::Instant::now();
    let epoch = store.create(&header("s")).await?;
    store
        .append(&header("s"), epoch, START, &turn(0, 1, 1000))
        .await?;
    assert_eq!(tokio::time::Instant::now(), before);
    Ok(())
}
