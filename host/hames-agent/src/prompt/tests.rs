//! Assembly and rendering of system prompts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, FromJson, JsonMap};
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{AssembleAsk, PromptAssemble};
use hames_types::prompt::PromptAssembly;
use hames_types::request::ToolSchema;
use hames_types::signal::Signal;
use serde_json::json;
use smol_str::SmolStr;

use super::{PromptConfig, PromptContext, Prompts, Section, ToolOrder, ToolOrderError, ToolProvider, render};
use crate::listeners::Listeners;
use crate::scope::Scope;
use hames_log::Place;

fn prompts() -> Prompts {
    Prompts::new(PromptConfig {
        identity: "I".into(),
        ..PromptConfig::default()
    })
    .unwrap()
}

async fn assemble(prompts: &Prompts, scope: Option<&Scope>) -> Result<PromptAssembly, Fault> {
    assemble_with(prompts, &Listeners::new(), scope).await
}

async fn assemble_with(
    prompts: &Prompts,
    listeners: &Listeners,
    scope: Option<&Scope>,
) -> Result<PromptAssembly, Fault> {
    let (provider, model) = (ProviderId::new("p"), ModelId::new("m"));
    let signal = Signal::never();
    let context = PromptContext {
        agent: None,
        scope: scope.map(Scope::key),
        provider: Some(&provider),
        model: Some(&model),
        cwd: None,
        signal: &signal,
    };
    prompts.assemble(listeners, context).await
}

async fn text(prompts: &Prompts, scope: Option<&Scope>) -> String {
    let assembly = assemble(prompts, scope).await.unwrap();
    render(&assembly).unwrap().unwrap_or_default().to_string()
}

fn one_section(text: &str) -> Result<Option<SmolStr>, String> {
    let assembly = PromptAssembly::from_json(json!({
        "sections": [{"name": "s", "text": text}],
        "variables": [
            {"name": "x", "value": "value"},
            {"name": "braces", "value": "{{x}}"},
            {"name": "none"},
            {"name": "constructor", "value": "mine"},
        ],
        "tools": [],
    }))
    .unwrap();
    render(&assembly).map_err(|error| error.to_string())
}

struct Offers(Vec<&'static str>, Vec<&'static str>);

impl ToolProvider for Offers {
    fn tools(&self, _: &PromptContext<'_>) -> Result<Vec<ToolSchema>, Fault> {
        Ok(self.0.iter().map(|name| tool(name)).collect())
    }

    fn known_names(&self, _: &PromptContext<'_>) -> Vec<SmolStr> {
        self.0
            .iter()
            .chain(&self.1)
            .map(|name| SmolStr::from(*name))
            .collect()
    }
}

fn tool(name: &str) -> ToolSchema {
    ToolSchema {
        name: name.into(),
        description: SmolStr::default(),
        parameters: Arc::new(JsonMap::new()),
        extra: Extra::NONE,
    }
}

