//! Where do plugins keep things on disk? In a database beside that of the sessions, one row for each plugin and key.
//!
//! A file of its own: what a plugin keeps is no part of any session, a plugin that writes a lot doesn't hold up a
//! turn's log, and either can be thrown away without the other.

use std::path::PathBuf;

use hames_types::fault::Fault;
use hames_types::id::PluginId;
use hames_types::port::plugin::{KeepError, PluginStore, Quota};
use hames_types::port::store::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{create_file, schema};
use crate::error;

/// Marks a database as one of what plugins keep (`hamp`).
const APPLICATION_ID: i64 = 0x6861_6d70;

/// See [`schema::STEPS`]. `used` has the sums that a quota asks for, so that no write counts all rows; it changes in
/// the transaction that changes the rows. Keys are blobs: they are compared byte by byte.
const STEPS: &[&str] = &["CREATE TABLE kept (
        owner TEXT NOT NULL,
        key   BLOB NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (owner, key)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE used (
        owner TEXT    PRIMARY KEY,
        keys  INTEGER NOT NULL,
        bytes INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;"];

const GET: &str = "SELECT value FROM kept WHERE owner = ?1 AND key = ?2";
const PUT: &str = "INSERT INTO kept (owner, key, value) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value";
const USE: &str = "INSERT INTO used (owner, keys, bytes) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner) DO UPDATE SET keys = keys + excluded.keys, bytes = bytes + excluded.bytes";

/// What plugins keep, in a SQLite database. Several processes may use one file: every method is one transaction.
pub struct PluginDatabase {
    connection: Mutex<Connection>,
    file: PathBuf,
}

impl PluginDatabase {
    /// Opens a database, creating it (and its folder) for its owner alone if it isn't there.
    ///
    /// A write that returned survives the end of the process. It survives a loss of power unless it is among the
    /// last: a sync for each would cost every tool call that notes something some milliseconds.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] if the file is no database, another program's, or a newer version's,
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let file = file.into();
        create_file(&file)?;
        let failed = |doing| {
            let place = file.display().to_string();
            move |error| error::sqlite(doing, place, error)
        };
        let mut connection = Connection::open(&file).map_err(failed("opening"))?;
        schema::configure(&connection).map_err(failed("opening"))?;
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(failed("opening"))?;
        schema::migrate(&mut connection, APPLICATION_ID, STEPS)
            .map_err(failed("preparing"))?
            .ready(file.display().to_string(), STEPS)?;
        Ok(Self {
            connection: Mutex::new(connection),
            file,
        })
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(rusqlite::Error) -> KeepError {
        let place = self.file.display().to_string();
        move |error| {
            KeepError::Failed(Fault::of(
                "StoreError",
                "STORE",
                &error::sqlite(doing, place, error),
            ))
        }
    }

    /// Does `work` in a transaction that no other writer interrupts; an error undoes it.
    fn write<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Result<T, KeepError>>,
    ) -> Result<T, KeepError> {
        let mut connection = self.connection.lock();
        let done = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .and_then(|transaction| match work(&transaction)? {
                Ok(done) => transaction.commit().map(|()| Ok(done)),
                Err(refused) => Ok(Err(refused)),
            });
        done.map_err(self.failed("keeping a plugin's value in"))?
    }
}

impl PluginStore for PluginDatabase {
    fn get(&self, owner: &PluginId, key: &str) -> Result<Option<Vec<u8>>, KeepError> {
        value(&self.connection.lock(), owner, key).map_err(self.failed("reading"))
    }

    fn set(&self, owner: &PluginId, key: &str, value: Vec<u8>, quota: Quota) -> Result<(), KeepError> {
        self.write(|transaction| put(transaction, owner, (key, &value), quota))
    }

    fn delete(&self, owner: &PluginId, key: &str) -> Result<(), KeepError> {
        self.write(|transaction| {
            let Some(old) = value(transaction, owner, key)? else {
                return Ok(Ok(()));
            };
            transaction
                .prepare_cached("DELETE FROM kept WHERE owner = ?1 AND key = ?2")?
                .execute(params![owner.as_str(), key.as_bytes()])?;
            account(transaction, owner, -1, -size(key.len() + old.len()))?;
            Ok(Ok(()))
        })
    }

    fn increment(&self, owner: &PluginId, key: &str, by: i64, quota: Quota) -> Result<i64, KeepError> {
        self.write(|transaction| {
            let old = match value(transaction, owner, key)? {
                Some(old) => std::str::from_utf8(&old).ok().and_then(|text| text.parse().ok()),
                None => Some(0_i64),
            };
            let Some(new) = old.and_then(|old| old.checked_add(by)) else {
                return Ok(Err(KeepError::NotACounter(key.to_owned())));
            };
            let put = put(transaction, owner, (key, new.to_string().as_bytes()), quota)?;
            Ok(put.map(|()| new))
        })
    }

    fn keys(
        &self,
        owner: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KeepError> {
        let connection = self.connection.lock();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = || {
            let mut statement = connection.prepare_cached(
                "SELECT key FROM kept WHERE owner = ?1 AND key >= ?2 AND (?3 IS NULL OR key > ?3)
                 ORDER BY key LIMIT ?4",
            )?;
            let after = after.map(str::as_bytes);
            let rows = statement
                .query_map(params![owner.as_str(), prefix.as_bytes(), after, limit], |row| {
                    row.get::<_, Vec<u8>>(0)
                })?;
            rows.take_while(|key| {
                key.as_ref()
                    .map_or(true, |key| key.starts_with(prefix.as_bytes()))
            })
            .collect::<rusqlite::Result<Vec<_>>>()
        };
        let keys = read().map_err(self.failed("reading"))?;
        // Every key came in as text.
        Ok(keys
            .into_iter()
            .filter_map(|key| String::from_utf8(key).ok())
            .collect())
    }
}

fn value(connection: &Connection, owner: &PluginId, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached(GET)?
        .query_row(params![owner.as_str(), key.as_bytes()], |row| row.get(0))
        .optional()
}

fn put(
    transaction: &Transaction<'_>,
    owner: &PluginId,
    (key, new): (&str, &[u8]),
    quota: Quota,
) -> rusqlite::Result<Result<(), KeepError>> {
    let old = value(transaction, owner, key)?;
    let used = transaction
        .prepare_cached("SELECT keys, bytes FROM used WHERE owner = ?1")?
        .query_row([owner.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (keys, bytes): (i64, i64) = used.unwrap_or_default();
    let more_keys = i64::from(old.is_none());
    let more_bytes = size(key.len() + new.len()) - old.map_or(0, |old| size(key.len() + old.len()));
    if keys + more_keys > size(quota.keys) || bytes + more_bytes > size(quota.bytes) {
        return Ok(Err(KeepError::Quota(quota)));
    }
    transaction
        .prepare_cached(PUT)?
        .execute(params![owner.as_str(), key.as_bytes(), new])?;
    account(transaction, owner, more_keys, more_bytes)?;
    Ok(Ok(()))
}

fn account(transaction: &Transaction<'_>, owner: &PluginId, keys: i64, bytes: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(USE)?
        .execute(params![owner.as_str(), keys, bytes])?;
    Ok(())
}

fn size(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
