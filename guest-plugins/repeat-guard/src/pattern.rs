//! Does a name fit a pattern in which `*` stands for any text and everything else for itself?

pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, mut pattern)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    while let Some((piece, behind)) = pattern.split_once('*') {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
        pattern = behind;
    }
    rest.ends_with(pattern)
}
