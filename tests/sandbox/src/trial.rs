//! How does an attack go? Loaded, tried, and judged: the right error, in bounded time, with everything else working.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use hames_plugin::{Limits, PluginSpec};
use hames_types::id::PluginId;
use hames_types::port::tool::Tool;
use hames_types::tool::ExecutionMode;
use serde_json::json;

use crate::attacks::{Attack, Expect};
use crate::home::{Home, call, first_tool, quiet};

/// Everything must end within this, on a machine that does other things as well.
const BOUND: Duration = Duration::from_secs(20);

/// Limits under which attacks end soon.
#[must_use]
pub fn narrow() -> Limits {
    Limits {
        component: 4 << 20,
        memory: 4 << 20,
        table_elements: 40_000,
        call: Duration::from_millis(300),
        start: Duration::from_millis(300),
        list: Duration::from_millis(300),
        classify: Duration::from_millis(300),
        present: Duration::from_millis(50),
        grace: Duration::from_millis(100),
        crossing: 1 << 20,
        output: 64 << 10,
        ..Limits::default()
    }
}

/// Tries an attack. `other` is a tool of another plugin, which must work afterwards.
///
/// # Errors
/// What went otherwise than expected.
pub async fn attempt(home: &Home, attack: &Attack, other: &Arc<dyn Tool>) -> anyhow::Result<()> {
    let begun = Instant::now();
    let judged = judge(home, attack).await;
    // What it declared would be in the way of the next.
    home.kinds.write().withdraw(&PluginId::new("attack"));
    judged.with_context(|| format!("the attack `{}`", attack.name))?;
    let took = begun.elapsed();
    ensure!(took < BOUND, "the attack `{}` took {took:?}", attack.name);
    let answer = other
        .execute(&call(other, json!({})), &quiet())
        .await
        .with_context(|| format!("another plugin, after the attack `{}`", attack.name))?;
    ensure!(answer.content.joined_text() == "ok");
    Ok(())
}

async fn judge(home: &Home, attack: &Attack) -> anyhow::Result<()> {
    let mut spec = PluginSpec::new(PluginId::new("attack"), Arc::clone(&attack.component));
    spec.limits = narrow();
    spec.grant = attack.grant.clone();
    let plugin = match (home.sandbox.load(spec).await, attack.expects) {
        (Err(error), Expect::Refused(code)) => {
            ensure!(
                error.problem.code() == code,
                "{}: {:#}",
                error.problem.code(),
                anyhow::Error::new(error)
            );
            return Ok(());
        }
        (Err(error), _) => return Err(error.into()),
        (Ok(_), Expect::Refused(code)) => bail!("it was loaded instead of refused with {code}"),
        (Ok(plugin), _) => plugin,
    };
    let tool = first_tool(&plugin)?;
    let good = call(&tool, json!({}));
    let behaved = tool.execute(&good, &quiet()).await.is_ok();
    judge_call(&tool, attack.expects).await?;
    if behaved {
        let again = tool.execute(&good, &quiet()).await.context("its next call")?;
        ensure!(again.content.joined_text() == "ok");
    }
    Ok(())
}

async fn judge_call(tool: &Arc<dyn Tool>, expects: Expect) -> anyhow::Result<()> {
    // Long enough to arm the attack, and to make the plugin allocate.
    let arguments = json!({ "attack": "x".repeat(600) });
    let bad = call(tool, arguments.clone());
    match expects {
        Expect::Refused(_) => Ok(()),
        Expect::Succeeds => {
            tool.execute(&bad, &quiet()).await?;
            Ok(())
        }
        Expect::Fails(code) => match tool.execute(&bad, &quiet()).await {
            Ok(_) => bail!("the call succeeded instead of failing with {code}"),
            Err(fault) => {
                ensure!(
                    fault.trusted_code() == Some(code),
                    "{:?}: {}",
                    fault.code(),
                    fault.chain()
                );
                Ok(())
            }
        },
        Expect::Unclassified(code) => match tool.classify(&arguments).await {
            Ok(ExecutionMode::Exclusive | ExecutionMode::Parallel) => bail!("it was classified"),
            Err(fault) => {
                ensure!(
                    fault.trusted_code() == Some(code),
                    "{:?}: {}",
                    fault.code(),
                    fault.chain()
                );
                Ok(())
            }
        },
        Expect::Unseen => {
            ensure!(tool.present_call(&arguments).is_none(), "it was shown");
            Ok(())
        }
    }
}
