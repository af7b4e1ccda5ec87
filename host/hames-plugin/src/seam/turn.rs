//! How do the seams at the end of a step cross: does the turn go on?

use hames_types::decision::{ContinuationDecision, Continue, ContinueReason};
use hames_types::json::{Extra, Json};
use hames_types::port::seam::{ContinuationAsk, TurnContinuation};

use super::asks::value;
use super::{Around, Viewer, crosses, merge};
use crate::bindings::exports::hames::plugin as ask;
use crate::bindings::hames::plugin::decisions as wit;
use crate::convert::content::{admit_blocks, admit_source, blocks, source};
use crate::convert::{Admit, Refused, Shown};

impl Around for TurnContinuation {
    crosses!(on_turn_continuation, turn_continuation, TurnContinuation, ContinuationAsk => wit::ContinuationDecision);

    fn ask(ask: &ContinuationAsk, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_turn_continuation::ContinuationAsk {
            agent: ask.at.agent.to_string(),
            turn: ask.at.turn.get(),
            default: Self::show(&ask.default, viewer)?,
            stop_hook_active: ask.stop_hook_active,
            extra: None,
        })
    }

    fn show(answer: &ContinuationDecision, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(match answer {
            ContinuationDecision::Stop(_) => wit::ContinuationDecision::Stop,
            ContinuationDecision::Continue(more) => {
                wit::ContinuationDecision::Continue(more.reason.as_ref().map(reason).transpose()?)
            }
        })
    }

    fn admit<'a>(
        admit: Admit<'a>,
        ask: &'a ContinuationAsk,
        rest: Option<&'a ContinuationDecision>,
        answer: Self::WitAnswer,
    ) -> Result<ContinuationDecision, Refused> {
        let found = match answer {
            wit::ContinuationDecision::Stop => return Ok(ContinuationDecision::STOP),
            wit::ContinuationDecision::Continue(None) => return Ok(ContinuationDecision::CONTINUE),
            wit::ContinuationDecision::Continue(Some(found)) => found,
        };
        let known: Vec<&ContinueReason> = std::iter::once(&ask.default)
            .chain(rest)
            .filter_map(|known| match known {
                ContinuationDecision::Continue(more) => more.reason.as_ref(),
                ContinuationDecision::Stop(_) => None,
            })
            .collect();
        // Handed on as it was, whoever said it.
        let same = known
            .iter()
            .find(|known| reason(known).is_ok_and(|shown| shown == found));
        let reason = match same {
            Some(same) => ContinueReason::clone(same),
            None => {
                let contents = known.iter().map(|known| &known.content).collect();
                let mut admit = admit.recognising(Shown {
                    contexts: Vec::new(),
                    contents,
                });
                ContinueReason {
                    content: admit_blocks(&mut admit, found.content)
                        .map_err(|refused| refused.inside("content"))?,
                    source: admit_source(&mut admit, found.source)
                        .map_err(|refused| refused.inside("source"))?,
                    extra: Extra::NONE,
                }
            }
        };
        Ok(ContinuationDecision::Continue(Continue {
            reason: Some(reason),
            extra: Extra::NONE,
        }))
    }

    fn is_strictest(answer: &ContinuationDecision) -> bool {
        matches!(answer, ContinuationDecision::Stop(_))
    }

    fn stricter(own: ContinuationDecision, rest: ContinuationDecision) -> ContinuationDecision {
        merge::continuation(own, rest)
    }

    fn record(answer: &ContinuationDecision) -> Json {
        value(answer)
    }
}

fn reason(reason: &ContinueReason) -> wasmtime::Result<wit::ContinueReason> {
    Ok(wit::ContinueReason {
        content: blocks(&reason.content)?,
        source: source(&reason.source)?,
    })
}
