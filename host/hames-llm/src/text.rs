//! Payloads of events as JSON: borrowed text, lenient counts, and surrogates that stand alone.

use std::borrow::Cow;
use std::fmt;

use hames_types::failure::LlmFailure;
use hames_types::json::Json;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::fail::malformed;

#[cfg(test)]
mod tests;

/// Text of a payload, borrowed from it unless it holds escapes. (Serde's `Cow` inside an `Option` never borrows.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// A payload that must be a JSON object, ready to be parsed.
///
/// A surrogate that stands alone (`\ud83d`) is legal in JSON's grammar and not in text; it becomes U+FFFD.
pub(crate) fn object<'a>(payload: &'a str) -> Result<Cow<'a, str>, LlmFailure> {
    if !payload.trim_start().starts_with('{') {
        return Err(malformed("an event of the provider's stream isn't a JSON object"));
    }
    let escapes_surrogates = memchr::memchr_iter(b'\\', payload.as_bytes())
        .any(|at| matches!(payload.as_bytes().get(at + 1..at + 3), Some([b'u', b'd' | b'D'])));
    if escapes_surrogates {
        return Ok(Cow::Owned(repaired(payload)));
    }
    Ok(Cow::Borrowed(payload))
}

/// What a payload that isn't what the protocol says is called.
pub(crate) fn not_the_protocol(error: &serde_json::Error) -> LlmFailure {
    malformed(format_args!(
        "an event of the provider's stream can't be read: {error}"
    ))
}

fn repaired(payload: &str) -> String {
    let mut out = String::with_capacity(payload.len());
    let mut rest = payload;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let len = match unit(escaped) {
            Some(0xd800..=0xdbff) if escaped.get(5..).is_some_and(is_low_half) => 11,
            Some(0xd800..=0xdfff) => {
                out.push(char::REPLACEMENT_CHARACTER);
                rest = escaped.get(5..).unwrap_or_default();
                continue;
            }
            // The escaped character goes along, so that a backslash isn't taken for the next escape's.
            Some(_) | None => escaped.chars().next().map_or(0, char::len_utf8),
        };
        out.push('\\');
        out.push_str(escaped.get(..len).unwrap_or_default());
        rest = escaped.get(len..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn is_low_half(rest: &str) -> bool {
    matches!(rest.strip_prefix('\\').and_then(unit), Some(0xdc00..=0xdfff))
}

/// The code unit of `uXXXX`.
fn unit(escaped: &str) -> Option<u32> {
    let digits = escaped.strip_prefix('u')?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// A count as providers write it: below zero, absent, null or no number is nothing; a fraction is cut.
pub(crate) fn count(value: Option<&Json>) -> Option<u64> {
    let number = value?.as_number()?;
    if let Some(whole) = number.as_u64() {
        return Some(whole);
    }
    let float = number
        .as_f64()
        .filter(|float| float.is_finite())?
        .max(0.0)
        .trunc();
    // Nothing is lost by going through text, and nothing can wrap.
    format!("{float:.0}").parse().ok()
}
