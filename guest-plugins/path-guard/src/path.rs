//! Which paths does a text spell? The same file has many names, and a pattern has to match whichever is used.

/// A path as patterns are matched against it: without `.`, `..`, doubled and trailing slashes. First the path itself,
/// then as a folder, so that `secrets/**` covers `secrets` as well.
pub fn spellings(text: &str) -> [String; 2] {
    let path = tidy(text);
    let folder = format!("{path}/");
    [path, folder]
}

fn tidy(text: &str) -> String {
    let slashes = text.trim().replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in slashes.split('/') {
        match part {
            "" | "." => {}
            // What is above the beginning is unknown; the rest of the path is still a name to match.
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}
