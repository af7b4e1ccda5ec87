//! Who sees which tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::scope::ScopeKey;
use hames_types::tool::ExecutionMode;
use serde_json::{Number, json};
use smol_str::SmolStr;

use super::{Bench, Scripted, tool};
use crate::layers::OnChange;
use crate::scope::Scope;
use crate::tools::{Restriction, Tools};

fn registry(names: &[&'static str]) -> Arc<Tools> {
    let tools = Bench::new().tools;
    for name in names {
        tools.register(None, tool(name)).unwrap();
    }
    tools
}

fn names(tools: &Tools, scope: Option<&Scope>) -> Vec<String> {
    let schemas = tools.schemas(scope.map(Scope::key));
    schemas.iter().map(|schema| schema.name.to_string()).collect()
}

fn list(names: &[&str]) -> Vec<SmolStr> {
    names.iter().map(|name| SmolStr::from(*name)).collect()
}

#[test]
fn r_reg_1_a_scoped_tool_shadows_the_global_one_whichever_came_first() {
    for scoped_first in [true, false] {
        let (tools, scope) = (registry(&[]), Scope::new());
        let (own, global) = (tool("t"), tool("t"));
        if scoped_first {
            tools.register(Some(&scope), Arc::clone(&own) as _).unwrap();
        }
        tools.register(None, Arc::clone(&global) as _).unwrap();
        if !scoped_first {
            tools.register(Some(&scope), Arc::clone(&own) as _).unwrap();
        }
        let found = |key: Option<ScopeKey>| Arc::as_ptr(&tools.find(key, "t").unwrap()).cast::<Scripted>();
        assert_eq!(found(Some(scope.key())), Arc::as_ptr(&own));
        assert_eq!(found(Some(Scope::new().key())), Arc::as_ptr(&global));
        assert_eq!(found(None), Arc::as_ptr(&global));
    }
}

struct Counts(AtomicUsize, bool);

impl OnChange for Counts {
    fn changed(&self) -> Result<(), Fault> {
        self.0.fetch_add(1, Ordering::Relaxed);
        if self.1 {
            return Err(Fault::foreign("no"));
        }
        Ok(())
    }
}

#[test]
fn r_reg_1_duplicates_bad_timeouts_and_refused_changes_register_nothing() {
    let tools = registry(&["a"]);
    assert_eq!(
        tools.register(None, tool("a")).unwrap_err().code(),
        Some("DUPLICATE")
    );
    for timeout in ["0", "-1", "1e999"] {
        let mut timed = super::tool_with("timed", |_, _| async { Ok(super::ToolOutput::default()) });
        timed.definition.timeout_ms = Some(timeout.parse::<Number>().unwrap());
        let fault = tools.register(None, Arc::new(timed)).unwrap_err();
        assert_eq!(fault.code(), Some("INVALID_TIMEOUT"), "{timeout}");
    }
    let refuses = tools.on_change(Arc::new(Counts(AtomicUsize::new(0), true)));
    assert_eq!(tools.register(None, tool("b")).unwrap_err().message(), "no");
    assert_eq!(names(&tools, None), ["a"]);
    tools.remove_on_change(refuses);
    tools.register(None, tool("b")).unwrap();
}

#[test]
fn r_reg_1_and_6_every_change_is_told_but_guards_are_none() {
    let (tools, scope) = (registry(&[]), Scope::new());
    let counts = Arc::new(Counts(AtomicUsize::new(0), false));
    tools.on_change(Arc::clone(&counts) as _);
    let told = || counts.0.load(Ordering::Relaxed);

    let entry = tools.register(None, tool("a")).unwrap();
    assert_eq!(told(), 1);
    let restriction = tools.restrict(&scope, Restriction::deny(list(&["a"]))).unwrap();
    assert_eq!(told(), 2);
    let guard = tools.guard(None, Arc::new(super::Says(Ok(None)))).unwrap();
    tools.unregister(guard);
    assert_eq!(told(), 2);
    tools.unregister(restriction);
    tools.unregister(entry);
    tools.unregister(entry);
    assert_eq!(told(), 4);
}

#[test]
fn r_reg_2_a_restriction_says_something_about_global_tools() {
    let (tools, scope) = (registry(&["a", "b"]), Scope::new());
    tools.register(Some(&scope), tool("own")).unwrap();
    for refused in [
        Restriction::default(),
        Restriction::allow(list(&["ghost"])),
        Restriction::deny(list(&["own"])),
        Restriction::allow(list(&["a"])).and_deny(list(&["ghost"])),
    ] {
        let fault = tools.restrict(&scope, refused.clone()).unwrap_err();
        assert_eq!(fault.code(), Some("INVALID_RESTRICTION"), "{refused:?}");
    }
    let fault = tools
        .restrict(&scope, Restriction::deny(list(&["ghost"])))
        .unwrap_err();
    assert!(fault.message().contains("a, b"), "{fault}");
}

#[test]
fn r_reg_3_restrictions_intersect_are_live_and_lift_one_by_one() {
    let (tools, scope) = (registry(&["a", "b", "c"]), Scope::new());
    tools.register(Some(&scope), tool("own")).unwrap();
    let allow = tools
        .restrict(&scope, Restriction::allow(list(&["a", "b"])))
        .unwrap();
    let deny = tools.restrict(&scope, Restriction::deny(list(&["a"]))).unwrap();

    assert_eq!(names(&tools, Some(&scope)), ["b", "own"]);
    assert_eq!(names(&tools, None), ["a", "b", "c"]);
    tools.register(None, tool("late")).unwrap();
    assert_eq!(names(&tools, Some(&scope)), ["b", "own"]);
    tools.unregister(allow);
    assert_eq!(names(&tools, Some(&scope)), ["b", "c", "late", "own"]);
    tools.unregister(deny);
    assert_eq!(names(&tools, Some(&scope)), ["a", "b", "c", "late", "own"]);
}

#[test]
fn r_reg_4_a_view_keeps_the_place_of_what_is_shadowed_even_if_the_global_one_is_hidden() {
    let (tools, scope) = (registry(&["a", "b", "c"]), Scope::new());
    tools.register(Some(&scope), tool("own")).unwrap();
    tools.register(Some(&scope), tool("b")).unwrap();
    assert_eq!(names(&tools, Some(&scope)), ["a", "b", "c", "own"]);

    tools
        .restrict(&scope, Restriction::deny(list(&["b", "c"])))
        .unwrap();
    assert_eq!(names(&tools, Some(&scope)), ["a", "own", "b"]);
    assert!(
        tools.find(Some(scope.key()), "b").is_some(),
        "its own isn't restricted"
    );
    assert!(tools.find(Some(scope.key()), "c").is_none());

    tools.end_scope(scope.key());
    assert_eq!(names(&tools, Some(&scope)), ["a", "b", "c"]);
}

#[test]
fn r_reg_5_schemas_hold_what_the_model_may_see_and_changing_one_changes_no_other() {
    let tools = registry(&["a"]);
    let mut schemas = tools.schemas(None);
    Arc::make_mut(&mut schemas[0].parameters).insert("x".to_owned(), Json::Null);

    let again = hames_types::json::to_json(&tools.schemas(None)).unwrap();
    assert_eq!(again, json!([{"name": "a", "description": "", "parameters": {}}]));
}

#[test]
fn r_reg_7_names_for_ordering_are_those_before_restriction() {
    let (tools, scope) = (registry(&["a", "b"]), Scope::new());
    tools.register(Some(&scope), tool("own")).unwrap();
    tools.restrict(&scope, Restriction::deny(list(&["a"]))).unwrap();
    assert_eq!(tools.names(Some(scope.key())), ["a", "b", "own"]);
}

#[tokio::test]
async fn r_reg_8_only_a_visible_tool_that_says_so_runs_beside_others() {
    let (tools, scope) = (registry(&["a", "hidden"]), Scope::new());
    for (name, mode) in [
        ("exclusive", Ok(ExecutionMode::Exclusive)),
        ("fails", Err(Fault::foreign("no"))),
    ] {
        let mut classified = super::tool_with(name, |_, _| async { Ok(super::ToolOutput::default()) });
        classified.mode = mode;
        tools.register(None, Arc::new(classified)).unwrap();
    }
    tools
        .restrict(&scope, Restriction::deny(list(&["hidden"])))
        .unwrap();
    let expected = [
        ("a", ExecutionMode::Parallel),
        ("exclusive", ExecutionMode::Exclusive),
        ("fails", ExecutionMode::Exclusive),
        ("hidden", ExecutionMode::Exclusive),
        ("unknown", ExecutionMode::Exclusive),
    ];
    for (name, mode) in expected {
        let found = tools.classify(Some(scope.key()), name, &Json::Null).await;
        assert_eq!(found, mode, "{name}");
    }
}
