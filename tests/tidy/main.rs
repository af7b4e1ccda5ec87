//! Is the repository built as its architecture says? Structure is tested, not reviewed.

#![expect(
    clippy::expect_used,
    reason = "a test that can't read the repository can only stop"
)]

use std::path::{Path, PathBuf};

mod files;
mod layers;
mod root;
mod rules;

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies below the root")
        .to_owned()
}

/// Fails with every complaint at once, so that one run shows all there is to do.
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
