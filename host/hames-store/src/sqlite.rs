//! The embedded default: all sessions in one SQLite database.
//!
//! One row per event, one per run of packed chunks; a row once written is never changed. Each append is one
//! transaction: it happened, and survives a loss of power, or it didn't. Several processes may use one database; a
//! session has one writer at a time, told apart by its epoch.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::json::Json;
use hames_types::port::store::{OpenedSession, StoreError, StoredSession, WriterEpoch};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::backend::{Backend, Batch};
use crate::error;
use crate::home::Home;
use crate::lane::Threading;
use crate::query::Page;
use crate::record::{self, Record};
use crate::transfer::{self, Form};

mod header;
mod kept;
mod prose;
mod row;
mod schema;
mod search;

pub use kept::PluginDatabase;
pub use search::{Hit, MAX_HITS};

use row::{BadRow, Cells, Packer, Unpacker};

/// Sessions in a SQLite database.
pub type SqliteStore = Home<Database>;

/// A connection to a database of sessions.
pub struct Database {
    connection: Connection,
    file: PathBuf,
    packer: Packer,
    unpacker: Unpacker,
}

impl SqliteStore {
    /// Opens a database, creating it (and its folder) for its owner alone if it isn't there.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] if the file is no database, another program's, or a newer version's,
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn open_file(file: impl Into<PathBuf>, threading: Threading) -> Result<Self, StoreError> {
        Self::new(Database::open(file.into())?, threading)
    }
}

const ROWS: &str = "SELECT place, count, time, kind, sum, data, placement FROM event
     WHERE place BETWEEN ?1 AND ?2 ORDER BY place";

impl Database {
    /// See [`SqliteStore::open_file`].
    ///
    /// # Errors
    /// As there.
    pub fn open(file: PathBuf) -> Result<Self, StoreError> {
        create_file(&file)?;
        let mut this = Self::connect(file)?;
        schema::migrate(&mut this.connection, schema::APPLICATION_ID, schema::STEPS)
            .map_err(|error| this.fail("preparing", error))?
            .ready(this.place(), schema::STEPS)?;
        Ok(this)
    }

    fn connect(file: PathBuf) -> Result<Self, StoreError> {
        let failed = |error| error::sqlite("opening", file.display(), error);
        let connection = Connection::open(&file).map_err(failed)?;
        schema::configure(&connection).map_err(failed)?;
        let zstd = |source| error::io("preparing compression for", file.display(), source);
        Ok(Self {
            connection,
            packer: Packer::new().map_err(zstd)?,
            unpacker: Unpacker::new().map_err(zstd)?,
            file,
        })
    }

    fn place(&self) -> String {
        self.file.display().to_string()
    }

    fn fail(&self, doing: &'static str, source: rusqlite::Error) -> StoreError {
        error::sqlite(doing, self.file.display(), source)
    }

