//! Which of two answers is the stricter? For listeners that may only restrict.
//!
//! Strictest first: deny, ask, allow; block before allow and before accept; stop before continue. Where neither is
//! stricter the rest of the chain stands as it is: a listener without full authority rewords nobody.

use hames_types::decision::{
    ContinuationDecision, PostToolDecision, PreToolDecision, PromptDecision, Question,
};

/// Of `agent/prompt-submit`.
pub(super) fn prompt(own: PromptDecision, rest: PromptDecision) -> PromptDecision {
    match (own, rest) {
        (own @ PromptDecision::Block(_), PromptDecision::Allow(_)) => own,
        (PromptDecision::Block(_) | PromptDecision::Allow(_), rest) => rest,
    }
}

/// Of `tools/pre-execute`.
pub(super) fn pre_execute(own: PreToolDecision, rest: PreToolDecision) -> PreToolDecision {
    match (own, rest) {
        (own @ PreToolDecision::Deny(_), PreToolDecision::Ask(_) | PreToolDecision::Allow(_))
        | (own @ PreToolDecision::Ask(_), PreToolDecision::Allow(_))
        // A question without a reason takes the one there is.
        | (own @ PreToolDecision::Ask(_), PreToolDecision::Ask(Question { reason: None, .. })) => own,
        (PreToolDecision::Deny(_) | PreToolDecision::Ask(_) | PreToolDecision::Allow(_), rest) => rest,
    }
}

/// Of `tools/post-execute`.
pub(super) fn post_execute(own: PostToolDecision, rest: PostToolDecision) -> PostToolDecision {
    match (own, rest) {
        (own @ PostToolDecision::Block(_), PostToolDecision::Accept(_)) => own,
        (PostToolDecision::Block(_) | PostToolDecision::Accept(_), rest) => rest,
    }
}

/// Of `agent/turn-continuation`.
pub(super) fn continuation(own: ContinuationDecision, rest: ContinuationDecision) -> ContinuationDecision {
    match (own, rest) {
        (own @ ContinuationDecision::Stop(_), ContinuationDecision::Continue(_)) => own,
        (ContinuationDecision::Stop(_) | ContinuationDecision::Continue(_), rest) => rest,
    }
}
