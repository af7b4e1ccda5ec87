//! Which paths does a text spell? The same file has many names, and a pattern has to match whichever is used.

/// Most rounds of percent signs that are taken for spelled bytes: encoded twice is the trick, more is none's.
const ROUNDS: usize = 3;

/// A way to read a text as a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The names it goes through, without `.`, `..` and empty ones.
    pub parts: Vec<String>,
    /// Whether it begins where the patterns do: not if it is absolute, or above the beginning.
    pub is_relative: bool,
}

/// The paths a text may stand for: as it is, and as tools and file systems that are less strict read it.
pub fn spellings(text: &str) -> Vec<Spelling> {
    let mut texts = vec![text.to_owned()];
    // What a language that ends texts at a NUL opens.
    if let Some((before, _)) = text.split_once('\0') {
        texts.push(before.to_owned());
    }
    let mut decoded = text.to_owned();
    for _ in 0..ROUNDS {
        let next = percent_decoded(&decoded);
        if next == decoded {
            break;
        }
        texts.push(next.clone());
        decoded = next;
    }
    let mut found: Vec<Spelling> = Vec::new();
    for text in &texts {
        for spelling in [tidy(text, str::to_owned), tidy(text, plain)] {
            if !found.contains(&spelling) {
                found.push(spelling);
            }
        }
    }
    found
}

fn tidy(text: &str, name: impl Fn(&str) -> String) -> Spelling {
    let slashes = text.trim().replace('\\', "/");
    let mut is_relative = !slashes.starts_with(['/', '~']) && !slashes.contains(':');
    let mut parts: Vec<String> = Vec::new();
    for part in slashes.split('/') {
        match part {
            "" | "." => {}
            // What is above the beginning is unknown; the rest of the path is still a name to match.
            ".." => is_relative &= parts.pop().is_some(),
            part => parts.push(name(part)),
        }
    }
    Spelling { parts, is_relative }
}

/// A name as file systems keep it that look past some of its letters: invisible ones, dots and blanks at the end, and
/// what is behind a colon.
fn plain(name: &str) -> String {
    let seen: String = name.chars().filter(|letter| !is_invisible(*letter)).collect();
    let file = seen.split_once(':').map_or(seen.as_str(), |(file, _)| file);
    let short = file.trim_end_matches(['.', ' ']);
    if short.is_empty() { seen } else { short.to_owned() }
}

fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| {
            let two = std::str::from_utf8(two).ok().filter(|_| *first == b'%')?;
            u8::from_str_radix(two, 16).ok()
        });
        match digits {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