    fn find(&self, id: &SessionId) -> Result<Known, StoreError> {
        known(&self.connection, id)
            .map_err(|error| self.fail("reading", error))?
            .ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    fn read_header(&self, id: &SessionId, text: &str) -> Result<SessionHeader, StoreError> {
        let place = || format!("{}, session `{id}`", self.file.display());
        if let Some(header) = header::plain(text) {
            return Ok(header);
        }
        match serde_json::from_str(text) {
            Ok(Json::Object(meta)) => transfer::read_header(meta, &place()),
            Ok(_) => Err(StoreError::Damaged {
                place: place(),
                problem: "its header is no object".to_owned(),
                source: None,
            }),
            Err(source) => Err(error::damaged(place(), "its header is no JSON", source)),
        }
    }

    /// Hands the rows from `from` to `to` to `take`, which says whether it wants more.
    fn rows(
        &mut self,
        id: &SessionId,
        (from, to): (i64, i64),
        mut take: impl FnMut(&row::Read<'_>) -> Result<bool, BadRow>,
    ) -> Result<(), StoreError> {
        let file = self.file.display();
        let failed = |error| error::sqlite("reading", self.file.display(), error);
        let mut statement = self.connection.prepare_cached(ROWS).map_err(failed)?;
        let mut rows = statement.query(params![from, to]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = self.unpacker.read(row).and_then(|read| take(&read));
            match read {
                Ok(true) => {}
                Ok(false) => break,
                Err(bad) => {
                    let seq = row.get::<_, i64>(0).map_or(0, |place| row::parts(place).1);
                    return Err(error::damaged(
                        format!("{file}, session `{id}`, event {seq}"),
                        "export what still loads and restore the rest from a backup",
                        bad,
                    ));
                }
            }
        }
        Ok(())
    }

    /// All events of a session.
    fn events(&mut self, id: &SessionId, known: &Known) -> Result<Vec<Arc<Event>>, StoreError> {
        let mut events = Vec::with_capacity(usize::try_from(known.length.min(1 << 24)).unwrap_or(0));
        self.rows(id, (row::first(known.key), row::last(known.key)), |read| {
            if read.seq != events.len() as u64 {
                return Err(BadRow::Order);
            }
            read.events_into(&mut events)?;
            Ok(true)
        })?;
        if events.len() as u64 != known.length {
            return Err(StoreError::Damaged {
                place: format!("{}, session `{id}`", self.file.display()),
                problem: format!("it has {} of {} events", events.len(), known.length),
                source: None,
            });
        }
        Ok(events)
    }

    /// Reads as of one moment: the number of events and the events belong together.
    fn snapshot<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let step = |this: &Self, sql| {
            this.connection
                .execute_batch(sql)
                .map_err(|error| this.fail("reading", error))
        };
        step(self, "BEGIN")?;
        let done = read(self);
        step(self, "END")?;
        done
    }

    /// Does `work` in a transaction that no other writer interrupts.
    fn write<T>(
        &mut self,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>, &mut Packer) -> Result<T, WriteError>,
    ) -> Result<T, StoreError> {
        let file = self.file.display();
        let failed = |error| error::sqlite(doing, self.file.display(), error);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Dropped on the way out, the transaction is rolled back.
        let done = work(&transaction, &mut self.packer).map_err(|error| match error {
            WriteError::Store(error) => error,
            WriteError::Sqlite(error) => failed(error),
            WriteError::Encode(error) => transfer::unwritable(error),
            WriteError::Compress(error) => error::io("compressing for", file, error),
        })?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }
}

/// What can go wrong inside a transaction.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
    #[error(transparent)]
    Compress(#[from] std::io::Error),
}

/// What the table of sessions says of one.
struct Known {
    key: i64,
    header: String,
    length: u64,
    epoch: u64,
}

fn known(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<Known>> {
    connection
        .prepare_cached("SELECT key, header, length, epoch FROM session WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok(Known {
                key: row.get(0)?,
                header: row.get(1)?,
                length: row.get::<_, i64>(2)?.unsigned_abs(),
                epoch: row.get::<_, i64>(3)?.unsigned_abs(),
            })
        })
        .optional()
}

/// The next epoch: one count for all sessions, so that no two writers ever have the same.
fn next_epoch(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let epoch: i64 = transaction
        .prepare_cached("UPDATE counter SET value = value + 1 WHERE name = 'epoch' RETURNING value")?
        .query_row([], |row| row.get(0))?;
    Ok(epoch.unsigned_abs())
}

fn insert_session(
    transaction: &Transaction<'_>,
    header: &SessionHeader,
    epoch: WriterEpoch,
) -> Result<i64, WriteError> {
    let parent = header.fields.parent_session.as_ref().map(SessionId::as_str);
    transaction
        .prepare_cached("INSERT INTO session (id, header, parent, length, epoch) VALUES (?1, ?2, ?3, 0, ?4)")?
        .execute(params![
            header.id.as_str(),
            serde_json::to_string(header)?,
            parent,
            epoch.0.cast_signed()
        ])?;
    Ok(transaction.last_insert_rowid())
}

/// Writes rows of one session and what a person reads in them.
struct Rows<'a> {
    transaction: &'a Transaction<'a>,
    packer: &'a mut Packer,
    key: i64,
}

