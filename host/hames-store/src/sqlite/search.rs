//! Where was something said? Full-text search over what a person reads.

use hames_types::id::{Seq, SessionId};
use hames_types::port::store::StoreError;
use rusqlite::{OptionalExtension, params};

use super::{Database, SqliteStore, prose, row};
use crate::error;

/// Most hits of one search.
pub const MAX_HITS: usize = 200;

/// An event in which everything searched for occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// Its kind.
    pub kind: String,
    /// Its text around the first find.
    pub excerpt: String,
}

impl SqliteStore {
    /// Searches prompts, answers and titles of all sessions, best hits first, at most [`MAX_HITS`].
    ///
    /// Every word must occur, whole, whatever its case and accents; `"words in quotes"` next to each other. Nothing in
    /// it is syntax beyond the quotes. Without a word there are no hits.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub async fn search(&self, typed: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let typed = typed.to_owned();
        self.reader()
            .run(move |database| database.search(&typed, limit.min(MAX_HITS)))
            .await
    }
}

impl Database {
    fn search(&mut self, typed: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let Some(query) = prose::query(typed) else {
            return Ok(Vec::new());
        };
        self.snapshot(|this| {
            let places: Vec<i64> = this
                .connection
                .prepare_cached("SELECT rowid FROM prose WHERE prose MATCH ?1 ORDER BY rank LIMIT ?2")
                .and_then(|mut statement| {
                    let limit = i64::try_from(limit).unwrap_or(0);
                    statement
                        .query_map(params![query, limit], |row| row.get(0))?
                        .collect()
                })
                .map_err(|source| error::sqlite("searching", this.place(), source))?;
            let hits: Result<Vec<Option<Hit>>, StoreError> =
                places.into_iter().map(|place| this.hit(place, typed)).collect();
            Ok(hits?.into_iter().flatten().collect())
        })
    }

    fn hit(&mut self, place: i64, typed: &str) -> Result<Option<Hit>, StoreError> {
        let (key, seq) = row::parts(place);
        let id: Option<String> = self
            .connection
            .prepare_cached("SELECT id FROM session WHERE key = ?1")
            .and_then(|mut statement| statement.query_row([key], |row| row.get(0)).optional())
            .map_err(|source| error::sqlite("searching", self.place(), source))?;
        let Some(id) = id.map(SessionId::new) else {
            return Ok(None);
        };
        let mut hit = None;
        self.rows(&id, (place, place), |read| {
            let event = read.event()?;
            hit = prose::of(&event).map(|text| Hit {
                session: id.clone(),
                seq: Seq::new(seq),
                kind: event.kind().to_owned(),
                excerpt: prose::excerpt(&text, typed),
            });
            Ok(false)
        })?;
        Ok(hit)
    }
}
