//! The readable alternative: one file per session, one record per line, plain or in checksummed zstd frames.
//!
//! Other programs that keep such logs read what is written here, and the other way round. A session has one writer at
//! a time, on this machine and over all its processes ([`lock`]); a network file system without locks is no place for
//! it.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::json::JsonMap;
use hames_types::port::store::{OpenedSession, StoreError, StoredSession, WriterEpoch};

use crate::backend::{Backend, Batch};
use crate::home::Home;
use crate::lane::Threading;
use crate::scan::{self, ScanError, Tail};
use crate::transfer::{self, Form};
use crate::{error, path};

mod files;
mod frames;
mod lock;

use frames::Frame;
use lock::Locked;

/// Sessions in readable files.
pub type JsonlStore = Home<Folder>;

/// How the lines of a root lie on disk. All files of a root are alike (R-JSONL-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// One checksummed frame per append.
    #[default]
    Zstd,
    /// As they are.
    Plain,
}

impl Compression {
    fn suffix(self) -> &'static str {
        match self {
            Self::Zstd => ".jsonl.zstd",
            Self::Plain => ".jsonl",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Zstd => Self::Plain,
            Self::Plain => Self::Zstd,
        }
    }
}

/// Effort for what is written bit by bit: fast.
const LIVE_LEVEL: i32 = 3;

/// Effort for what is written once: small.
const IMPORT_LEVEL: i32 = 15;

/// A header line is longer than this only if somebody means harm.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// A root of readable logs.
pub struct Folder {
    root: PathBuf,
    compression: Compression,
    form: Form,
    /// Where the sessions written from here end.
    ends: HashMap<SessionId, End>,
}

#[derive(Debug, Clone)]
struct End {
    file: PathBuf,
    bytes: u64,
    events: u64,
}

impl JsonlStore {
    /// Opens a root, whether it is there or not; nothing is created before the first session.
    ///
    /// # Errors
    /// [`StoreError::Unsupported`] if the root holds logs of the other kind, [`StoreError::Io`].
    pub fn open_folder(
        root: impl AsRef<Path>,
        compression: Compression,
        form: Form,
        threading: Threading,
    ) -> Result<Self, StoreError> {
        Self::new(Folder::open(root.as_ref(), compression, form)?, threading)
    }
}

/// What a log holds.
struct Content {
    header: SessionHeader,
    events: Vec<Arc<Event>>,
    /// Where the preserved part ends; shorter than the file if that is torn.
    bytes: u64,
    /// How many of the events lie before that end; the others come out of a torn frame and are written anew.
    whole: usize,
}

impl Folder {
    /// See [`JsonlStore::open_folder`].
    ///
    /// # Errors
    /// As there.
    pub fn open(root: &Path, compression: Compression, form: Form) -> Result<Self, StoreError> {
        let root =
            std::path::absolute(root).map_err(|source| error::io("resolving", root.display(), source))?;
        let this = Self {
            root,
            compression,
            form,
            ends: HashMap::new(),
        };
        this.logs()?;
        Ok(this)
    }

    fn segment(id: &SessionId) -> Result<String, StoreError> {
        path::segment(id).map_err(|empty| StoreError::Refused {
            id: id.clone(),
            problem: empty.to_string(),
        })
    }