impl Rows<'_> {
    fn put(&mut self, cells: &Cells<'_>) -> Result<(), WriteError> {
        let place =
            row::place(self.key, cells.seq).ok_or(rusqlite::Error::IntegralValueOutOfRange(0, i64::MAX))?;
        let payload = self.packer.payload(&cells.data)?;
        let placement = cells.placement.as_deref();
        self.transaction
            .prepare_cached(
                "INSERT INTO event (place, count, time, kind, sum, data, placement)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                place,
                i64::try_from(cells.count).unwrap_or(i64::MAX),
                cells.time_ms.cast_signed(),
                cells.kind,
                row::sum(&cells.kind, payload.bytes(), placement),
                payload,
                placement
            ])?;
        Ok(())
    }

    fn put_prose(&mut self, event: &Event) -> Result<(), WriteError> {
        let Some(text) = prose::of(event) else {
            return Ok(());
        };
        let place = row::place(self.key, event.seq.get());
        self.transaction
            .prepare_cached("INSERT INTO prose (rowid, text) VALUES (?1, ?2)")?
            .execute(params![place, prose::indexed(&text)])?;
        Ok(())
    }

    fn put_records(&mut self, events: &[Arc<Event>]) -> Result<(), WriteError> {
        for record in record::pack(events) {
            self.put(&Cells::of(&record)?)?;
            if let Record::Event(event) = &record {
                self.put_prose(event)?;
            }
        }
        Ok(())
    }

    fn set_length(&self, length: u64) -> Result<(), WriteError> {
        self.transaction
            .prepare_cached("UPDATE session SET length = ?2 WHERE key = ?1")?
            .execute(params![self.key, length.cast_signed()])?;
        Ok(())
    }
}

impl Backend for Database {
    fn twin(&self) -> Result<Self, StoreError> {
        Self::connect(self.file.clone())
    }

    fn create(&mut self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        // The claim of an id that has no events need not survive a loss of power: nor does its writer.
        let sync = |this: &Self, level| {
            this.connection
                .pragma_update(None, "synchronous", level)
                .map_err(|error| this.fail("writing", error))
        };
        sync(self, "NORMAL")?;
        let claimed = self.write("writing", |transaction, _| {
            if known(transaction, &header.id)?.is_some() {
                return Err(StoreError::Exists(header.id.clone()).into());
            }
            Ok(WriterEpoch(next_epoch(transaction)?))
        });
        sync(self, "FULL")?;
        claimed
    }

    fn claim(&mut self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        // The epoch first: from then on the old writer can't add to what is read next.
        let (known, epoch) = self.write("writing", |transaction, _| {
            let known = known(transaction, id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
            let epoch = next_epoch(transaction)?;
            transaction.execute(
                "UPDATE session SET epoch = ?2 WHERE key = ?1",
                params![known.key, epoch.cast_signed()],
            )?;
            Ok((known, WriterEpoch(epoch)))
        })?;
        let stored = StoredSession {
            header: self.read_header(id, &known.header)?,
            events: self.events(id, &known)?,
        };
        Ok(OpenedSession { stored, epoch })
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        self.write("writing", |transaction, packer| {
            let key = match known(transaction, &batch.header.id)? {
                Some(known) => {
                    batch.follows(known.epoch, known.length)?;
                    known.key
                }
                None if batch.expected == Seq::FIRST => {
                    insert_session(transaction, batch.header, batch.epoch)?
                }
                None => return Err(StoreError::NotFound(batch.header.id.clone()).into()),
            };
            let mut rows = Rows {
                transaction,
                packer,
                key,
            };
            rows.put_records(batch.events)?;
            rows.set_length(batch.length())
        })
    }

    fn load(&mut self, id: &SessionId) -> Result<StoredSession, StoreError> {
        self.snapshot(|this| {
            let known = this.find(id)?;
            Ok(StoredSession {
                header: this.read_header(id, &known.header)?,
                events: this.events(id, &known)?,
            })
        })
    }

    fn list(&mut self) -> Result<Vec<SessionHeader>, StoreError> {
        let failed = |error| self.fail("reading", error);
        let mut statement = self
            .connection
            .prepare_cached("SELECT id, header FROM session ORDER BY key")
            .map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut headers = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let id = row.get_ref(0).map_err(failed)?.as_str().unwrap_or_default();
            let text = row.get_ref(1).map_err(failed)?.as_str().unwrap_or_default();
            headers.push(self.read_header(&SessionId::new(id), text)?);
        }
        Ok(headers)
    }

    fn delete(&mut self, id: &SessionId) -> Result<(), StoreError> {
        self.write("deleting from", |transaction, _| {
            let known = known(transaction, id)?.ok_or_else(|| StoreError::NotFound(id.clone()))?;
            let range = params![row::first(known.key), row::last(known.key)];
            transaction.execute("DELETE FROM prose WHERE rowid BETWEEN ?1 AND ?2", range)?;
            transaction.execute("DELETE FROM event WHERE place BETWEEN ?1 AND ?2", range)?;
            transaction.execute("DELETE FROM session WHERE key = ?1", [known.key])?;
            Ok(())
        })
    }

