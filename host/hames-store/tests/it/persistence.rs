//! Do live sessions become durable, whatever happens on the way?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use async_trait::async_trait;
use hames_log::{Draft, Log, Session, SessionMeta, Sessions};
use hames_store::{MemoryStore, PersistError, Persistence};
use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::clock::FixedClock;
use hames_types::port::store::{OpenedSession, SessionLoader, Store, StoreError, StoredSession, WriterEpoch};
use serde_json::{Value, json};

use crate::kit::{id, interrupted, text, turn};

/// A memory store whose appends can be made to fail, before or after they take effect.
#[derive(Clone)]
struct Shaky {
    store: MemoryStore,
    full: Arc<AtomicBool>,
    forgetful: Arc<AtomicBool>,
}

impl Shaky {
    fn new() -> Result<Self> {
        Ok(Self {
            store: MemoryStore::in_memory()?,
            full: Arc::default(),
            forgetful: Arc::default(),
        })
    }
}

fn disk_full() -> StoreError {
    StoreError::Io {
        doing: "writing",
        place: "the test".into(),
        hint: "wait",
        source: Arc::new(std::io::Error::from(std::io::ErrorKind::StorageFull)),
    }
}

#[async_trait]
impl Store for Shaky {
    async fn create(&self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        self.store.create(header).await
    }
    async fn open(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        self.store.open(id).await
    }
    async fn adopt(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        self.store.adopt(id).await
    }
    async fn append(
        &self,
        header: &SessionHeader,
        epoch: WriterEpoch,
        expected: Seq,
        events: &[Arc<Event>],
    ) -> Result<(), StoreError> {
        if self.full.load(Ordering::SeqCst) {
            return Err(disk_full());
        }
        self.store.append(header, epoch, expected, events).await?;
        if self.forgetful.swap(false, Ordering::SeqCst) {
            return Err(disk_full());
        }
        Ok(())
    }
    async fn load(&self, id: &SessionId) -> Result<StoredSession, StoreError> {
        self.store.load(id).await
    }
    async fn header(&self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        self.store.header(id).await
    }
    async fn list(&self) -> Result<Vec<SessionHeader>, StoreError> {
        self.store.list().await
    }
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        self.store.delete(id).await
    }
    async fn close(&self) {}
}

struct World {
    sessions: Sessions,
    store: Shaky,
    persistence: Persistence,
}

fn world(store: &Shaky) -> World {
    let sessions = Sessions::new(Arc::new(FixedClock(1)));
    World {
        persistence: Persistence::follow(&sessions, Arc::new(store.clone())),
        sessions,
        store: store.clone(),
    }
}

impl World {
    fn create(&self, name: &str, seed: Vec<Arc<Event>>) -> Result<Arc<Session>> {
        self.create_in(name, None, seed)
    }

    fn create_in(&self, name: &str, cwd: Option<&str>, seed: Vec<Arc<Event>>) -> Result<Arc<Session>> {
        let meta = SessionMeta {
            cwd: cwd.map(Into::into),
            ..SessionMeta::default()
        };
        Ok(self
            .sessions
            .create(Some(id(name)), meta, Log::from_events(seed)?)?)
    }

