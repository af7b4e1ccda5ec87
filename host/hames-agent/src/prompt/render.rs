//! From an assembly to the text the model sees (R-SYS-7, R-SYS-8).

use hames_types::prompt::{PromptAssembly, PromptSection};
use smol_str::SmolStr;

use super::PromptError;

/// What stands between two sections.
const SEPARATOR: &str = "\n\n";

/// Longest piece of a malformed group shown in an error, in characters.
const SHOWN: usize = 40;

/// The text of an assembly: sections with their variables filled in, empty ones left out; `None` if nothing is left.
///
/// # Errors
/// [`PromptError`] for a group that names no variable, an unknown one or one without a value.
pub fn render(assembly: &PromptAssembly) -> Result<Option<SmolStr>, PromptError> {
    let mut system = String::new();
    for section in &assembly.sections {
        if section.text.is_empty() {
            continue;
        }
        let before = system.len();
        if before > 0 {
            system.push_str(SEPARATOR);
        }
        let begin = system.len();
        interpolate(section, assembly, &mut system)?;
        if system.len() == begin {
            system.truncate(before);
        }
    }
    Ok((!system.is_empty()).then(|| SmolStr::from(system)))
}

/// Whether a variable may be called that.
pub(super) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

fn interpolate(
    section: &PromptSection,
    assembly: &PromptAssembly,
    out: &mut String,
) -> Result<(), PromptError> {
    let mut rest = section.text.as_str();
    while let Some((before, opened)) = rest.split_once("{{") {
        // An opening that nothing closes is text.
        let Some((name, behind)) = opened.split_once("}}") else {
            break;
        };
        out.push_str(before);
        out.push_str(value_of(section, assembly, name)?);
        // What a value contains isn't looked at again.
        rest = behind;
    }
    out.push_str(rest);
    Ok(())
}

fn value_of<'a>(
    section: &PromptSection,
    assembly: &'a PromptAssembly,
    name: &str,
) -> Result<&'a str, PromptError> {
    let section = || section.name.clone();
    if !is_variable_name(name) {
        let inner: String = name.chars().take(SHOWN).collect();
        return Err(PromptError::Malformed {
            section: section(),
            group: format!("{{{{{inner}}}}}"),
        });
    }
    let Some(variable) = assembly.variables.iter().find(|known| known.name == name) else {
        return Err(PromptError::UnknownVariable {
            section: section(),
            name: name.into(),
        });
    };
    variable.value.as_deref().ok_or_else(|| PromptError::NoValue {
        section: section(),
        name: name.into(),
    })
}
