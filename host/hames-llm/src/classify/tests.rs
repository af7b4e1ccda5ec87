//! Tests of the tables: what counts as overflow and quota, and what merely sounds like it.

use super::{ANTHROPIC, ANY, COMMON, GEMINI, Worded, Wording};

fn overflow(message: &str, beside: &Wording) -> bool {
    let worded = Worded {
        message,
        ..Worded::default()
    };
    worded.is_overflow(beside)
}

#[test]
fn every_provider_words_an_overflow_differently() {
    let worded = [
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000.",
            &COMMON,
        ),
        ("prompt is too long: 250000 tokens > 200000 maximum", &ANTHROPIC),
        (
            "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576).",
            &GEMINI,
        ),
        (
            "the request exceeds the available context size, try increasing it",
            &ANY,
        ),
        (
            "Input length (9) exceeds model's maximum context length (8).",
            &ANY,
        ),
        (
            "Your input exceeds the context window of this model. Please adjust your input.",
            &COMMON,
        ),
    ];
    for (message, beside) in worded {
        assert!(overflow(message, beside), "{message}");
    }
}

#[test]
fn what_is_about_something_else_is_no_overflow() {
    let others = [
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000",
        "max_tokens must be at most 4096",
        "the value of `context` exceeds its limit",
        "the request exceeds the rate limit",
        "messages: at least one message is required",
        "",
    ];
    for message in others {
        for beside in [&COMMON, &ANTHROPIC, &GEMINI, &ANY] {
            assert!(!overflow(message, beside), "{message}");
        }
    }
}

#[test]
fn an_error_in_a_stream_gets_the_code_its_status_would_have_had() {
    let code = |message, kind, code| Worded { message, kind, code }.stream_code(&ANY);
    assert_eq!(code("overloaded", "server_error", "server_busy"), "SERVER");
    assert_eq!(code("Overloaded", "overloaded_error", ""), "SERVER");
    assert_eq!(code("slow down", "rate_limit_error", ""), "RATE_LIMIT");
    assert_eq!(
        code("m", "", "context_length_exceeded"),
        "CONTEXT_WINDOW_EXCEEDED"
    );
    assert_eq!(code("Insufficient balance", "server_error", ""), "QUOTA");
    assert_eq!(code("m", "", "odd_thing"), "ODD_THING");
    assert_eq!(code("overloaded", "", ""), "SERVER");
    assert_eq!(code("m", "", ""), "PROVIDER_ERROR");
}
