//! What would this policy have decided in sessions that are over? Asked again, with nothing at stake.

use std::sync::Arc;

use hames_log::{Log, RecordedSession};
use hames_plugin::{Difference, PluginSpec};
use hames_types::kinds::KindRegistry;
use hames_types::port::plugin::Recorded;
use parking_lot::RwLock;
use serde_json::json;

use super::Named;
use crate::command::Context;
use crate::command::sessions::find;
use crate::compose::{Loader, Setup, Shelf};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};

/// Asks.
pub(super) async fn run(plugin: &str, sessions: &[String], context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let shelf = Shelf::open(&setup.config.store, &setup.place)?;
    let store = shelf.store();
    let mut recorded: Vec<Arc<dyn Recorded>> = Vec::new();
    for typed in sessions {
        let stored = store.load(&find(&*store, typed).await?).await?;
        let log = Log::from_events(stored.events)?;
        recorded.push(Arc::new(RecordedSession::new(stored.header, &log)));
    }
    store.close().await;
    let kinds = Arc::new(RwLock::new(KindRegistry::new()));
    let loader = Loader::new(&setup, None, kinds)?;
    let spec = spec(&setup, &loader, plugin, context)?;
    let found = hames_plugin::backtest(loader.sandbox(), spec, &recorded).await?;
    let output = &context.output;
    for difference in &found.differences {
        tell(difference, output)?;
    }
    let (asked, differences) = (found.asked, found.differences.len());
    if output.is_json() {
        let sessions = recorded.len();
        output.json(&json!({
            "type": "backtest",
            "sessions": sessions,
            "asked": asked,
            "differences": differences,
        }))?;
    } else {
        output.line(format_args!(
            "{asked} questions, {differences} would be decided otherwise"
        ))?;
    }
    Ok(if differences == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// A new version of a configured plugin is tried with that one's configuration and grants.
fn spec(setup: &Setup, loader: &Loader, typed: &str, context: &Context) -> anyhow::Result<PluginSpec> {
    let named = Named::find(setup, typed)?;
    let bare = named.bare()?;
    let mut configured = setup.config.plugins.iter();
    let Some(config) = configured.find(|config| config.id == bare.id) else {
        return Ok(bare);
    };
    let spec = loader.spec(config, &context.environment)?;
    Ok(PluginSpec {
        component: bare.component,
        precompiled: bare.precompiled,
        digest: None,
        ..spec
    })
}

fn tell(difference: &Difference, output: &Output) -> anyhow::Result<()> {
    let Difference {
        session,
        seq,
        point,
        call,
        then,
        now,
    } = difference;
    if output.is_json() {
        output.json(&json!({
            "type": "difference",
            "session": session,
            "seq": seq,
            "point": point.as_str(),
            "call": call,
            "then": then,
            "now": now,
        }))?;
        return Ok(());
    }
    let place = format!("{}#{seq}", visible(session.as_str()));
    output.line(format_args!(
        "{} {}",
        output.paint(Tone::Strong, place),
        point.as_str()
    ))?;
    output.line(format_args!("  then: {}", visible(&then.to_string())))?;
    output.line(format_args!("  now:  {}", visible(&now.to_string())))?;
    Ok(())
}
