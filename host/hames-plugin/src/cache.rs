//! Has this component been compiled before? A folder of our own with one file per component and engine.
//!
//! A compiled component is machine code that runs with our authority, so a file counts only if nobody else could
//! have written it: the folder and the file belong to this user, nobody else may write to them, and the file ends
//! with a checksum of what stands before it. The checksum finds damage, not malice; against that stands the folder.

pub(crate) mod map;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Length of the checksum at a file's end: CRC-32, since every start reads all of it and a digest would say no more.
const CHECKSUM: usize = 4;

/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// A cache of compiled components. Safe with several processes: files appear whole or not at all.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    user: u32,
}

/// Why a folder can't be a cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It can't be made or looked at.
    #[error("the cache folder {} can't be used", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else could write to it.
    #[error("the cache folder {} isn't ours alone: it must be a folder of this user with mode 700", folder.display())]
    NotOurs {
        /// Which.
        folder: PathBuf,
    },
}

impl Cache {
    /// Uses a folder, which is made if it isn't there.
    ///
    /// # Errors
    /// [`CacheError`] if it can't be made or others could write to it.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, CacheError> {
        let folder = folder.into();
        let fault = |source| CacheError::Folder {
            folder: folder.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(fault)?;
        let found = fs::symlink_metadata(&folder).map_err(fault)?;
        let user = rustix::process::geteuid().as_raw();
        if !found.is_dir() || found.uid() != user || found.mode() & OTHERS_WRITE != 0 {
            return Err(CacheError::NotOurs { folder });
        }
        Ok(Self { folder, user })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a component compiled by this engine would be.
    fn path(&self, engine: &Engine, digest: &[u8]) -> PathBuf {
        let mut environment = Sha256Hasher(Sha256::new());
        // Version, settings and target of the compiler, CPU features among them.
        engine.precompile_compatibility_hash().hash(&mut environment);
        let environment = environment.0.finalize();
        self.folder.join(format!(
            "{}-{}.cwasm",
            hex(digest),
            hex(environment.get(..16).unwrap_or_default())
        ))
    }

    /// The compiled component, if it is there and whole.
    pub(crate) fn find(&self, engine: &Engine, digest: &[u8]) -> Option<Component> {
        let path = self.path(engine, digest);
        match self.read(engine, &path) {
            Ok(component) => component,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a compiled component in the cache is not usable");
                // It would fail the same way each time; compiling replaces it.
                None
            }
        }
    }

    fn read(&self, engine: &Engine, path: &Path) -> io::Result<Option<Component>> {
        let mut file = match OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        if !found.is_file() || found.uid() != self.user || found.mode() & OTHERS_WRITE != 0 {
            return Err(io::Error::other("it isn't ours alone"));
        }
        if !is_whole(&mut file)? {
            return Err(io::Error::other("it is damaged"));
        }
        map::component(engine, &file).map(Some)
    }

    /// Keeps a compiled component. Failing to is no error of the load: the next one compiles again.
    pub(crate) fn keep(&self, engine: &Engine, digest: &[u8], compiled: &[u8]) {
        let path = self.path(engine, digest);
        if let Err(error) = self.write(&path, compiled) {
            tracing::warn!(path = %path.display(), %error, "a compiled component can't be kept");
        }
    }

    fn write(&self, path: &Path, compiled: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!("draft-{}-{number}", std::process::id()));
        let written = write_new(&draft, compiled).and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            // What is left over is in nobody's way but costs space; the first error is the one to tell.
            drop(fs::remove_file(&draft));
        }
        written
    }
}

fn write_new(path: &Path, compiled: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(compiled)?;
    file.write_all(&crc32fast::hash(compiled).to_le_bytes())
}

/// Whether nothing was damaged. Read piece by piece: what is mapped later takes memory only where it runs.
fn is_whole(file: &mut File) -> io::Result<bool> {
    let size = file.metadata()?.len();
    let Some(mut left) = size.checked_sub(CHECKSUM as u64) else {
        return Ok(false);
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut piece = vec![0; 64 << 10];
    while left > 0 {
        let most = usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
        let (part, _) = piece.split_at_mut(most);
        file.read_exact(part)?;
        hasher.update(part);
        left -= most as u64;
    }
    let mut sum = [0; CHECKSUM];
    file.read_exact(&mut sum)?;
    Ok(hasher.finalize().to_le_bytes() == sum)
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}
