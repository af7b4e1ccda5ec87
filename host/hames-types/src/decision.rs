//! What listeners decide, one closed type per seam, and the contexts they may add.

use smol_str::SmolStr;

use crate::content::Content;
use crate::json::{Extra, Json, record, words};
use crate::message::{MessageSource, Plain};
use crate::open::closed_sum;

words! {
    /// Where a context stands relative to the prompt it came with.
    ContextPlacement("a context's placement") {
        /// A message of its own behind the prompt.
        Separate = "separate",
        /// Baked into the prompt, in front of it.
        PromptPrefix = "prompt-prefix",
    }
}

record! {
    /// Context a plugin or a tool adds for the model. It always says where it came from.
    HookContext {
        /// What the model sees, as user input.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
        /// Where it stands; absent means separate.
        placement: Option<ContextPlacement> = "placement",
        /// Its owner's private state, kept in the log and hidden from the model.
        meta: Option<Json> = "meta",
    }
}

impl HookContext {
    /// A separate context.
    #[must_use]
    pub fn new(content: Content, source: MessageSource) -> Self {
        Self {
            content,
            source,
            placement: None,
            meta: None,
            extra: Extra::NONE,
        }
    }

    /// Whether it is baked into the prompt it came with.
    #[must_use]
    pub fn is_prefix(&self) -> bool {
        self.placement == Some(ContextPlacement::PromptPrefix)
    }
}

record! {
    /// A prompt is let through.
    PromptAllow {
        /// Replaces the prompt; absent leaves it.
        content: Option<Content> = "content",
        /// The contexts that go with it: the answer is authoritative, what it doesn't name is dropped.
        additional_contexts: Option<Vec<HookContext>> = "additionalContexts",
    }
}

record! {
    /// A prompt is refused.
    PromptBlock {
        /// Why; recorded in the log.
        reason: SmolStr = "reason",
    }
}

closed_sum! {
    /// Answer of `agent/prompt-submit`.
    PromptDecision("prompt decision", "kind") {
        /// Let it through.
        Allow(PromptAllow) = "allow",
        /// Refuse it.
        Block(PromptBlock) = "block",
    }
}

record! {
    /// Says why, to the model and the log.
    Denial {
        /// Why.
        reason: SmolStr = "reason",
    }
}

record! {
    /// A person is to be asked.
    Question {
        /// Why it is asked.
        reason: Option<SmolStr> = "reason",
    }
}

closed_sum! {
    /// Answer of `tools/pre-execute`. There is none that rewrites the input: history, audit, display and execution
    /// must agree.
    PreToolDecision("pre-execute decision", "kind") {
        /// Run it, unless a guard denies.
        Allow(Plain) = "allow",
        /// Don't run it.
        Deny(Denial) = "deny",
        /// Ask a person.
        Ask(Question) = "ask",
    }
}

impl PreToolDecision {
    /// Run it.
    pub const ALLOW: Self = Self::Allow(Plain::NEW);
}

record! {
    /// A tool's result is accepted.
    PostAccept {
        /// Replaces the content; absent leaves it. Error flag, error and meta stay.
        content: Option<Content> = "content",
        /// Further contexts, behind those of the tool.
        additional_contexts: Option<Vec<HookContext>> = "additionalContexts",
    }
}

record! {
    /// A tool's result is replaced by feedback.
    PostBlock {
        /// What the model sees instead, as an error.
        feedback: Content = "feedback",
        /// The only contexts that go with it.
        additional_contexts: Option<Vec<HookContext>> = "additionalContexts",
    }
}

closed_sum! {
    /// Answer of `tools/post-execute`.
    PostToolDecision("post-execute decision", "kind") {
        /// Accept it.
        Accept(PostAccept) = "accept",
        /// Replace it.
        Block(PostBlock) = "block",
    }
}

impl PostToolDecision {
    /// Accept it as it is.
    pub const ACCEPT: Self = Self::Accept(PostAccept {
        content: None,
        additional_contexts: None,
        extra: Extra::NONE,
    });
}

record! {
    /// Why a turn goes on: said to the model as steering.
    ContinueReason {
        /// What the model sees.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
    }
}

record! {
    /// The turn goes on.
    Continue {
        /// Steering for the next step.
        reason: Option<ContinueReason> = "reason",
    }
}

closed_sum! {
    /// Answer of `agent/turn-continuation`.
    ContinuationDecision("continuation decision", "action") {
        /// No further step, unless steering is pending.
        Stop(Plain) = "stop",
        /// A further step.
        Continue(Continue) = "continue",
    }
}

impl ContinuationDecision {
    /// No further step.
    pub const STOP: Self = Self::Stop(Plain::NEW);
    /// A further step, without a reason.
    pub const CONTINUE: Self = Self::Continue(Continue {
        reason: None,
        extra: Extra::NONE,
    });
}

closed_sum! {
    /// Answer of `agent/request-error`.
    RequestErrorDecision("request-error decision", "action") {
        /// The turn fails.
        Fail(Plain) = "fail",
        /// A new step tries again.
        Retry(Plain) = "retry",
    }
}

impl RequestErrorDecision {
    /// The turn fails.
    pub const FAIL: Self = Self::Fail(Plain::NEW);
    /// A new step tries again.
    pub const RETRY: Self = Self::Retry(Plain::NEW);
}

words! {
    /// What a person, or nobody, answered to a question.
    ApprovalOutcome("an approval outcome") {
        /// This call may run.
        AllowedOnce = "allowed-once",
        /// It may not.
        Rejected = "rejected",
        /// The question was withdrawn.
        Cancelled = "cancelled",
        /// Nobody could be asked.
        Unavailable = "unavailable",
    }
}
