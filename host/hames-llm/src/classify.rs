//! What does a provider's wording mean? Tables from words to stable codes (R-ERRC).

use crate::fail::code;

#[cfg(test)]
mod tests;

/// How one provider words the two failures that no status tells.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// Phrases that say the request is more than the model can hold.
    pub overflow: &'static [&'static str],
    /// Error codes and types that say so; compared whole.
    pub overflow_codes: &'static [&'static str],
}

/// A phrase is words in a row. `a|b` is either, `a?` may be absent. Text is compared in lower case and word by word,
/// so `context_length_exceeded`, "context length exceeded" and "Context-Length exceeded" are the same.
const OVERFLOW: &[&str] = &[
    "max|maximum allowed? context length|window",
    "context length|window limit? exceeded|exceeds|overflow|overflows|overflowed",
    "request|input|prompt|message|messages is|are? too large|long for this|the? model|context",
    "request|input|prompt|message|messages exceed|exceeds|exceeded this|the? model? s? maximum|max? context",
    "request|input|prompt|message|messages is|are larger|longer than this|the? model? s? maximum|max? context",
];

/// Phrases that say money or allowance is used up.
const QUOTA: &[&str] = &[
    "insufficient account? balance|quota|credit|credits|funds",
    "quota|credit|credits|budget|balance exhausted|exceeded|depleted",
    "usage limit exceeded|reached",
    "exceeded your current? quota|budget",
    "out of credit|credits|quota|budget|funds",
    "credit balance is too low",
    "billing hard limit",
];

/// What every provider may say.
pub const COMMON: Wording = Wording {
    overflow: OVERFLOW,
    overflow_codes: &["context_length_exceeded"],
};

/// What Anthropic says beside, and llama.cpp where it speaks the same protocol.
pub const ANTHROPIC: Wording = Wording {
    overflow: &[
        "prompt is too long",
        "input length and max_tokens exceed context limit",
        "exceeds the available context size",
    ],
    overflow_codes: &["request_too_large", "exceed_context_size_error"],
};

/// What Gemini says beside.
pub const GEMINI: Wording = Wording {
    overflow: &["exceeds the maximum number of tokens allowed"],
    overflow_codes: &[],
};

/// What servers behind one base URL say beside: gateways hand on the words of whoever answers.
pub const ANY: Wording = Wording {
    overflow: &[
        "prompt is too long",
        "input token count exceeds",
        "exceeds the maximum number of tokens allowed",
        "exceeds the available context size",
        "exceeds context size",
        "range of input length should be",
        "reduce the length of the messages|prompt|input",
    ],
    overflow_codes: &["exceed_context_size_error", "request_too_large"],
};

/// An error as a provider words it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Worded<'a> {
    pub(crate) message: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) code: &'a str,
}

impl Worded<'_> {
    /// Whether money or allowance is used up.
    pub(crate) fn is_quota(&self) -> bool {
        [self.message, self.kind, self.code]
            .into_iter()
            .any(|text| says(text, QUOTA))
    }

    /// Whether the request is more than the model can hold.
    pub(crate) fn is_overflow(&self, beside: &Wording) -> bool {
        [&COMMON, beside].into_iter().any(|wording| {
            let names = |word: &str| wording.overflow_codes.contains(&word);
            names(self.code) || names(self.kind) || says(self.message, wording.overflow)
        })
    }

    /// The stable code of an error that came inside a stream, where no status helps.
    pub(crate) fn stream_code(&self, beside: &Wording) -> String {
        if self.is_quota() {
            return code::QUOTA.to_owned();
        }
        if self.is_overflow(beside) {
            return code::CONTEXT_WINDOW_EXCEEDED.to_owned();
        }
        let known = |word: &str| {
            STREAM_WORDS
                .iter()
                .find(|(name, _)| word.eq_ignore_ascii_case(name))
        };
        if let Some((_, code)) = known(self.kind).or_else(|| known(self.code)) {
            return (*code).to_owned();
        }
        let own = if self.code.is_empty() {
            self.kind
        } else {
            self.code
        };
        if !own.is_empty() {
            return own.to_uppercase();
        }
        let says_overloaded = says(
            self.message,
            &["overloaded", "server is busy", "temporarily unavailable"],
        );
        let fallback = if says_overloaded {
            code::SERVER
        } else {
            code::PROVIDER_ERROR
        };
        fallback.to_owned()
    }
}

/// Providers' words for what a status would have said.
const STREAM_WORDS: &[(&str, &str)] = &[
    ("server_error", code::SERVER),
    ("api_error", code::SERVER),
    ("internal_error", code::SERVER),
    ("internal_server_error", code::SERVER),
    ("INTERNAL", code::SERVER),
    ("UNAVAILABLE", code::SERVER),
    ("service_unavailable", code::SERVER),
    ("overloaded", code::SERVER),
    ("overloaded_error", code::SERVER),
    ("server_busy", code::SERVER),
    ("timeout_error", code::SERVER),
    ("rate_limit", code::RATE_LIMIT),
    ("rate_limit_error", code::RATE_LIMIT),
    ("rate_limit_exceeded", code::RATE_LIMIT),
    ("RESOURCE_EXHAUSTED", code::RATE_LIMIT),
    ("authentication_error", code::AUTH),
    ("permission_error", code::AUTH),
    ("UNAUTHENTICATED", code::AUTH),
    ("PERMISSION_DENIED", code::AUTH),
    ("billing_error", code::QUOTA),
    ("insufficient_quota", code::QUOTA),
    ("invalid_request_error", code::INVALID_REQUEST),
    ("INVALID_ARGUMENT", code::INVALID_REQUEST),
];

/// Whether `text` holds one of `phrases`.
fn says(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    phrases.iter().any(|phrase| {
        let slots: Vec<&str> = phrase.split([' ', '_']).collect();
        (0..words.len()).any(|start| begins(words.get(start..).unwrap_or_default(), &slots))
    })
}

fn begins(words: &[&str], slots: &[&str]) -> bool {
    let Some((slot, slots)) = slots.split_first() else {
        return true;
    };
    let (choices, optional) = match slot.strip_suffix('?') {
        Some(choices) => (choices, true),
        None => (*slot, false),
    };
    let taken = words.split_first().is_some_and(|(word, words)| {
        choices.split('|').any(|choice| choice == *word) && begins(words, slots)
    });
    taken || (optional && begins(words, slots))
}
