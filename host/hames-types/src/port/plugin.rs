//! What a plugin reaches: the session and the agent that call it, and the store that is its own.

use std::sync::Arc;

use async_trait::async_trait;

use crate::content::Content;
use crate::decision::HookContext;
use crate::event::{Event, EventBody};
use crate::fault::Fault;
use crate::header::SessionHeader;
use crate::id::{PluginId, Seq, SessionId};
use crate::message::{History, MessageSource};
use crate::request::RequestHeader;
use crate::turn::{CancelCause, TurnTrigger};

/// Finds who calls. A plugin can reach its caller and nobody else, so it never names one itself.
pub trait Callers: Send + Sync {
    /// The live session of this id.
    fn session(&self, id: &SessionId) -> Option<Arc<dyn SessionAccess>>;

    /// The live agent of this id.
    fn agent(&self, id: &SessionId) -> Option<Arc<dyn AgentVerbs>>;
}

/// What an event takes the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The first node of the history, by position.
    pub first: Seq,
    /// The last one.
    pub last: Seq,
    /// Further events the new one was made from. Those replaced are always among its sources.
    pub sources: Vec<Seq>,
}

/// A live session as a plugin reaches it. What a plugin may do with it is checked before it is asked.
#[async_trait]
pub trait SessionAccess: Send + Sync {
    /// What the session says of itself.
    fn header(&self) -> &SessionHeader;

    /// How many events the log has.
    fn length(&self) -> usize;

    /// At most `limit` events from `first` on.
    fn events(&self, first: Seq, limit: usize) -> Vec<Arc<Event>>;

    /// The messages the model would see now.
    ///
    /// # Errors
    /// If the log has no derivable history.
    fn messages(&self) -> Result<History, Fault>;

    /// The last logged request header.
    fn request_header(&self) -> Option<Arc<RequestHeader>>;

    /// Appends a log-only event. With `out_of_band` it may be appended while no turn is open and gets a turn of its
    /// own with that trigger; without, it is refused then.
    ///
    /// # Errors
    /// Whatever keeps the log from taking it; nothing was appended then.
    async fn append(&self, body: EventBody, out_of_band: Option<TurnTrigger>) -> Result<Seq, Fault>;

    /// Puts an event into the history in place of the nodes from `first` to `last`, with these among its sources.
    ///
    /// # Errors
    /// As [`SessionAccess::append`], and if the two aren't nodes of the history in this order.
    async fn replace(&self, body: EventBody, replaced: Replaced) -> Result<Seq, Fault>;
}

/// A session that is over, to be looked at as it was at any moment.
pub trait Recorded: Send + Sync {
    /// What the session says of itself.
    fn header(&self) -> &SessionHeader;

    /// All its events.
    fn events(&self) -> &[Arc<Event>];

    /// The session as it stood before the event `seq` was appended. It takes no events.
    fn before(&self, seq: Seq) -> Arc<dyn SessionAccess>;
}

/// What may be asked of a live agent. Nothing here waits; it takes effect when the loop gets to it.
pub trait AgentVerbs: Send + Sync {
    /// Queues a prompt.
    ///
    /// # Errors
    /// If the agent is going away or the content is refused.
    fn send(&self, content: Content, source: MessageSource, contexts: Vec<HookContext>) -> Result<(), Fault>;

    /// Says something into the running turn; queues it if nothing runs.
    ///
    /// # Errors
    /// As [`AgentVerbs::send`].
    fn steer(&self, content: Content, source: MessageSource, contexts: Vec<HookContext>)
    -> Result<(), Fault>;

    /// Adds a context to the conversation.
    ///
    /// # Errors
    /// As [`AgentVerbs::send`].
    fn inject(&self, context: HookContext) -> Result<(), Fault>;

    /// Cancels the running turn.
    fn cancel(&self, cause: CancelCause);
}

/// Holds events that belong into a session's log and can't go there at once, until a step or a turn closes.
pub trait Held: Send + Sync {
    /// Takes what is held for a session, in order.
    fn take(&self, session: &SessionId) -> Vec<EventBody>;
}

/// How much one plugin may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Most keys.
    pub keys: usize,
    /// Most bytes, keys and values together.
    pub bytes: usize,
}

/// Why a plugin's store didn't do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KeepError {
    /// It would be over the quota; nothing was changed.
    #[error("the store's quota of {} keys and {} bytes is used up", .0.keys, .0.bytes)]
    Quota(Quota),
    /// The value isn't a decimal number of 64 bits, or adding would leave that range.
    #[error("the value of `{0}` is not a counter that can be added to")]
    NotACounter(String),
    /// The store failed.
    #[error("the store failed")]
    Failed(#[source] Fault),
}

/// What plugins keep between calls: one store for all, in which each sees its own keys only.
///
/// Every method is one step: no other write comes between its look and its change. Methods are called from inside a
/// guest call, so they return soon.
pub trait PluginStore: Send + Sync {
    /// Reads a value.
    ///
    /// # Errors
    /// [`KeepError::Failed`].
    fn get(&self, owner: &PluginId, key: &str) -> Result<Option<Vec<u8>>, KeepError>;

    /// Writes a value, within `quota`.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was changed then.
    fn set(&self, owner: &PluginId, key: &str, value: Vec<u8>, quota: Quota) -> Result<(), KeepError>;

    /// Removes a value.
    ///
    /// # Errors
    /// [`KeepError::Failed`].
    fn delete(&self, owner: &PluginId, key: &str) -> Result<(), KeepError>;

    /// Adds to a counter (kept as decimal text, absent is 0), within `quota`, and gives its new value.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was changed then.
    fn increment(&self, owner: &PluginId, key: &str, by: i64, quota: Quota) -> Result<i64, KeepError>;

    /// At most `limit` keys that begin with `prefix` and come after `after`, in byte order.
    ///
    /// # Errors
    /// [`KeepError::Failed`].
    fn keys(
        &self,
        owner: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KeepError>;
}
