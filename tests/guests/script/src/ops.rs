//! What can a script ask of the agent that calls?

use hames_sdk::agent;
use hames_sdk::bindings::imports::hames::plugin::{kv, wait};
use hames_sdk::error::Error;
use hames_sdk::serde_json::Value;

use crate::values;

/// Does an append, if a verb of the contract does the same; the inner error is the session's.
pub type Append = fn(&Value) -> Result<Option<Result<(), Error>>, Error>;

/// Who acts, and for whom.
pub struct Actor<'a> {
    /// What it is, for errors: `tools` or `listeners`.
    pub what: &'a str,
    /// The agent that calls.
    pub agent: Option<&'a str>,
    /// Whom an op addresses that names nobody.
    pub main: Option<&'a str>,
    /// Whether it may wait.
    pub waits: bool,
    /// What appends are done with, if any are.
    pub append: Option<Append>,
}

impl Actor<'_> {
    /// What the contract has no word for.
    #[must_use]
    pub fn not_in_contract(&self, word: &str) -> Error {
        Error::coded(
            "ScriptError",
            "NOT_IN_CONTRACT",
            format!("the contract has no `{word}` for {}", self.what),
        )
    }

    /// Runs ops in order. What one fails with stops them only if the script says so.
    ///
    /// # Errors
    /// If an op isn't in the contract, or fails and is to be heard of.
    pub fn run(&self, ops: &Value) -> Result<(), Error> {
        for op in ops.as_array().into_iter().flatten() {
            self.one(op)?;
        }
        Ok(())
    }

    fn one(&self, op: &Value) -> Result<(), Error> {
        let word = op["op"].as_str().unwrap_or_default();
        if !self.reaches(op) {
            return Err(self.not_in_contract("agent"));
        }
        let content = || values::blocks(&op["content"]);
        let source = || Some(values::source(&op["source"]));
        let done = match word {
            "send" => agent::send(&content(), source().as_ref(), &values::contexts(&op["contexts"])),
            "steer" => agent::steer(&content(), source().as_ref(), &values::contexts(&op["contexts"])),
            "inject" => {
                let meta = op.get("meta").map(Value::to_string);
                agent::inject(&content(), source().as_ref(), meta.as_deref())
            }
            "cancel" => agent::cancel(),
            "append" => {
                let appended = self.append.and_then(|append| append(op).transpose());
                appended.ok_or_else(|| self.not_in_contract(word))??
            }
            "open" => {
                let gate = op["name"].as_str().or(op["gate"].as_str()).unwrap_or_default();
                kv::set(&gate_key(gate), b"open").map_err(|error| Error::new(format!("{error:?}")))
            }
            "sleep" if self.waits => {
                wait::sleep(op["ms"].as_u64().unwrap_or(0));
                Ok(())
            }
            other => return Err(self.not_in_contract(other)),
        };
        match done {
            Err(error) if op["propagate"] == true => Err(error),
            Err(_) | Ok(()) => Ok(()),
        }
    }

    /// Whether an op is addressed to the agent that calls, the only one there is in the contract.
    fn reaches(&self, op: &Value) -> bool {
        let named = op["agent"].as_str().or(op["session"].as_str());
        match (named, self.main) {
            (Some(named), _) => self.agent == Some(named),
            (None, Some(main)) => self.agent == Some(main) || op["op"] == "sleep" || op["op"] == "open",
            (None, None) => true,
        }
    }
}

/// Waits for a gate that somebody else opens.
///
/// # Errors
/// If the call should end before.
pub fn pass(gate: &str) -> Result<(), Error> {
    let key = gate_key(gate);
    while kv::get(&key)
        .map_err(|error| Error::new(format!("{error:?}")))?
        .is_none()
    {
        if wait::sleep(1) == wait::WaitEnd::Aborted {
            return Err(Error::new("aborted"));
        }
    }
    Ok(())
}

fn gate_key(gate: &str) -> String {
    format!("gates/{gate}")
}
