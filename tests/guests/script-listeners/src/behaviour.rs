//! What does a scripted listener do when it is asked or told?

use hames_sdk::bindings::imports::hames::plugin::{config, kv, wait};
use hames_sdk::error::Error;
use hames_sdk::serde_json::Value;
use script::ops::Actor;
use script::values;
use script::written::parsed;

/// One invocation of a listener.
pub struct Invocation {
    /// What the script says of it.
    pub does: Value,
    /// Whom ops address that name nobody.
    main: Option<String>,
    /// The agent that calls.
    agent: Option<String>,
    waits: bool,
}

impl Invocation {
    /// The invocation that a script has for this; `None` if it passes through. Counts only what matches.
    ///
    /// # Errors
    /// If invocations can't be counted.
    pub fn of(agent: Option<&str>, facts: &Value, waits: bool) -> Result<Option<Self>, Error> {
        let config = parsed(&config::get());
        let script = &config["listener"];
        let wanted = script["match"].as_object();
        let matches = wanted
            .into_iter()
            .flatten()
            .all(|(key, value)| facts.get(key) == Some(value));
        if !matches {
            return Ok(None);
        }
        let key = format!("invocations/{}", config["number"]);
        let count = kv::increment(&key, 1).map_err(|error| Error::new(format!("{error:?}")))?;
        let own = usize::try_from(count - 1)
            .ok()
            .and_then(|at| script["calls"].get(at))
            .filter(|call| !call.is_null());
        Ok(own.or(script.get("each")).map(|does| Self {
            does: does.clone(),
            main: config["main"].as_str().map(str::to_owned),
            agent: agent.map(str::to_owned),
            waits,
        }))
    }

    /// What comes before an answer: ops, a sleep, the signal, an error.
    ///
    /// # Errors
    /// The script's own, and those of its ops that are to be heard of.
    pub fn begin(&self) -> Result<(), Error> {
        self.ops(&self.does["do"])?;
        if let Some(ms) = self.does["sleep"].as_u64() {
            self.may_wait("sleep")?;
            wait::sleep(ms);
        }
        if let Some(gate) = self.does["gate"].as_str() {
            self.may_wait("gate")?;
            script::ops::pass(gate)?;
        }
        if self.does["untilAbort"] == true {
            self.may_wait("untilAbort")?;
            wait::until_aborted();
        }
        match self.does.get("throw") {
            Some(thrown) => Err(Error::Failed(values::fault(thrown))),
            None => Ok(()),
        }
    }

    /// What comes behind the answer of the rest of the chain.
    ///
    /// # Errors
    /// Those of ops that are to be heard of.
    pub fn finish(&self) -> Result<(), Error> {
        self.ops(&self.does["afterDo"])
    }

    fn ops(&self, ops: &Value) -> Result<(), Error> {
        self.actor().run(ops)
    }

    fn may_wait(&self, word: &str) -> Result<(), Error> {
        if self.waits {
            return Ok(());
        }
        Err(self.actor().not_in_contract(word))
    }

    fn actor(&self) -> Actor<'_> {
        Actor {
            what: "listeners",
            agent: self.agent.as_deref(),
            main: self.main.as_deref(),
            waits: self.waits,
            append: Some(script::surface::replace),
        }
    }
}

/// Whether the script settles a serial question.
///
/// # Errors
/// The script's own.
pub fn consulted(agent: &str, facts: &Value) -> Result<bool, Error> {
    let Some(invocation) = Invocation::of(Some(agent), facts, true)? else {
        return Ok(false);
    };
    invocation.begin()?;
    // Anything but null and false is an answer.
    let answers = !matches!(&invocation.does["return"], Value::Null | Value::Bool(false));
    invocation.finish()?;
    Ok(answers)
}

/// Does what a script does when it is told.
///
/// # Errors
/// The script's own.
pub fn told(agent: Option<&str>, facts: &Value) -> Result<(), Error> {
    match Invocation::of(agent, facts, false)? {
        Some(invocation) => invocation.begin(),
        None => Ok(()),
    }
}
