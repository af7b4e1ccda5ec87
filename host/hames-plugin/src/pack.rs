//! How does a component of another language get a manifest? The section is put behind what is there, byte for byte.

use crate::error::LoadProblem;
use crate::inspect::inspect;
use crate::manifest::{Manifest, ManifestError, SECTION};

/// Id of a custom section in modules and components.
const CUSTOM: u8 = 0;

/// What a component says about itself, read without compiling it; empty if it says nothing.
///
/// # Errors
/// [`LoadProblem`] if it is no component, or has a bad manifest.
pub fn manifest(component: &[u8]) -> Result<Manifest, LoadProblem> {
    Ok(inspect(component)?.0.manifest)
}

/// A component with a manifest (its JSON text), which is checked as at load.
///
/// # Errors
/// [`LoadProblem`] if the manifest is refused, or the component is or has one already.
pub fn pack(component: &[u8], manifest: &[u8]) -> Result<Vec<u8>, LoadProblem> {
    Manifest::parse(manifest)?;
    if !inspect(component)?.0.manifest.id.is_empty() {
        return Err(ManifestError::Several.into());
    }
    let mut section = Vec::with_capacity(SECTION.len() + manifest.len() + 5);
    write_size(&mut section, SECTION.len());
    section.extend_from_slice(SECTION.as_bytes());
    section.extend_from_slice(manifest);
    let mut packed = component.to_vec();
    packed.push(CUSTOM);
    write_size(&mut packed, section.len());
    packed.extend_from_slice(&section);
    inspect(&packed)?;
    Ok(packed)
}

/// Seven bits at a time, the lowest first.
fn write_size(out: &mut Vec<u8>, mut size: usize) {
    loop {
        let low = u8::try_from(size & 0x7f).unwrap_or(0x7f);
        size >>= 7;
        if size == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}
