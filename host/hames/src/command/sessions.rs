//! `hames sessions …`: what is stored, read, searched, copied, moved and removed.
//!
//! A session is named by its id or by a beginning of it that only one has; `last` is the newest.
//!
//! | command | each line of `--json` |
//! |---|---|
//! | `list` | `{"type": "session", "id", "createdAt", "cwd"?, "parentSession"?, "seedLength"?}`, newest first |
//! | `show` | the first line of `list`, then each event as it is stored: `{"type", "seq", "time", "data", …}` |
//! | `search` | `{"type": "hit", "session", "seq", "kind", "excerpt"}`, best first |
//! | `fork` | `{"type": "forked", "id", "from", "events"}` |
//! | `export` | `{"type": "exported", "id", "file", "bytes"}`; to standard output the log itself and nothing else |
//! | `import` | `{"type": "imported", "id", "file"}` |
//! | `delete` | `{"type": "deleted", "id"}` |

mod list;
mod show;
mod transfer;

use anyhow::Context as _;
use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::port::store::Store;

use super::Context;
use crate::compose::{Setup, Shelf};
use crate::exit::{Ended, Exit};

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the stored sessions, newest first
    List {
        /// Print at most this many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// Print all of them
        #[arg(long, conflicts_with = "limit")]
        all: bool,
    },
    /// Print what was said and done in a session
    Show {
        /// The session's id, a beginning of it, or `last`
        id: String,
        /// Print every event of the log instead
        #[arg(long)]
        events: bool,
    },
    /// Find where something was said
    Search {
        /// The words, all of which must occur; "words in quotes" next to each other
        #[arg(required = true)]
        words: Vec<String>,
        /// Print at most this many, 200 at the most
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Make a new session of a part of one, from its beginning to the end of a turn
    Fork {
        /// The session's id, a beginning of it, or `last`
        id: String,
        /// The last turn to take over; all that are ended if absent
        #[arg(long, value_name = "N")]
        turn: Option<u64>,
        /// The new session's id
        #[arg(long = "as", value_name = "ID")]
        new: Option<String>,
    },
    /// Write a session as a readable log
    Export {
        /// The session's id, a beginning of it, or `last`
        id: String,
        /// The file; standard output if absent
        file: Option<std::path::PathBuf>,
        /// Write runs of chunks in rows, a tenth of the size
        #[arg(long)]
        packed: bool,
    },
    /// Store a readable log as a session
    Import {
        /// The file; `-` is standard input
        file: std::path::PathBuf,
    },
    /// Remove sessions for good
    Delete {
        /// The sessions' whole ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Don't ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Does it.
///
/// # Errors
/// If the store can't be opened, or hasn't the session.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let shelf = Shelf::open(&setup.config.store, &setup.place)?;
    let output = &context.output;
    let done = match args.what {
        What::List { limit, all } => list::list(&shelf, if all { usize::MAX } else { limit }, output).await,
        What::Show { id, events } => show::show(&shelf, &id, events, output).await,
        What::Search { words, limit } => list::search(&shelf, &words.join(" "), limit, output).await,
        What::Fork { id, turn, new } => transfer::fork(&shelf, &id, turn, new, output).await,
        What::Export { id, file, packed } => {
            transfer::export(&shelf, &id, file.as_deref(), packed, output).await
        }
        What::Import { file } => transfer::import(&shelf, &file, output).await,
        What::Delete { ids, yes } => transfer::delete(&shelf, &ids, yes, output).await,
    };
    shelf.store().close().await;
    done
}

/// The session that `typed` names.
///
/// # Errors
/// If none is or several are.
pub(super) async fn find(store: &dyn Store, typed: &str) -> anyhow::Result<SessionId> {
    let exact = SessionId::new(typed);
    if store.header(&exact).await.is_ok() {
        return Ok(exact);
    }
    let mut headers = store.list().await?;
    sort(&mut headers);
    if typed == "last" {
        let newest = headers.into_iter().next().map(|header| header.id);
        return newest
            .ok_or(Ended(Exit::Store))
            .context("no session is stored yet");
    }
    let mut named = headers
        .iter()
        .filter(|header| header.id.as_str().starts_with(typed));
    match (named.next(), named.next()) {
        (Some(one), None) => Ok(one.id.clone()),
        (Some(one), Some(other)) => Err(anyhow::Error::new(Ended(Exit::Store)).context(format!(
            "`{typed}` is the beginning of several sessions, {} and {} among them; type more of it",
            one.id, other.id
        ))),
        (None, _) => Err(anyhow::Error::new(Ended(Exit::Store)).context(format!(
            "no session `{typed}` is stored; `hames sessions list` prints those that are"
        ))),
    }
}

/// Newest first; of one time by id.
fn sort(headers: &mut [SessionHeader]) {
    headers.sort_by(|one, other| {
        let time = |header: &SessionHeader| header.fields.created_at_ms.as_f64().unwrap_or(0.0);
        time(other)
            .total_cmp(&time(one))
            .then_with(|| other.id.cmp(&one.id))
    });
}
