//! What does one call of 1 KB cost, from the registry through its chain into a fresh sandbox and back, and what does
//! the same work cost elsewhere?

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hames_agent::listeners::Listeners;
use hames_agent::scope::Scope;
use hames_agent::tools::{Caller, Tools};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, first_tool};
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId};
use hames_types::json::Json;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::Trigger;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use serde_json::json;

use crate::elsewhere::{Mcp, once};
use crate::{median, micros};

/// Rounds in which every way has its turn, so that a busy machine is busy for all of them.
const ROUNDS: usize = 40;
const CALLS: usize = 100;
const PROCESSES: usize = 10;

/// The guest's work, natively and in this process.
struct Native(ToolDefinition);

#[async_trait]
impl Tool for Native {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, call: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        let name = call
            .arguments
            .get("name")
            .and_then(Json::as_str)
            .unwrap_or_default();
        Ok(ToolOutput::text(format!("Hello, {name}!")))
    }
}

/// The pipeline with one tool in it.
pub(crate) struct Pipeline {
    tools: Tools,
    scope: Scope,
    trigger: Trigger,
    name: String,
}

impl Pipeline {
    pub(crate) fn with(tool: Arc<dyn Tool>) -> Self {
        let name = tool.definition().schema.name.to_string();
        let tools = Tools::new(Arc::new(Listeners::new()));
        tools.register(None, tool).unwrap();
        Self {
            tools,
            scope: Scope::new(),
            trigger: Trigger::new(),
            name,
        }
    }

    pub(crate) async fn call(&self, arguments: Json) {
        let call = ToolCall {
            call_id: CallId::new("call_0123456789"),
            name: self.name.as_str().into(),
            arguments: Arc::new(arguments),
            agent: Some(SessionId::new("main")),
            at: None,
            parent: None,
        };
        let caller = Caller {
            scope: Some(self.scope.key()),
            signal: self.trigger.signal(),
        };
        let outcome = self.tools.call(call, caller).await;
        assert!(!outcome.is_error, "the call failed");
    }

    async fn timed(&self, times: &mut Vec<Duration>) {
        for _ in 0..CALLS {
            let arguments = arguments();
            let begun = Instant::now();
            self.call(arguments).await;
            times.push(begun.elapsed());
        }
    }
}

/// 1 KB.
pub(crate) fn arguments() -> Json {
    json!({ "name": "x".repeat(1_000) })
}

pub(crate) async fn run() {
    let home = Home::new().unwrap();
    let plain = home.load("hello", guests::plain("hello").unwrap()).await.unwrap();
    let plain = first_tool(&plain).unwrap();
    let native = Pipeline::with(Arc::new(Native(plain.definition().clone())));
    let plain = Pipeline::with(plain);
    let std = home
        .load("hello", guests::wasip2("hello").unwrap())
        .await
        .unwrap();
    let std = Pipeline::with(first_tool(&std).unwrap());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let python = guests::root().join(".ci/cache/peers/sandbox/bin/python");
    let has_python = python.exists();
    let mut mcp = if has_python {
        Some(Mcp::start(&python, &script.join("hello_mcp.py")).await)
    } else {
        println!("no Python peers: run `bash .ci/peers sandbox`");
        None
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_hello-once"));
    let mut times: [Vec<Duration>; 6] = Default::default();
    let text = arguments().to_string();
    for _ in 0..ROUNDS {
        let [in_native, in_plain, in_std, in_process, in_python, in_mcp] = &mut times;
        native.timed(in_native).await;
        plain.timed(in_plain).await;
        std.timed(in_std).await;
        for _ in 0..PROCESSES {
            in_process.push(once(binary, None, &text).await);
        }
        if let Some(mcp) = &mut mcp {
            in_python.push(once(&python, Some(&script.join("hello_once.py")), &text).await);
            for _ in 0..CALLS {
                in_mcp.push(mcp.call(&arguments()).await);
            }
        }
    }
    if let Some(mcp) = mcp {
        mcp.end().await;
    }
    report(&mut times);
}

fn report(times: &mut [Vec<Duration>; 6]) {
    let [native, plain, std, process, python, mcp] = times;
    let own = micros(median(native));
    let sandbox = micros(median(plain));
    println!("| one call of 1 KB, median | µs | against the sandbox |");
    println!("|---|---|---|");
    println!("| through the pipeline to native code | {own:.1} | |");
    println!("| through the pipeline into a fresh sandbox | {sandbox:.1} | 1 |");
    println!("| the sandbox alone: the difference | {:.1} | |", sandbox - own);
    for (what, times) in [
        ("the same guest with WASI's base", std),
        ("a native process for each call", process),
        ("a Python process for each call", python),
        ("a long-lived MCP server in Python", mcp),
    ] {
        if !times.is_empty() {
            let time = micros(median(times));
            println!("| {what} | {time:.1} | {:.1} |", time / sandbox);
        }
    }
}
