//! Cards: what they are, and what has none.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::json::{Extra, Json, JsonMap, to_json};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput, ToolView};
use serde_json::json;

use super::{MAX_CARD_BYTES, claimed, diff, generic, terminal};
use crate::listeners::Listeners;
use crate::schema::{ArgSpec, Kind, Property, SpecTool};
use crate::tools::Tools;

struct Shell(ToolDefinition);

#[async_trait]
impl Tool for Shell {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::default())
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        Some(terminal(arguments["command"].as_str()?, None, None, None))
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        let exit = meta?.get("exit")?.as_i64()?.try_into().ok()?;
        let output = content.joined_text().into();
        Some(terminal(
            arguments["command"].as_str()?,
            None,
            Some(output),
            Some(exit),
        ))
    }
}

fn tools() -> Tools {
    let definition = ToolDefinition {
        schema: ToolSchema {
            name: "shell".into(),
            description: "".into(),
            parameters: Arc::new(JsonMap::new()),
            extra: Extra::NONE,
        },
        timeout_ms: None,
    };
    let spec = ArgSpec::new().with("command", Property::new(Kind::String).required());
    let tools = Tools::new(Arc::new(Listeners::new()));
    tools
        .register(None, Arc::new(SpecTool::new(spec, Shell(definition))))
        .unwrap();
    tools
}

#[test]
fn r_schema_5_a_logged_call_and_its_result_have_their_cards() {
    let tools = tools();
    let arguments = "{\"command\":\"ls\"}";
    assert_eq!(
        to_json(&tools.present_call(None, "shell", arguments)).unwrap(),
        json!({"kind": "terminal", "command": "ls"})
    );
    let result = tools.present_result(
        None,
        ("shell", arguments),
        &Content::text("a\n"),
        Some(&json!({"exit": 1})),
    );
    assert_eq!(
        to_json(&result).unwrap(),
        json!({"kind": "terminal", "command": "ls", "output": "a\n", "exitCode": 1})
    );
}

#[test]
fn r_schema_5_what_cannot_be_shown_has_no_card() {
    let tools = tools();
    for (name, arguments) in [
        ("shell", "{}"),
        ("shell", "not json"),
        ("shell", ""),
        ("gone", "{}"),
    ] {
        assert_eq!(
            tools.present_call(None, name, arguments),
            None,
            "{name} {arguments}"
        );
        let result = tools.present_result(
            None,
            (name, arguments),
            &Content::empty(),
            Some(&json!({"exit": 1})),
        );
        assert_eq!(result, None);
    }
    let long = format!("{{\"command\":\"{}\"}}", "x".repeat(MAX_CARD_BYTES + 1));
    assert_eq!(tools.present_call(None, "shell", &long), None);
}

#[test]
fn r_schema_5_a_claimed_card_is_checked_softly() {
    for view in [
        generic("t", Some("b".into())),
        diff("p", None, "new"),
        terminal("c", None, None, Some(-1)),
    ] {
        assert_eq!(claimed(to_json(&view).unwrap()), Some(view));
    }
    for bad in [
        json!(null),
        json!({"kind": "movie"}),
        json!({"kind": "diff", "path": "p"}),
        json!({"kind": "generic", "title": "x".repeat(MAX_CARD_BYTES + 1)}),
    ] {
        assert_eq!(claimed(bad), None);
    }
}
