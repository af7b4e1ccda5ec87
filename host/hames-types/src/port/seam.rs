//! Every point at which the loop asks, with what it asks about and what may be answered (§24.2).

use smol_str::SmolStr;

use crate::content::Content;
use crate::decision::{
    ApprovalOutcome, ContinuationDecision, HookContext, PostToolDecision, PreToolDecision, PromptDecision,
    RequestErrorDecision,
};
use crate::failure::LlmFailure;
use crate::fault::Fault;
use crate::id::{CallId, SessionId, StepNo, TurnNo};
use crate::message::{History, Message, MessageSource};
use crate::port::listener::Seam;
use crate::port::llm::ChunkStream;
use crate::prompt::PromptAssembly;
use crate::request::{CallConfig, Request};
use crate::signal::Signal;
use crate::tool::{ToolCall, ToolOutcome};

macro_rules! seams {
    ($( $(#[$meta:meta])* $name:ident($label:literal): $ask:ty => $answer:ty, pass $pass:ty; )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Seam for $name {
            const NAME: &'static str = $label;
            type Ask = $ask;
            type Answer = $answer;
            type Pass = $pass;
        }
    )* };
}

seams! {
    /// May this prompt begin its turn? Default: allow, with the contexts attached to it. Error: the turn fails.
    PromptSubmit("agent/prompt-submit"): PromptAsk => PromptDecision, pass ();
    /// Messages in front of the history, composed once per driver. Default: none. Error: the turn fails.
    SessionPrefix("agent/session-prefix"): PrefixAsk => History, pass ();
    /// The system prompt and the tools. Default: what was assembled. Error: the turn fails.
    PromptAssemble("system-prompt/assemble"): AssembleAsk => PromptAssembly, pass ();
    /// Before a step (serial). Error: the turn fails.
    PreStep("agent/pre-step"): StepAsk => (), pass ();
    /// Provider, model, sampling. Default: the seed. Error: the turn fails, without recovery.
    CallRequest("agent/request"): RequestAsk => CallConfig, pass ();
    /// Around every model call. Default: the adapter. A listener may re-route by passing another request.
    LlmStream("llm/stream"): StreamAsk => ChunkStream, pass Request;
    /// The assembled message before it is logged. Default: itself. Error: an empty message is logged, the turn fails.
    StepResult("agent/step-result"): StepResultAsk => Message, pass ();
    /// May this call run? Default: allow. Error: an error result.
    PreExecute("tools/pre-execute"): PreExecuteAsk => PreToolDecision, pass ();
    /// A person's answer to a question. Default: unavailable. Error: unavailable.
    Approval("approval/request"): ApprovalAsk => ApprovalOutcome, pass ();
    /// Around a tool's body. Default: the body. A listener may pass another signal. Error: an error result.
    Execute("tools/execute"): ExecuteAsk => ToolOutcome, pass Signal;
    /// The result before it is logged. Default: accept. Error: an error result.
    PostExecute("tools/post-execute"): PostExecuteAsk => PostToolDecision, pass ();
    /// After a step's results (serial). Error: the turn fails.
    PostStep("agent/post-step"): StepAsk => (), pass ();
    /// A model call failed. Default: fail. Error: fail with the model's error.
    RequestError("agent/request-error"): RequestErrorAsk => RequestErrorDecision, pass ();
    /// Does the turn go on? Default: if tools were called or steering came. Error: the turn fails.
    TurnContinuation("agent/turn-continuation"): ContinuationAsk => ContinuationDecision, pass ();
    /// Must the turn end (serial)? Any answer is a terminal stop. Error: the turn fails.
    TurnStop("agent/turn-stop"): TurnAsk => (), pass ();
}

/// Asked about a claimed prompt.
#[derive(Debug, Clone)]
pub struct PromptAsk {
    /// The agent.
    pub agent: SessionId,
    /// The prompt.
    pub content: Content,
    /// Where it came from.
    pub source: MessageSource,
    /// The contexts attached to it.
    pub contexts: Vec<HookContext>,
    /// The turn's.
    pub signal: Signal,
}

