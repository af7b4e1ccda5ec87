//! Is this request one of those that are granted? Looks at its text only; addresses come after.

use http::header::{CONTENT_LENGTH, EXPECT, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderName, Method, Uri};

use crate::grant::{HttpRule, Scheme};

/// Where an allowed request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: Scheme,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) allow_private: bool,
}

impl Target {
    /// Secrets travel encrypted, or to a place the operator named as private.
    pub(crate) fn may_carry_secrets(&self) -> bool {
        self.scheme == Scheme::Https || self.allow_private
    }
}

/// Finds the rule that allows a request.
///
/// # Errors
/// Why none does, for the operator's diagnostics.
pub(crate) fn check(rules: &[HttpRule], method: &Method, uri: &Uri) -> Result<Target, &'static str> {
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(_) | None => return Err("its scheme is neither http nor https"),
    };
    let authority = uri.authority().ok_or("it has no host")?;
    if authority.as_str().contains('@') {
        return Err("it has a user in front of its host");
    }
    let host = authority.host();
    if host.is_empty() || host.ends_with('.') || host.contains('%') {
        return Err("its host is empty, ends in a dot or has a zone");
    }
    let has_port = authority.as_str().len() > host.len();
    let port = match (authority.port_u16(), has_port, scheme) {
        (Some(port), _, _) => port,
        (None, true, _) => return Err("its port is none"),
        (None, false, Scheme::Http) => 80,
        (None, false, Scheme::Https) => 443,
    };
    let path = uri.path();
    check_path(path)?;
    let rule = rules
        .iter()
        .find(|rule| {
            rule.scheme == scheme
                && rule.port == port
                && rule.host.eq_ignore_ascii_case(host)
                && allows_method(rule, method)
                && is_under(path, &rule.path_prefix)
        })
        .ok_or("no rule allows it")?;
    Ok(Target {
        scheme,
        // Names are the same in either case; what is asked and said is lower.
        host: host.to_ascii_lowercase(),
        port,
        allow_private: rule.allow_private,
    })
}

fn allows_method(rule: &HttpRule, method: &Method) -> bool {
    // These ask a proxy or a server for something other than a resource; no rule can name them.
    if *method == Method::CONNECT || *method == Method::TRACE {
        return false;
    }
    if rule.methods.is_empty() {
        return *method == Method::GET || *method == Method::HEAD;
    }
    rule.methods.iter().any(|allowed| allowed == method.as_str())
}

/// Servers differ in how they read these, so a prefix says nothing about a path that has one.
fn check_path(path: &str) -> Result<(), &'static str> {
    let lower = path.to_ascii_lowercase();
    if lower.contains('\\') || lower.contains("%2f") || lower.contains("%5c") || lower.contains("%00") {
        return Err("its path hides a separator");
    }
    let plain = lower.replace("%2e", ".");
    // A doubly encoded dot is one for a server that decodes twice.
    if plain.contains("%252e") || plain.contains("%252f") || plain.contains("%255c") {
        return Err("its path is encoded twice");
    }
    let has_dots = plain
        .split('/')
        .any(|segment| matches!(segment.split(';').next(), Some("." | "..")));
    if has_dots {
        return Err("its path has a dot segment");
    }
    Ok(())
}

/// Whether a path is a prefix or stands below it, by whole segments.
fn is_under(path: &str, prefix: &str) -> bool {
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Headers that say where a message ends or whom it is for.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    [TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT].contains(name)
        || name.as_str().starts_with("proxy-")
        || matches!(name.as_str(), "connection" | "keep-alive" | "http2-settings")
}

/// Headers that the host sets itself and of which there is at most one.
pub(crate) fn is_single(name: &HeaderName) -> bool {
    *name == CONTENT_LENGTH
}
