//! The smallest listener, as the SDK's own page shows it.

use hames_sdk::prelude::*;

struct NoForce;

#[plugin]
impl Plugin for NoForce {
    fn on_pre_execute(ask: PreExecuteAsk, next: Next<PreExecute>) -> Decision<PreExecute> {
        if ask.call.arguments.contains("--force") {
            return Ok(PreToolDecision::Deny("nothing is forced here".to_owned()));
        }
        next.run()
    }
}