fn names(assembly: &PromptAssembly) -> Vec<&str> {
    assembly.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn ordered(order: &[&str]) -> Prompts {
    Prompts::new(PromptConfig {
        tool_order: ToolOrder::listed(order.iter().map(|name| SmolStr::from(*name)).collect()).unwrap(),
        ..PromptConfig::default()
    })
    .unwrap()
}

#[tokio::test]
async fn r_sys_1_and_2_sections_stand_by_order_then_by_registration() {
    let prompts = prompts();
    for (name, order) in [
        ("late", 150.0),
        ("b", 10.0),
        ("a", 10.0),
        ("early", -50.0),
        ("empty", 1.0),
    ] {
        let text = if name == "empty" { "" } else { name };
        prompts.section(None, Section::fixed(name, order, text)).unwrap();
    }
    assert_eq!(text(&prompts, None).await, "I\n\nearly\n\nb\n\na\n\nlate");
}

#[tokio::test]
async fn r_sys_2_a_scoped_section_replaces_the_global_one_before_either_is_evaluated() {
    let (prompts, scope, made) = (prompts(), Scope::new(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&made);
    let global = Section::made("s", 5.0, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok("global".into())
    });
    prompts.section(None, global).unwrap();
    prompts
        .section(Some(&scope), Section::fixed("s", 5.0, "scoped"))
        .unwrap();

    assert_eq!(text(&prompts, Some(&scope)).await, "I\n\nscoped");
    assert_eq!(made.load(Ordering::Relaxed), 0);
    assert_eq!(text(&prompts, None).await, "I\n\nglobal");
    prompts.end_scope(scope.key());
    assert_eq!(text(&prompts, Some(&scope)).await, "I\n\nglobal");
}

#[test]
fn r_sys_1_and_3_bad_orders_and_names_are_refused() {
    let prompts = prompts();
    for order in [f64::NAN, f64::INFINITY] {
        prompts
            .section(None, Section::fixed("s", order, "x"))
            .unwrap_err();
    }
    for name in ["", "Upper", "1st", "a-b", "a b", "é"] {
        prompts.variable(None, name, |_| Ok(None)).unwrap_err();
    }
    let duplicate = prompts.variable(None, "cwd", |_| Ok(None)).unwrap_err();
    assert_eq!(duplicate.code(), Some("DUPLICATE"));
}

#[tokio::test]
async fn r_sys_3_a_scoped_variable_overrides_and_a_variable_may_have_no_value() {
    let (prompts, scope) = (prompts(), Scope::new());
    prompts
        .section(None, Section::fixed("s", 1.0, "{{provider}} {{model}}"))
        .unwrap();
    prompts
        .variable(Some(&scope), "model", |_| Ok(Some("other".into())))
        .unwrap();

    assert_eq!(text(&prompts, None).await, "I\n\np m");
    assert_eq!(text(&prompts, Some(&scope)).await, "I\n\np other");
    let assembly = assemble(&prompts, None).await.unwrap();
    let cwd = assembly
        .variables
        .iter()
        .find(|known| known.name == "cwd")
        .unwrap();
    assert_eq!(cwd.value, None);
}

#[tokio::test]
async fn r_scope_8_a_variable_registered_while_variables_are_evaluated_is_evaluated_too() {
    let prompts = Arc::new(prompts());
    let weak = Arc::downgrade(&prompts);
    prompts
        .variable(None, "first", move |_| {
            // The second assembly finds it there already, which is as well.
            let _ = weak
                .upgrade()
                .map(|prompts| prompts.variable(None, "second", |_| Ok(Some("2".into()))));
            Ok(Some("1".into()))
        })
        .unwrap();
    prompts
        .section(None, Section::fixed("s", 1.0, "{{second}}"))
        .unwrap();

    assert_eq!(text(&prompts, None).await, "I\n\n2");
}

#[tokio::test]
async fn r_sys_4_and_5_tools_come_from_all_providers_and_are_sorted_by_code_units() {
    let (prompts, scope) = (prompts(), Scope::new());
    // U+FF5E is one code unit 0xFF5E; U+1F600 is two, the first 0xD83D: by bytes they would stand the other way.
    let global = Offers(vec!["b", "\u{FF5E}", "a", "B"], vec![]);
    prompts.tools(None, Arc::new(global)).unwrap();
    prompts
        .tools(Some(&scope), Arc::new(Offers(vec!["\u{1F600}", "a"], vec![])))
        .unwrap();

    assert_eq!(
        names(&assemble(&prompts, Some(&scope)).await.unwrap()),
        ["B", "a", "a", "b", "\u{1F600}", "\u{FF5E}"]
    );
    assert_eq!(
        names(&assemble(&prompts, None).await.unwrap()),
        ["B", "a", "b", "\u{FF5E}"]
    );
}

#[tokio::test]
async fn r_sys_5_a_listed_order_holds_and_the_marker_takes_the_rest() {
    let prompts = ordered(&["zeta", "hidden", "<unlisted-tools>", "alpha"]);
    let offers = Offers(vec!["gamma", "alpha", "beta", "zeta"], vec!["hidden"]);
    prompts.tools(None, Arc::new(offers)).unwrap();

    let assembly = assemble(&prompts, None).await.unwrap();
    assert_eq!(names(&assembly), ["zeta", "beta", "gamma", "alpha"]);
}

#[tokio::test]
async fn r_sys_5_an_unknown_name_in_the_order_is_an_error_that_names_the_known_ones() {
    let prompts = ordered(&["ghost", "<unlisted-tools>"]);
    prompts
        .tools(None, Arc::new(Offers(vec!["b", "a"], vec![])))
        .unwrap();

    let fault = assemble(&prompts, None).await.unwrap_err();
    assert!(
        fault.message().contains("ghost") && fault.message().contains("a, b"),
        "{fault}"
    );
    assert_eq!(fault.code(), None);
}

#[tokio::test]
async fn r_sys_5_no_tool_may_bear_the_marker_s_name() {
    let prompts = prompts();
    prompts
        .tools(None, Arc::new(Offers(vec!["<unlisted-tools>"], vec![])))
        .unwrap();
    assemble(&prompts, None).await.unwrap_err();
}

#[test]
fn r_sys_9_a_bad_order_is_refused_when_it_is_made() {
    let order = |names: &[&str]| ToolOrder::listed(names.iter().map(|name| SmolStr::from(*name)).collect());
    assert_eq!(order(&["a"]), Err(ToolOrderError::NoMarker));
    assert_eq!(
        order(&["a", "<unlisted-tools>", "a"]),
        Err(ToolOrderError::Duplicate("a".into()))
    );
    let twice = order(&["<unlisted-tools>", "<unlisted-tools>"]);
    assert_eq!(twice, Err(ToolOrderError::Duplicate("<unlisted-tools>".into())));
}

/// Reverses the tools and drops the sections.
struct Rewrites;

#[async_trait]
impl Decide<PromptAssemble> for Rewrites {
    async fn decide(&self, _: &AssembleAsk, next: Next<'_, PromptAssemble>) -> Result<PromptAssembly, Fault> {
        let mut assembly = next.run().await?;
        assembly.tools.reverse();
        assembly.sections.clear();
        Ok(assembly)
    }
}

#[tokio::test]
async fn r_sys_6_a_listener_s_answer_counts_as_it_is_and_leaks_into_no_other() {
    let (prompts, listeners) = (prompts(), Listeners::new());
    prompts
        .tools(None, Arc::new(Offers(vec!["b", "a"], vec![])))
        .unwrap();
    let id = listeners.add::<PromptAssemble>(None, Place::Last, Arc::new(Rewrites));

    let rewritten = assemble_with(&prompts, &listeners, None).await.unwrap();
    assert_eq!(names(&rewritten), ["b", "a"]);
    assert_eq!(render(&rewritten), Ok(None));

    listeners.remove::<PromptAssemble>(id);
    let plain = assemble_with(&prompts, &listeners, None).await.unwrap();
    assert_eq!(names(&plain), ["a", "b"]);
    assert_eq!(render(&plain).unwrap().unwrap(), "I");
}

#[test]
fn r_sys_7_and_8_groups_are_filled_in_once_and_strictly() {
    let cases = [
        ("a {{x}} b {{x}}", Ok("a value b value")),
        ("{{braces}}", Ok("{{x}}")),
        ("{{constructor}}", Ok("mine")),
        ("a {{ b", Ok("a {{ b")),
        ("{{x}} then {{", Ok("value then {{")),
        ("}} {{x}}", Ok("}} value")),
        ("a {{ b }} {{x}}", Err("names no variable")),
        ("{{}}", Err("names no variable")),
        ("{{X}}", Err("names no variable")),
        ("{{ x}}", Err("names no variable")),
        ("{{{x}}}", Err("names no variable")),
        ("{{nobody}}", Err("nobody registered")),
        ("{{tostring}}", Err("nobody registered")),
        ("{{none}}", Err("no value")),
    ];
    for (text, expected) in cases {
        match (one_section(text), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), Some(expected), "{text}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn r_sys_7_nothing_to_say_is_no_system_prompt() {
    assert_eq!(one_section(""), Ok(None));
}
