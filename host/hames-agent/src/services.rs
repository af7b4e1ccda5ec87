//! What every agent of a process shares.

use std::sync::Arc;

use hames_log::Sessions;

use crate::limits::Limits;
use crate::listeners::Listeners;
use crate::prompt::Prompts;
use crate::router::Router;
use crate::tools::Tools;

/// The parts the loop is made of. Filled by whoever composes the process, before the first agent starts.
pub struct Services {
    /// The live sessions.
    pub sessions: Sessions,
    /// Everyone who has a say.
    pub listeners: Arc<Listeners>,
    /// The tools.
    pub tools: Arc<Tools>,
    /// The system prompt.
    pub prompts: Arc<Prompts>,
    /// The models.
    pub router: Arc<Router>,
    /// How much a turn may do.
    pub limits: Limits,
}