    /// The buckets; none if the root isn't there.
    fn buckets(&self) -> Result<Vec<PathBuf>, StoreError> {
        let failed = |source| error::io("reading", self.root.display(), source);
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(absent) if absent.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut buckets = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() && entry.file_name() != lock::FOLDER {
                buckets.push(entry.path());
            }
        }
        buckets.sort_unstable();
        Ok(buckets)
    }

    /// All logs.
    fn logs(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut logs = Vec::new();
        for bucket in self.buckets()? {
            let failed = |source| error::io("reading", bucket.display(), source);
            for entry in std::fs::read_dir(&bucket).map_err(failed)? {
                let file = entry.map_err(failed)?.path();
                let name = file.to_string_lossy();
                if name.ends_with(self.compression.suffix()) {
                    logs.push(file);
                } else if name.ends_with(self.compression.other().suffix()) {
                    return Err(self.mixed(&file));
                }
            }
        }
        Ok(logs)
    }

    fn mixed(&self, file: &Path) -> StoreError {
        StoreError::Unsupported {
            place: file.display().to_string(),
            problem: format!(
                "this root is read as `*{}` and holds one kind only; configure the other kind or move the file away",
                self.compression.suffix()
            ),
            source: None,
        }
    }

    /// The log of a session, in whatever bucket.
    fn find(&self, segment: &str) -> Result<Option<PathBuf>, StoreError> {
        let mut found = None;
        for bucket in self.buckets()? {
            let other = bucket.join(format!("{segment}{}", self.compression.other().suffix()));
            if other.exists() {
                return Err(self.mixed(&other));
            }
            let file = bucket.join(format!("{segment}{}", self.compression.suffix()));
            if found.is_none() && file.exists() {
                found = Some(file);
            }
        }
        Ok(found)
    }

    fn must_find(&self, id: &SessionId) -> Result<PathBuf, StoreError> {
        self.find(&Self::segment(id)?)?
            .ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    fn home_of(&self, header: &SessionHeader) -> Result<PathBuf, StoreError> {
        let folder = path::folder(&self.root, header.fields.cwd.as_deref());
        Ok(folder.join(format!(
            "{}{}",
            Self::segment(&header.id)?,
            self.compression.suffix()
        )))
    }

    fn read(&self, id: &SessionId, file: &Path) -> Result<Content, StoreError> {
        let bytes = std::fs::read(file).map_err(|source| error::io("reading", file.display(), source))?;
        let (meta, events, end, whole) = match self.compression {
            Compression::Plain => {
                let scanned = scan::log(&bytes).map_err(|found| unreadable(file, found))?;
                let whole = scanned.events.len();
                (scanned.meta, scanned.events, scanned.committed_bytes, whole)
            }
            Compression::Zstd => read_frames(&bytes, file)?,
        };
        let header = transfer::read_header(meta, &file.display().to_string())?;
        if header.id != *id {
            return Err(StoreError::Damaged {
                place: file.display().to_string(),
                problem: format!("it says that it is session `{}`; rename it back", header.id),
                source: None,
            });
        }
        Ok(Content {
            header,
            events,
            bytes: end as u64,
            whole,
        })
    }

    /// The bytes of a batch of lines.
    fn framed(&self, lines: Vec<u8>, level: i32) -> Result<Vec<u8>, StoreError> {
        match self.compression {
            Compression::Plain => Ok(lines),
            Compression::Zstd => frames::encode(&lines, level)
                .map_err(|source| error::io("compressing for", self.root.display(), source)),
        }
    }

    fn lines(&self, events: &[Arc<Event>]) -> Result<Vec<u8>, StoreError> {
        let mut lines = Vec::new();
        transfer::write_events(events, self.form, &mut lines)?;
        Ok(lines)
    }

    /// Puts a new log in place.
    fn publish(
        &mut self,
        header: &SessionHeader,
        lines: Vec<u8>,
        level: i32,
        events: u64,
    ) -> Result<(), StoreError> {
        let file = self.home_of(header)?;
        let mut bytes = self.framed(transfer::header_line(header)?, level)?;
        if !lines.is_empty() {
            bytes.extend(self.framed(lines, level)?);
        }
        files::publish(&file, &bytes)?;
        let end = End {
            file,
            bytes: bytes.len() as u64,
            events,
        };
        self.ends.insert(header.id.clone(), end);
        Ok(())
    }

    /// Where a session ends that this writer owns. What lies behind is a failed append's and is cut off.
    fn end(&mut self, id: &SessionId, file: PathBuf) -> Result<End, StoreError> {
        let size = std::fs::metadata(&file)
            .map_err(|source| error::io("reading", file.display(), source))?
            .len();
        let end = match self.ends.get(id) {
            Some(end) if end.file == file => end.clone(),
            Some(_) | None => {
                let content = self.read(id, &file)?;
                End {
                    bytes: content.bytes,
                    events: content.whole as u64,
                    file,
                }
            }
        };
        if size < end.bytes {
            return Err(StoreError::Damaged {
                place: end.file.display().to_string(),
                problem: format!(
                    "it has {size} bytes, {} were written; restore it from a backup",
                    end.bytes
                ),
                source: None,
            });
        }
        if size > end.bytes {
            files::truncate(&end.file, end.bytes)?;
        }
        Ok(end)
    }

    fn extend(&mut self, id: &SessionId, end: &End, events: &[Arc<Event>]) -> Result<(), StoreError> {
        let bytes = self.framed(self.lines(events)?, LIVE_LEVEL)?;
        files::append(&end.file, end.bytes, &bytes)?;
        let end = End {
            file: end.file.clone(),
            bytes: end.bytes + bytes.len() as u64,
            events: end.events + events.len() as u64,
        };
        self.ends.insert(id.clone(), end);
        Ok(())
    }
}

