//! How much a turn may do. The operator sets it; nothing below fills in defaults of its own.

/// Limits of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most tool calls of one batch that run at once; at least 1, which makes every batch serial (R-SCHED-3).
    pub max_parallel_tool_calls: usize,
    /// Most steps of one turn. The turn then ends with an error of code `MAX_STEPS`: a model that never
    /// stops calling tools costs money until somebody looks.
    pub max_steps: u64,
    /// Most times per turn that listeners may make it go on. The turn then ends with an error of code
    /// `CONTINUATION_LIMIT`: a stop hook that never lets go would loop for ever. `None`: as often as they like.
    pub max_forced_continuations: Option<u64>,
    /// Whether every request is compared with what the log says it must be before it leaves (R-REC). Costs a walk
    /// over the history per request.
    pub check_requests: bool,
}

impl Limits {
    /// What the loop does unless an operator says otherwise.
    ///
    /// * 10 parallel tool calls
    /// * 200 steps a turn
    /// * 8 forced continuations a turn
    /// * requests aren't compared with the log
    pub const STANDARD: Self = Self {
        max_parallel_tool_calls: 10,
        max_steps: 200,
        max_forced_continuations: Some(8),
        check_requests: false,
    };
}
