//! How does compiled code get into memory? The one place of the host with `unsafe`.

#![expect(
    unsafe_code,
    reason = "taking machine code from outside is unsafe by nature; the cache admits only files this user alone could \
              have written, and what lies in the program is as trusted as the program"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use wasmtime::Engine;
use wasmtime::component::Component;

/// Copies code that lies in the program itself to where it can run.
///
/// # Errors
/// If it was compiled by another engine, for another CPU, or isn't compiled code.
pub(crate) fn embedded(engine: &Engine, code: &'static [u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are the output of `Engine::precompile_component` and a part of this program's own file
    // (`Precompiled::of_this_program`), so whoever could change them could change any other code of it as well.
    // Wasmtime itself checks version, settings and CPU features.
    unsafe { Component::deserialize(engine, code) }
}

/// Maps an open file that the cache has checked.
///
/// # Errors
/// If it was compiled by another engine or isn't compiled code.
pub(super) fn component(engine: &Engine, file: &File) -> io::Result<Component> {
    // By the descriptor, so that what is mapped is what was checked.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the bytes are the output of `Engine::precompile_component`: the file belongs to this user, lies in a
    // folder that nobody else may write to, and carries a matching digest (`cache.rs`). Wasmtime itself checks
    // version, settings and CPU features. Files are replaced by renaming and never written to in place, so what is
    // mapped doesn't change.
    unsafe { Component::deserialize_file(engine, path) }
        .map_err(|error| io::Error::other(format!("{error:#}")))
}
