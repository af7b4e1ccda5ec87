//! Tests of the exchange: there and back is the same tool.

use std::sync::Arc;

use hames_types::id::{ModelId, ProviderId};
use hames_types::json::Extra;
use hames_types::message::History;
use hames_types::request::{CallConfig, Request, ToolSchema};

use super::{COMMON_RULE, NameRule, Names};

fn request(tools: &[&str]) -> Request {
    let schema = |name: &&str| ToolSchema {
        name: (*name).into(),
        description: "d".into(),
        parameters: Arc::new(serde_json::Map::new()),
        extra: Extra::NONE,
    };
    Request {
        config: CallConfig::new(ProviderId::new("p"), ModelId::new("m")),
        system: None,
        tools: Some(Arc::new(tools.iter().map(schema).collect())),
        messages: History::new(),
        session_id: None,
        purpose: None,
    }
}

#[test]
fn every_name_comes_back_as_it_was_and_no_two_are_one_on_the_wire() {
    let long = "x".repeat(200);
    let longer = format!("{long}y");
    let tools = [
        "read", "fs.read", "fs/read", "fs_read", "名前", &long, &longer, "a-b",
    ];
    let names = Names::of(&request(&tools), &COMMON_RULE);
    let mut wires: Vec<&str> = tools.iter().map(|tool| names.wire(tool)).collect();
    for (tool, wire) in tools.iter().zip(&wires) {
        assert!(COMMON_RULE.allows(wire), "{wire}");
        assert_eq!(names.ours(wire), *tool);
    }
    assert_eq!(names.wire("read"), "read");
    assert_eq!(names.wire("fs_read"), "fs_read");
    wires.sort_unstable();
    wires.dedup();
    assert_eq!(wires.len(), tools.len());
}

#[test]
fn a_provider_may_want_a_letter_first() {
    let rule = NameRule {
        letter_first: true,
        also: &['.', ':'],
        ..COMMON_RULE
    };
    let names = Names::of(&request(&["7up", "a.b:c", "-x"]), &rule);
    assert_eq!(names.wire("a.b:c"), "a.b:c");
    for odd in ["7up", "-x"] {
        assert!(names.wire(odd).starts_with('_'), "{}", names.wire(odd));
        assert_eq!(names.ours(names.wire(odd)), odd);
    }
}
