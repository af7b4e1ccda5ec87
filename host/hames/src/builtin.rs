//! Which plugins ship with hames? Their components, by the name after `builtin:`.

/// The component of that name.
#[must_use]
pub fn component(name: &str) -> Option<&'static [u8]> {
    COMPONENTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, component)| *component)
}

/// The names there are.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().map(|(name, _)| *name)
}

const COMPONENTS: &[(&str, &[u8])] = &[];
