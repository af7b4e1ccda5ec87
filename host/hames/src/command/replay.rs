//! `hames replay ID`: does a stored session still lead to the requests it led to? Run again, turn by turn, against its
//! own recorded model and its own recorded tool results. No tool runs, no plugin is loaded, nothing is stored.
//!
//! What comes from outside the loop is taken from the log: prompts, chunks, results, steering, contexts, the header's
//! prompt and tools. What the loop makes of it (which step follows, what each request holds) is compared with what the
//! log says it was.
//!
//! | each line of `--json` | |
//! |---|---|
//! | `{"type": "turn", "turn", "requests"}` | a turn whose requests came out the same |
//! | `{"type": "difference", "turn", "step", "place", "recorded", "replayed"}` | the first one; the last line but one |
//! | `{"type": "replay", "session", "turns", "requests", "same"}` | the last line |

mod compare;
mod player;
mod score;

use std::io;

use hames_types::id::TurnNo;
use hames_types::port::store::StoredSession;
use serde_json::json;

pub use self::compare::Difference;
use self::score::Score;
use super::Context;
use super::sessions::find;
use crate::compose::{Setup, Shelf};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};

/// How much of either side of a difference is shown to a person, in characters.
const SHOWN: usize = 400;

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's id, a beginning of it, or `last`
    id: String,
}

/// What a replay came to.
#[derive(Debug)]
pub struct Replayed {
    /// How many turns came out the same.
    pub turns: usize,
    /// How many requests did.
    pub requests: usize,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// Replays a session.
///
/// # Errors
/// If it can't be read or can't be replayed.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let shelf = Shelf::open(&setup.config.store, &setup.place)?;
    let store = shelf.store();
    let id = find(&*store, &args.id).await?;
    let stored = store.load(&id).await?;
    store.close().await;
    let output = &context.output;
    let replayed = replay(&stored, |turn, requests| {
        if output.is_json() {
            output.json(&json!({"type": "turn", "turn": turn, "requests": requests}))?;
        }
        Ok(())
    });
    let Replayed {
        turns,
        requests,
        difference,
    } = replayed.await?;
    let same = difference.is_none();
    if let Some(found) = &difference {
        tell(found, output)?;
    }
    if output.is_json() {
        output.json(
            &json!({"type": "replay", "session": id, "turns": turns, "requests": requests, "same": same}),
        )?;
    } else if same {
        let text = format!(
            "{}: {requests} requests in {turns} turns came out the same",
            visible(id.as_str())
        );
        output.line(output.paint(Tone::Good, text))?;
    }
    Ok(if same { Exit::Done } else { Exit::Different })
}

/// Runs the turns of a stored session again, up to the first difference, and tells of each that came out the same.
///
/// # Errors
/// If it can't be replayed, or `told` fails.
pub async fn replay(
    stored: &StoredSession,
    mut told: impl FnMut(TurnNo, usize) -> io::Result<()>,
) -> anyhow::Result<Replayed> {
    let mut replayed = Replayed {
        turns: 0,
        requests: 0,
        difference: None,
    };
    for score in Score::turns(stored)? {
        let played = player::play(stored, &score).await?;
        replayed.requests += played.requests;
        replayed.difference = played.difference;
        if replayed.difference.is_some() {
            break;
        }
        replayed.turns += 1;
        told(score.turn, played.requests)?;
    }
    Ok(replayed)
}

fn tell(found: &Difference, output: &Output) -> anyhow::Result<()> {
    if output.is_json() {
        output.json(&json!({
            "type": "difference",
            "turn": found.turn,
            "step": found.step,
            "place": found.place,
            "recorded": found.recorded,
            "replayed": found.replayed,
        }))?;
        return Ok(());
    }
    let place = format!(
        "turn {}, step {}: `{}` differs",
        found.turn, found.step, found.place
    );
    output.line(output.paint(Tone::Bad, place))?;
    for (name, side) in [("recorded", &found.recorded), ("replayed", &found.replayed)] {
        let text: String = side.to_string().chars().take(SHOWN).collect();
        output.line(format_args!("  {name}: {}", visible(&text)))?;
    }
    Ok(())
}
