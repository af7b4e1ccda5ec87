//! What may be opened in a granted folder? Files and folders.
//!
//! Opening a pipe waits in the system until somebody opens its other end, and can't be called off: the call would meet
//! its deadline, but a thread of the host would wait for good, and with it the end of the process. A device can do the
//! same and worse. So whatever is neither file nor folder is refused before it is opened.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, Host, HostDescriptor, OpenFlags, PathFlags,
};

use crate::state::State;

/// The interface, in the version that the host's own bindings serve.
const TYPES: &str = "wasi:filesystem/types@0.2.12";

type Asked = (
    Resource<Descriptor>,
    PathFlags,
    String,
    OpenFlags,
    DescriptorFlags,
);

/// Puts the check in front of what opens.
///
/// # Errors
/// If the linker doesn't serve the interface.
pub(crate) fn guard(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(TYPES)?.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, State>, asked: Asked| {
            Box::new(async move {
                let state = store.data_mut();
                Ok((match open(state, asked).await {
                    Ok(opened) => Ok(opened),
                    Err(error) => Err(state.filesystem().convert_error_code(error)?),
                },))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

async fn open(state: &mut State, asked: Asked) -> FsResult<Resource<Descriptor>> {
    let (folder, follow, path, how, flags) = asked;
    let mut files = state.filesystem();
    let same = Resource::new_borrow(folder.rep());
    // What isn't there may be made.
    if let Ok(found) = files.stat_at(same, follow, path.clone()).await {
        match found.type_ {
            DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink => {}
            DescriptorType::Unknown
            | DescriptorType::BlockDevice
            | DescriptorType::CharacterDevice
            | DescriptorType::Fifo
            | DescriptorType::Socket => return Err(ErrorCode::NotPermitted.into()),
        }
    }
    files.open_at(folder, follow, path, how, flags).await
}