    fn import(&mut self, log: &[u8]) -> Result<SessionHeader, StoreError> {
        let log = transfer::read(log)?;
        self.write("writing", |transaction, packer| {
            if known(transaction, &log.header.id)?.is_some() {
                return Err(StoreError::Exists(log.header.id.clone()).into());
            }
            let epoch = WriterEpoch(next_epoch(transaction)?);
            let key = insert_session(transaction, &log.header, epoch)?;
            let mut rows = Rows {
                transaction,
                packer,
                key,
            };
            for piece in transfer::pieces(&log)? {
                match piece {
                    transfer::Piece::Plain(events) => rows.put_records(events)?,
                    transfer::Piece::Odd { event, data, .. } => {
                        rows.put(&Cells::of_event(event, Cow::Borrowed(data)))?;
                        rows.put_prose(event)?;
                    }
                    transfer::Piece::Row(row) => rows.put(&Cells::of(&Record::Row(row))?)?,
                }
            }
            rows.set_length(log.events.len() as u64)
        })?;
        Ok(log.header)
    }

    fn export(&mut self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        self.snapshot(|this| this.export_rows(id, form))
    }

    fn page(&mut self, id: &SessionId, from: Seq, limit: usize) -> Result<Page, StoreError> {
        self.snapshot(|this| this.page_rows(id, from, limit))
    }

    fn header(&mut self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        let known = self.find(id)?;
        self.read_header(id, &known.header)
    }

    fn children(&mut self, id: &SessionId) -> Result<Vec<SessionHeader>, StoreError> {
        let failed = |error| self.fail("reading", error);
        let texts: Vec<(String, String)> = self
            .connection
            .prepare_cached("SELECT id, header FROM session WHERE parent = ?1 ORDER BY key")
            .and_then(|mut statement| {
                statement
                    .query_map([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect()
            })
            .map_err(failed)?;
        texts
            .iter()
            .map(|(id, text)| self.read_header(&SessionId::new(id), text))
            .collect()
    }
}

impl Database {
    fn export_rows(&mut self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        let known = self.find(id)?;
        let header = self.read_header(id, &known.header)?;
        let mut log = transfer::header_line(&header)?;
        let mut events = Vec::new();
        self.rows(id, (row::first(known.key), row::last(known.key)), |read| {
            if form == Form::Plain && record::is_row_tag(read.kind) {
                events.clear();
                read.events_into(&mut events)?;
                for event in &events {
                    serde_json::to_writer(&mut log, event).map_err(record::RecordError::from)?;
                    log.push(b'\n');
                }
            } else {
                log.extend_from_slice(read.record()?.as_bytes());
                log.push(b'\n');
            }
            Ok(true)
        })?;
        Ok(log)
    }

    fn page_rows(&mut self, id: &SessionId, from: Seq, limit: usize) -> Result<Page, StoreError> {
        let known = self.find(id)?;
        let end = from.get().saturating_add(limit as u64).min(known.length);
        if from.get() >= end {
            return Ok(Page {
                events: Vec::new(),
                next: (from.get() < known.length).then_some(from),
            });
        }
        let start: Option<i64> = row::place(known.key, from.get())
            .map(|place| {
                self.connection
                    .prepare_cached("SELECT max(place) FROM event WHERE place BETWEEN ?1 AND ?2")?
                    .query_row(params![row::first(known.key), place], |row| row.get(0))
            })
            .transpose()
            .map_err(|error| self.fail("reading", error))?
            .flatten();
        let start = start.unwrap_or_else(|| row::first(known.key));
        let mut events = Vec::new();
        let last = row::first(known.key) + end.cast_signed() - 1;
        self.rows(id, (start, last), |read| {
            read.events_into(&mut events)?;
            Ok(true)
        })?;
        events.retain(|event| (from.get()..end).contains(&event.seq.get()));
        Ok(Page {
            events,
            next: (end < known.length).then(|| Seq::new(end)),
        })
    }
}

/// Creates the file for its owner alone; one that is there keeps its mode.
fn create_file(file: &Path) -> Result<(), StoreError> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| error::io("creating", folder.display(), source))?;
    }
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
    {
        Ok(_) => Ok(()),
        Err(exists) if exists.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(error::io("creating", file.display(), source)),
    }
}