impl Backend for Folder {
    fn twin(&self) -> Result<Self, StoreError> {
        Ok(Self {
            root: self.root.clone(),
            compression: self.compression,
            form: self.form,
            ends: HashMap::new(),
        })
    }

    fn create(&mut self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        match self.find(&Self::segment(&header.id)?)? {
            Some(_) => Err(StoreError::Exists(header.id.clone())),
            None => Locked::next_epoch(&self.root),
        }
    }

    fn claim(&mut self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        let segment = Self::segment(id)?;
        self.must_find(id)?;
        let mut locked = Locked::session(&self.root, &segment)?;
        let file = self.must_find(id)?;
        let content = self.read(id, &file)?;
        let epoch = Locked::next_epoch(&self.root)?;
        locked.set(epoch)?;
        let end = End {
            bytes: content.bytes,
            events: content.whole as u64,
            file,
        };
        self.ends.insert(id.clone(), end.clone());
        let end = self.end(id, end.file)?;
        if let Some(recovered) = content
            .events
            .get(content.whole..)
            .filter(|rest| !rest.is_empty())
        {
            self.extend(id, &end, recovered)?;
        }
        Ok(OpenedSession {
            stored: StoredSession {
                header: content.header,
                events: content.events,
            },
            epoch,
        })
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let id = &batch.header.id;
        let segment = Self::segment(id)?;
        let mut locked = Locked::session(&self.root, &segment)?;
        let Some(file) = self.find(&segment)? else {
            if batch.expected != Seq::FIRST {
                return Err(StoreError::NotFound(id.clone()));
            }
            locked.set(batch.epoch)?;
            let lines = self.lines(batch.events)?;
            return self.publish(batch.header, lines, LIVE_LEVEL, batch.events.len() as u64);
        };
        let epoch = locked.epoch()?;
        if epoch != batch.epoch {
            self.ends.remove(id);
        }
        batch.follows(epoch.0, batch.expected.get())?;
        let end = self.end(id, file)?;
        batch.follows(epoch.0, end.events)?;
        self.extend(id, &end, batch.events)
    }

    fn load(&mut self, id: &SessionId) -> Result<StoredSession, StoreError> {
        let file = self.must_find(id)?;
        let content = self.read(id, &file)?;
        Ok(StoredSession {
            header: content.header,
            events: content.events,
        })
    }

    fn list(&mut self) -> Result<Vec<SessionHeader>, StoreError> {
        let mut headers = Vec::new();
        for file in self.logs()? {
            if let Some(meta) = self.first_line(&file)? {
                headers.push(transfer::read_header(meta, &file.display().to_string())?);
            }
        }
        Ok(headers)
    }

    fn header(&mut self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        let file = self.must_find(id)?;
        match self.first_line(&file)? {
            Some(meta) => transfer::read_header(meta, &file.display().to_string()),
            None => Err(unreadable(&file, ScanError::Header)),
        }
    }

    fn delete(&mut self, id: &SessionId) -> Result<(), StoreError> {
        let segment = Self::segment(id)?;
        self.must_find(id)?;
        let locked = Locked::session(&self.root, &segment)?;
        files::remove(&self.must_find(id)?)?;
        self.ends.remove(id);
        locked.remove()
    }

