//! What does a database of sessions look like, and how do older ones become current?

use hames_types::port::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

#[cfg(test)]
mod tests;

/// Marks a database as one of sessions (`hams`): a foreign one is refused, not written into.
pub(super) const APPLICATION_ID: i64 = 0x6861_6d73;

/// What leads from each version to the next; their number is the current version. A step is never changed once
/// released: a new one is added.
pub(super) const STEPS: &[&str] = &[
    // 1. `place` is the session's key and the event's number in one integer, so a session's rows lie together and
    // need no second index. `kind` and `data` are the record's own texts, never rewritten; `data` is a blob when
    // compressed. `count` is more than 1 in rows of packed chunks. `sum` guards what SQLite doesn't: flipped bits.
    "CREATE TABLE session (
        key    INTEGER PRIMARY KEY,
        id     TEXT    NOT NULL UNIQUE,
        header TEXT    NOT NULL,
        parent TEXT,
        length INTEGER NOT NULL,
        epoch  INTEGER NOT NULL
     ) STRICT;
     CREATE INDEX session_by_parent ON session (parent) WHERE parent IS NOT NULL;
     CREATE TABLE event (
        place     INTEGER PRIMARY KEY,
        count     INTEGER NOT NULL,
        time      INTEGER NOT NULL,
        kind      TEXT    NOT NULL,
        sum       INTEGER NOT NULL,
        data      ANY     NOT NULL,
        placement TEXT
     ) STRICT;
     CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     INSERT INTO counter VALUES ('epoch', 0);
     CREATE VIRTUAL TABLE prose USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
     );",
];

/// What a database turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Current, perhaps just made so.
    Ready,
    /// Written by a newer program, which knows this version.
    Newer(i64),
    /// Another program's.
    Foreign,
}

impl Found {
    /// Nothing, or why the database at `place` can't be used.
    pub(super) fn ready(self, place: String, steps: &[&str]) -> Result<(), StoreError> {
        let problem = match self {
            Self::Ready => return Ok(()),
            Self::Newer(version) => format!(
                "it has version {version}, this program knows up to {}; use a newer hames",
                steps.len()
            ),
            Self::Foreign => "it is another program's database; name another file".to_owned(),
        };
        Err(StoreError::Unsupported {
            place,
            problem,
            source: None,
        })
    }
}

/// Settings of every connection, with the reason for each.
pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    // Readers go on while a writer writes; one fsync per commit.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit that returned survives a loss of power.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Two processes take turns; each commit is short.
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Brings a database to the current version, or says why not. Nothing is written into a foreign or a newer one.
pub(super) fn migrate(
    connection: &mut Connection,
    application: i64,
    steps: &[&str],
) -> rusqlite::Result<Found> {
    if let Some(found) = inspect(connection, application, steps)? {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Somebody else may have been first.
    if let Some(found) = inspect(&transaction, application, steps)? {
        return Ok(found);
    }
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in steps.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", application)?;
    transaction.pragma_update(None, "user_version", current(steps))?;
    transaction.commit()?;
    Ok(Found::Ready)
}

/// What the database is; `None` if it is ours and older, or empty.
fn inspect(connection: &Connection, application: i64, steps: &[&str]) -> rusqlite::Result<Option<Found>> {
    let marked: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if marked != application {
        let empty = marked == 0 && tables == 0 && version(connection)? == 0;
        return Ok((!empty).then_some(Found::Foreign));
    }
    let version = version(connection)?;
    Ok(match version.cmp(&current(steps)) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(Found::Ready),
        std::cmp::Ordering::Greater => Some(Found::Newer(version)),
    })
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn current(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}
