//! What does the contract look like in Rust? Generated from `wit/`, private, nothing else.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "everything",
    imports: {
        "hames:plugin/wait.sleep": async | trappable,
        "hames:plugin/wait.until-aborted": async | trappable,
        "hames:plugin/session.append": async | trappable,
        "hames:plugin/session.write-todos": async | trappable,
        "hames:plugin/next.[method]next-prompt-submit.run": async | trappable,
        "hames:plugin/next.[method]next-session-prefix.run": async | trappable,
        "hames:plugin/next.[method]next-prompt-assemble.run": async | trappable,
        "hames:plugin/next.[method]next-request.run": async | trappable,
        "hames:plugin/next.[method]next-step-result.run": async | trappable,
        "hames:plugin/next.[method]next-pre-execute.run": async | trappable,
        "hames:plugin/next.[method]next-execute.run": async | trappable,
        "hames:plugin/next.[method]next-execute.run-with": async | trappable,
        "hames:plugin/next.[method]next-post-execute.run": async | trappable,
        "hames:plugin/next.[method]next-request-error.run": async | trappable,
        "hames:plugin/next.[method]next-turn-continuation.run": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "hames:plugin/next.next-prompt-submit": crate::host::next::PromptSubmitNext,
        "hames:plugin/next.next-session-prefix": crate::host::next::SessionPrefixNext,
        "hames:plugin/next.next-prompt-assemble": crate::host::next::PromptAssembleNext,
        "hames:plugin/next.next-request": crate::host::next::CallRequestNext,
        "hames:plugin/next.next-step-result": crate::host::next::StepResultNext,
        "hames:plugin/next.next-pre-execute": crate::host::next::PreExecuteNext,
        "hames:plugin/next.next-execute": crate::host::next::ExecuteNext,
        "hames:plugin/next.next-post-execute": crate::host::next::PostExecuteNext,
        "hames:plugin/next.next-request-error": crate::host::next::RequestErrorNext,
        "hames:plugin/next.next-turn-continuation": crate::host::next::TurnContinuationNext,
    },
    // What comes back unchanged is known by comparing.
    additional_derives: [PartialEq],
});
