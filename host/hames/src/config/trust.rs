//! May a project's file reach beyond the project? Only after its user said so, for exactly this content.
//!
//! A file that came with somebody's repository could otherwise load plugins, grant them the home folder, or send the
//! user's key to another server. What is remembered is the digest of the file's bytes beside its path.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

fn line(file: &Path) -> io::Result<String> {
    let digest = Sha256::digest(fs::read(file)?);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{digest} {}", file.display()))
}

/// Whether this content of the file was trusted.
#[must_use]
pub fn is_trusted(data: &Path, file: &Path) -> bool {
    let (Ok(known), Ok(line)) = (fs::read_to_string(data.join("trusted")), line(file)) else {
        return false;
    };
    known.lines().any(|known| known == line)
}

/// Trusts the file as it is now.
///
/// # Errors
/// If the file can't be read or the decision can't be kept.
pub fn trust(data: &Path, file: &Path) -> io::Result<()> {
    let line = line(file)?;
    fs::create_dir_all(data)?;
    let mut kept = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(data.join("trusted"))?;
    kept.write_all(format!("{line}\n").as_bytes())?;
    kept.sync_all()
}