    fn import(&mut self, log: &[u8]) -> Result<SessionHeader, StoreError> {
        let log = transfer::read(log)?;
        let segment = Self::segment(&log.header.id)?;
        let mut locked = Locked::session(&self.root, &segment)?;
        if self.find(&segment)?.is_some() {
            return Err(StoreError::Exists(log.header.id));
        }
        locked.set(Locked::next_epoch(&self.root)?)?;
        let lines = transfer::reformed(&log, self.form)?;
        self.publish(&log.header, lines, IMPORT_LEVEL, log.events.len() as u64)?;
        Ok(log.header)
    }

    fn export(&mut self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        let file = self.must_find(id)?;
        let content = self.read(id, &file)?;
        let bytes = std::fs::read(&file).map_err(|source| error::io("reading", file.display(), source))?;
        let text = match self.compression {
            Compression::Plain => bytes
                .get(..usize::try_from(content.bytes).unwrap_or(0))
                .map(<[u8]>::to_vec),
            Compression::Zstd => frames::text(&bytes).ok().map(|text| text.whole),
        };
        let log = transfer::read(text.as_deref().unwrap_or_default())?;
        let mut out = transfer::header_line(&log.header)?;
        out.extend(transfer::reformed(&log, form)?);
        Ok(out)
    }
}

impl Folder {
    /// The header in a log's first line or frame; none if it is empty or no log (R-JSONL-11).
    fn first_line(&self, file: &Path) -> Result<Option<JsonMap>, StoreError> {
        let failed = |source| error::io("reading", file.display(), source);
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(file).map_err(failed)?;
        let mut rest = opened.take(MAX_HEADER_BYTES);
        let mut piece = [0; 1024];
        loop {
            let length = rest.read(&mut piece).map_err(failed)?;
            bytes.extend_from_slice(piece.get(..length).unwrap_or_default());
            let line = match self.compression {
                Compression::Plain => memchr::memchr(b'\n', &bytes)
                    .and_then(|end| bytes.get(..end))
                    .map(<[u8]>::to_vec),
                Compression::Zstd if bytes.is_empty() => None,
                Compression::Zstd => match frames::frame(&bytes) {
                    Frame::Whole(end) => Some(header_frame(bytes.get(..end).unwrap_or_default(), file)?),
                    Frame::Torn => None,
                    Frame::Not => return Ok(None),
                },
            };
            match line {
                Some(line) => return Ok(scan::header(&line)),
                None if length == 0 => return Ok(None),
                None => {}
            }
        }
    }
}

fn header_frame(frame: &[u8], file: &Path) -> Result<Vec<u8>, StoreError> {
    let mut line = Vec::new();
    frames::decode(frame, &mut line)
        .map_err(|found| error::damaged(file.display(), "its header frame can't be decoded", found))?;
    Ok(line)
}

type Parts = (JsonMap, Vec<Arc<Event>>, usize, usize);

fn read_frames(bytes: &[u8], file: &Path) -> Result<Parts, StoreError> {
    let text = frames::text(bytes)
        .map_err(|found| error::damaged(file.display(), "restore it from a backup", found))?;
    let mut lines = scan::lines(&text.whole);
    let meta = lines
        .next()
        .and_then(|(line, _)| scan::header(line))
        .ok_or_else(|| unreadable(file, ScanError::Header))?;
    let mut tail = Tail::default();
    for (line, number) in lines {
        // A whole frame was written whole: whatever is wrong in it is damage, not a torn end.
        tail.push(line)
            .map_err(|source| unreadable(file, ScanError::Line { line: number, source }))?;
    }
    let whole = tail.events.len();
    for (line, _) in scan::lines(text.torn.as_deref().unwrap_or_default()) {
        if tail.push(line).is_err() {
            break;
        }
    }
    Ok((meta, tail.events, text.end, whole))
}

fn unreadable(file: &Path, found: ScanError) -> StoreError {
    error::damaged(
        file.display(),
        "nothing behind that place can be trusted; restore it from a backup",
        found,
    )
}
