//! What an agent has been told and hasn't taken up: prompts, one per turn, and steering for the running one.

use std::collections::VecDeque;

use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::message::MessageSource;

/// One message of the inbox, complete and its own (R-INBOX-2).
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) content: Content,
    pub(crate) source: MessageSource,
    pub(crate) contexts: Vec<HookContext>,
}

/// The two queues (R-INBOX-1), each first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Prompts: one is claimed per turn.
    pub(crate) queued: VecDeque<Item>,
    /// Steering: drained whole at the turn's checkpoints.
    pub(crate) steering: VecDeque<Item>,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.steering.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.queued.clear();
        self.steering.clear();
    }

    /// Steering that no step took up becomes prompts of later turns (R-LOOP-3).
    pub(crate) fn requeue_steering(&mut self) {
        self.queued.append(&mut self.steering);
    }
}