/// Asked for the session's prefix.
#[derive(Debug, Clone)]
pub struct PrefixAsk {
    /// The agent.
    pub agent: SessionId,
    /// The turn's.
    pub signal: Signal,
}

/// Asked about an assembled prompt.
#[derive(Debug, Clone)]
pub struct AssembleAsk {
    /// The agent; none for an assembly outside of one.
    pub agent: Option<SessionId>,
    /// What was assembled.
    pub assembly: PromptAssembly,
    /// The turn's.
    pub signal: Signal,
}

/// Asked about a step.
#[derive(Debug, Clone)]
pub struct StepAsk {
    /// The agent.
    pub agent: SessionId,
    /// The turn.
    pub turn: TurnNo,
    /// The step.
    pub step: StepNo,
    /// The turn's; perhaps raised already.
    pub signal: Signal,
}

/// Asked about a request's configuration.
#[derive(Debug, Clone)]
pub struct RequestAsk {
    /// The step.
    pub at: StepAsk,
    /// The seed.
    pub config: CallConfig,
}

/// Asked for a model's stream.
#[derive(Debug, Clone)]
pub struct StreamAsk {
    /// The request.
    pub request: Request,
    /// Whether the loop built it: then it is bound to the log and can't be re-routed (R-LLM-4).
    pub from_loop: bool,
    /// Raised when the call should end.
    pub signal: Signal,
}

/// Asked about an assembled message.
#[derive(Debug, Clone)]
pub struct StepResultAsk {
    /// The step.
    pub at: StepAsk,
    /// The message.
    pub message: Message,
}

/// Asked to answer for a person.
#[derive(Debug, Clone)]
pub struct ApprovalAsk {
    /// The agent.
    pub agent: SessionId,
    /// The tool.
    pub tool: SmolStr,
    /// The call.
    pub call_id: Option<CallId>,
    /// Why it is asked.
    pub reason: Option<SmolStr>,
    /// Raised when the question is withdrawn.
    pub signal: Signal,
}

/// Asked to run a body.
#[derive(Debug, Clone)]
pub struct ExecuteAsk {
    /// The call.
    pub call: ToolCall,
    /// The timeout the visible tool declares, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// The caller's signal.
    pub signal: Signal,
}

/// Asked whether a call may run.
#[derive(Debug, Clone)]
pub struct PreExecuteAsk {
    /// The call.
    pub call: ToolCall,
    /// The caller's signal.
    pub signal: Signal,
}

/// Asked about a result.
#[derive(Debug, Clone)]
pub struct PostExecuteAsk {
    /// The call.
    pub call: ToolCall,
    /// What came of it.
    pub outcome: ToolOutcome,
    /// The caller's signal; perhaps raised already.
    pub signal: Signal,
}

/// Asked about a failed model call.
#[derive(Debug, Clone)]
pub struct RequestErrorAsk {
    /// The step that failed; closed by now.
    pub at: StepAsk,
    /// The error itself.
    pub error: Fault,
    /// Its facts.
    pub failure: LlmFailure,
    /// The failures that were already retried in this run of failures, oldest first.
    pub prior: Vec<LlmFailure>,
}

/// Asked about a turn.
#[derive(Debug, Clone)]
pub struct TurnAsk {
    /// The agent.
    pub agent: SessionId,
    /// The turn.
    pub turn: TurnNo,
    /// The turn's.
    pub signal: Signal,
}

/// Asked whether a turn goes on.
#[derive(Debug, Clone)]
pub struct ContinuationAsk {
    /// The turn.
    pub at: TurnAsk,
    /// What happens if nobody objects.
    pub default: ContinuationDecision,
    /// Whether a listener already made this turn go on.
    pub stop_hook_active: bool,
}
