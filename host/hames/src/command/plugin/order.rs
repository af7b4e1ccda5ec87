//! Who is asked where, and in which order?

use std::sync::Arc;

use hames_plugin::{Listing, OnFailure, Phase, PointKind, listings};
use hames_types::kinds::KindRegistry;
use parking_lot::RwLock;
use serde_json::json;

use crate::command::Context;
use crate::compose::{Loader, Setup};
use crate::exit::Exit;
use crate::output::{Tone, visible};

/// Lists every listener of the configured plugins, point by point, as a run would ask them.
pub(super) async fn run(context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let loader = Loader::new(&setup, None, Arc::new(RwLock::new(KindRegistry::new())))?;
    let loaded = loader.load_all(&setup, context).await?;
    let listings = listings(&loaded.plugins());
    let output = &context.output;
    if listings.is_empty() && !output.is_json() {
        output.note("no configured plugin listens anywhere");
    }
    for listing in &listings {
        let is_told = listing.point.kind() == PointKind::Observer;
        if output.is_json() {
            output.json(&json!({
                "type": "listener",
                "point": listing.point.as_str(),
                "plugin": listing.plugin,
                "phase": phase(listing),
                "authority": if is_told { "none" } else if listing.is_full { "full" } else { "restrict" },
                "onFailure": if is_told { None } else { Some(failure(listing)) },
            }))?;
            continue;
        }
        let rest = if is_told {
            format!("{}, is told", phase(listing))
        } else {
            let authority = if listing.is_full {
                "full authority"
            } else {
                "may restrict"
            };
            format!("{}, {authority}, fails {}", phase(listing), failure(listing))
        };
        output.line(format_args!(
            "{}  {}  {}",
            output.paint(Tone::Strong, listing.point.as_str()),
            visible(listing.plugin.as_str()),
            output.paint(Tone::Dim, &rest)
        ))?;
    }
    Ok(Exit::Done)
}

fn phase(listing: &Listing) -> &'static str {
    match listing.phase {
        Phase::Early => "early",
        Phase::Normal => "normal",
        Phase::Late => "late",
    }
}

fn failure(listing: &Listing) -> &'static str {
    match listing.on_failure {
        OnFailure::Closed => "closed",
        OnFailure::Open => "open",
    }
}