    async fn stored(&self, name: &str) -> Result<String> {
        match self.store.load(&id(name)).await {
            Ok(stored) => Ok(text(&stored.events)),
            Err(StoreError::NotFound(_)) => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    }
}

fn say(session: &Session, kind: &str, data: Value) -> Result<()> {
    session.append(Draft::read(kind, data, None, None)?)?;
    Ok(())
}

fn open_turn(session: &Session, number: u64) -> Result<()> {
    say(
        session,
        "turn/start",
        json!({"turn": number, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
    )
}

fn close_turn(session: &Session, number: u64) -> Result<()> {
    say(
        session,
        "turn/end",
        json!({"turn": number, "reason": {"kind": "completed"}}),
    )
}

#[tokio::test]
async fn a_flush_stores_what_was_appended_and_nothing_earlier() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", vec![])?;
    world.persistence.settle().await;
    open_turn(&session, 1)?;
    assert_eq!(world.stored("s").await?, "");
    world.sessions.flush(&session).await?;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    close_turn(&session, 1)?;
    world.sessions.flush(&session).await?;
    world.sessions.flush(&session).await?;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn a_failed_flush_is_reported_and_tried_again_by_the_next() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", vec![])?;
    open_turn(&session, 1)?;
    world.store.full.store(true, Ordering::SeqCst);
    let failed = world
        .sessions
        .flush(&session)
        .await
        .expect_err("the disk is full");
    assert!(failed.to_string().contains("can't be made durable"), "{failed}");
    close_turn(&session, 1)?;
    assert_eq!(world.stored("s").await?, "");
    world.store.full.store(false, Ordering::SeqCst);
    world.sessions.flush(&session).await?;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn an_append_that_took_effect_unheard_is_not_repeated() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", vec![])?;
    open_turn(&session, 1)?;
    world.store.forgetful.store(true, Ordering::SeqCst);
    assert!(world.sessions.flush(&session).await.is_err());
    close_turn(&session, 1)?;
    world.sessions.flush(&session).await?;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn a_seed_is_stored_once_and_without_a_flush() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", turn(0, 1, 3))?;
    world.persistence.settle().await;
    assert_eq!(world.stored("s").await?, text(&turn(0, 1, 3)));
    open_turn(&session, 2)?;
    world.sessions.flush(&session).await?;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn sessions_that_live_already_are_followed_too() -> Result<()> {
    let store = Shaky::new()?;
    let sessions = Sessions::new(Arc::new(FixedClock(1)));
    let session = sessions.create(Some(id("s")), SessionMeta::default(), Log::default())?;
    open_turn(&session, 1)?;
    let persistence = Persistence::follow(&sessions, Arc::new(store.clone()));
    persistence.settle().await;
    assert_eq!(
        text(&store.load(&id("s")).await?.events),
        text(&session.all_events())
    );
    Ok(())
}

#[tokio::test]
async fn a_disposed_session_is_written_to_its_end_and_lets_go_of_its_id() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", vec![])?;
    open_turn(&session, 1)?;
    close_turn(&session, 1)?;
    world.sessions.detach(&session);
    world.persistence.settle().await;
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    let resumed = world.persistence.load_for_resume(&id("s")).await?;
    assert_eq!(text(&resumed.events), text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn a_resumed_session_continues_what_is_stored() -> Result<()> {
    let store = Shaky::new()?;
    let first = world(&store);
    let session = first.create("s", vec![])?;
    open_turn(&session, 1)?;
    first.sessions.flush(&session).await?;
    drop(first);

    let second = world(&store);
    assert!(second.persistence.is_stored(&id("s")).await?);
    assert!(!second.persistence.is_stored(&id("t")).await?);
    let stored = second.persistence.load_for_resume(&id("s")).await?;
    let seed = Log::from_events(stored.events.clone())?;
    let resumed = second.sessions.prepare_with(stored.header, seed);
    second.sessions.publish(&resumed, None)?;
    open_turn(&resumed, 2)?;
    second.sessions.flush(&resumed).await?;
    assert_eq!(second.stored("s").await?, text(&resumed.all_events()));
    let kinds: Vec<String> = resumed
        .all_events()
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    assert_eq!(kinds, ["turn/start", "turn/end", "turn/start"]);
    Ok(())
}

#[tokio::test]
async fn a_live_session_whose_store_comes_late_takes_its_own_prefix_over_with_the_turn_open() -> Result<()> {
    let store = Shaky::new()?;
    let first = world(&store);
    let session = first.create("s", vec![])?;
    open_turn(&session, 1)?;
    first.sessions.flush(&session).await?;
    drop(first.persistence);
    close_turn(&session, 1)?;
    let late = Persistence::follow(&first.sessions, Arc::new(store.clone()));
    first.sessions.flush(&session).await?;
    late.settle().await;
    assert_eq!(
        text(&store.load(&id("s")).await?.events),
        text(&session.all_events())
    );
    Ok(())
}

#[tokio::test]
async fn another_sessions_record_is_never_adopted() -> Result<()> {
    let store = Shaky::new()?;
    let first = world(&store);
    let session = first.create_in("s", Some("/here"), turn(0, 1, 0))?;
    first.sessions.flush(&session).await?;
    first.persistence.close().await.expect("nothing is left");
    for (cwd, seed) in [
        (Some("/elsewhere"), turn(0, 1, 0)),
        (Some("/here"), vec![]),
        (Some("/here"), interrupted(0, 1, 0)),
        (Some("/here"), turn(0, 1, 3)),
    ] {
        let world = world(&store);
        let session = world.create_in("s", cwd, seed)?;
        let refused = world.sessions.flush(&session).await.expect_err("another's");
        assert!(refused.to_string().contains("doesn't continue it"), "{refused}");
        assert_eq!(world.stored("s").await?, text(&turn(0, 1, 0)));
    }
    // Its own writer could still write: nobody adopted it.
    let world = world(&store);
    let resumed = world.create_in("s", Some("/here"), turn(0, 1, 0))?;
    world.sessions.flush(&resumed).await?;
    Ok(())
}

#[tokio::test]
async fn the_orderly_end_writes_everything_and_names_what_it_could_not() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", vec![])?;
    open_turn(&session, 1)?;
    world.store.full.store(true, Ordering::SeqCst);
    let failures = world.persistence.close().await.expect_err("the disk is full");
    assert!(matches!(&failures[..], [PersistError::Store { id: failed, .. }] if *failed == id("s")));
    world.store.full.store(false, Ordering::SeqCst);
    world.persistence.close().await.expect("the second try");
    assert_eq!(world.stored("s").await?, text(&session.all_events()));
    // Nobody is followed any more.
    close_turn(&session, 1)?;
    world.sessions.flush(&session).await?;
    assert_ne!(world.stored("s").await?, text(&session.all_events()));
    Ok(())
}

#[tokio::test]
async fn a_live_session_is_not_resumed() -> Result<()> {
    let world = world(&Shaky::new()?);
    let session = world.create("s", turn(0, 1, 0))?;
    world.sessions.flush(&session).await?;
    assert!(matches!(
        world.persistence.load_for_resume(&id("s")).await,
        Err(StoreError::Live(_))
    ));
    open_turn(&session, 2)?;
    world.sessions.flush(&session).await?;
    Ok(())
}

#[tokio::test]
async fn an_id_that_was_never_stored_can_be_used_again() -> Result<()> {
    let world = world(&Shaky::new()?);
    let empty = world.create("s", vec![])?;
    world.sessions.detach(&empty);
    let next = world.create("s", vec![])?;
    open_turn(&next, 1)?;
    world.sessions.flush(&next).await?;
    world.persistence.settle().await;
    assert_eq!(world.stored("s").await?, text(&next.all_events()));
    Ok(())
}
