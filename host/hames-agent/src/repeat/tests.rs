//! What counts as a repetition, and what is said about it.

use std::sync::Arc;

use hames_log::Place;
use hames_types::decision::{PostToolDecision, PromptDecision};
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId};
use hames_types::json::{FromJson, Json};
use hames_types::message::MessageSource;
use hames_types::port::listener::{Decide, Next};
use hames_types::port::notice::AgentDisposed;
use hames_types::port::seam::{PostExecute, PostExecuteAsk, PromptAsk, PromptSubmit};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome, ToolOutput};
use serde_json::json;

use super::{RepeatConfig, RepeatConfigError, RepeatGuard, matches};
use crate::listeners::Listeners;

struct Bench {
    listeners: Listeners,
    guard: Arc<RepeatGuard>,
}

impl Bench {
    fn new(config: RepeatConfig) -> Self {
        let listeners = Listeners::new();
        let guard = RepeatGuard::new(config).unwrap().install(&listeners);
        Self { listeners, guard }
    }

    async fn decide(
        &self,
        agent: Option<&str>,
        tool: &str,
        arguments: Json,
        outcome: ToolOutcome,
    ) -> PostToolDecision {
        let call = ToolCall {
            call_id: CallId::new("c"),
            name: tool.into(),
            arguments: Arc::new(arguments),
            agent: agent.map(SessionId::new),
            at: None,
            parent: None,
        };
        let ask = PostExecuteAsk {
            call,
            outcome,
            signal: Signal::never(),
        };
        self.listeners
            .decide::<PostExecute, _, _>(None, &ask, |_| async { Ok(PostToolDecision::ACCEPT) })
            .await
            .unwrap()
    }

    /// What the guard says about a call of `main`.
    async fn call(&self, tool: &str, arguments: Json) -> Option<String> {
        self.call_of(Some("main"), tool, arguments).await
    }

    async fn call_of(&self, agent: Option<&str>, tool: &str, arguments: Json) -> Option<String> {
        let outcome = ToolOutcome::success(ToolOutput::default(), Vec::new());
        let decision = self.decide(agent, tool, arguments, outcome).await;
        said(&decision).first().cloned()
    }

    async fn prompt(&self) {
        let ask = PromptAsk {
            agent: SessionId::new("main"),
            content: hames_types::content::Content::empty(),
            source: MessageSource::USER,
            contexts: Vec::new(),
            signal: Signal::never(),
        };
        let allow = || PromptDecision::from_json(json!({"kind": "allow"})).unwrap();
        self.listeners
            .decide::<PromptSubmit, _, _>(None, &ask, |_| async { Ok(allow()) })
            .await
            .unwrap();
    }
}

fn said(decision: &PostToolDecision) -> Vec<String> {
    let contexts = match decision {
        PostToolDecision::Accept(accept) => &accept.additional_contexts,
        PostToolDecision::Block(block) => &block.additional_contexts,
    };
    let contexts = contexts.iter().flatten();
    contexts.map(|context| context.content.joined_text()).collect()
}

#[tokio::test]
async fn r_guard_1_and_2_the_third_equal_call_is_reminded_gently_the_fifth_and_eighth_in_detail() {
    let bench = Bench::new(RepeatConfig::default());
    let mut reminded = Vec::new();
    for count in 1..=10 {
        // The order of keys and the spelling of numbers change nothing.
        let text = if count % 2 == 0 {
            "{\"a\": {\"x\": 1, \"y\": [2]}, \"b\": 1}"
        } else {
            "{\"b\": 1.0, \"a\": {\"y\": [2.0], \"x\": 1}}"
        };
        let arguments: Json = serde_json::from_str(text).unwrap();
        if let Some(text) = bench.call("t", arguments).await {
            reminded.push((count, text.contains("{\"a\":{\"x\":1")));
        }
    }
    assert_eq!(reminded, [(3, false), (5, true), (8, true)]);
}

#[tokio::test]
async fn r_guard_1_and_3_what_resets_a_count_and_what_is_transparent() {
    let bench = Bench::new(RepeatConfig {
        thresholds: vec![2],
        exclude: vec!["look*".into()],
        ..RepeatConfig::default()
    });
    let same = || json!({"n": 1});
    assert_eq!(bench.call("t", same()).await, None);
    assert_eq!(
        bench.call("other", same()).await,
        None,
        "a different tracked call resets"
    );
    assert_eq!(bench.call("t", same()).await, None);
    assert_eq!(
        bench.call("t", json!({"n": 2})).await,
        None,
        "and so do other arguments"
    );
    assert_eq!(bench.call("t", same()).await, None);
    assert_eq!(
        bench.call("look_up", same()).await,
        None,
        "an untracked one is transparent"
    );
    assert_eq!(
        bench.call_of(None, "other", same()).await,
        None,
        "and one without an agent"
    );
    assert_eq!(
        bench.call_of(Some("sub"), "t", same()).await,
        None,
        "agents don't share a count"
    );
    assert!(bench.call("t", same()).await.is_some());

    bench.prompt().await;
    assert_eq!(bench.call("t", same()).await, None, "a prompt resets");
    bench.listeners.tell(None, || AgentDisposed {
        agent: SessionId::new("main"),
    });
    assert_eq!(bench.guard.chains.lock().len(), 1, "the other agent's remains");
    assert_eq!(bench.call("t", same()).await, None);
}

struct Blocks;

#[async_trait::async_trait]
impl Decide<PostExecute> for Blocks {
    async fn decide(&self, _: &PostExecuteAsk, _: Next<'_, PostExecute>) -> Result<PostToolDecision, Fault> {
        let own = json!([{"content": [{"type": "text", "text": "own"}], "source": {"kind": "user"}}]);
        let block = json!({"kind": "block", "feedback": [], "additionalContexts": own});
        Ok(PostToolDecision::from_json(block).unwrap())
    }
}

#[tokio::test]
async fn r_guard_2_a_reminder_stands_in_front_and_changes_no_decision_and_denied_calls_count() {
    let bench = Bench::new(RepeatConfig {
        thresholds: vec![2],
        ..RepeatConfig::default()
    });
    bench
        .listeners
        .add::<PostExecute>(None, Place::Last, Arc::new(Blocks));
    let denied = || ToolOutcome::error("no", None);
    bench.decide(Some("main"), "t", json!({}), denied()).await;
    let decision = bench.decide(Some("main"), "t", json!({}), denied()).await;

    assert!(matches!(decision, PostToolDecision::Block(_)));
    let said = said(&decision);
    assert_eq!((said.len(), said[1].as_str()), (2, "own"));
}

#[tokio::test]
async fn r_guard_2_a_long_preview_is_cut_and_the_rest_is_counted() {
    let bench = Bench::new(RepeatConfig {
        thresholds: vec![2, 3],
        preview_chars: 10,
        ..RepeatConfig::default()
    });
    let long = || json!("é".repeat(100));
    bench.call("t", long()).await;
    bench.call("t", long()).await;
    let text = bench.call("t", long()).await.unwrap();
    assert!(
        text.contains(&format!("\"{}… (92 more characters)", "é".repeat(9))),
        "{text}"
    );
}

#[test]
fn r_guard_2_a_configuration_that_cannot_hold_is_refused() {
    let with = |thresholds: &[u32], preview_chars| {
        RepeatGuard::new(RepeatConfig {
            thresholds: thresholds.to_vec(),
            preview_chars,
            ..RepeatConfig::default()
        })
    };
    assert_eq!(with(&[], 1).unwrap_err(), RepeatConfigError::NoThreshold);
    assert_eq!(with(&[5, 1], 1).unwrap_err(), RepeatConfigError::TooLow(1));
    assert_eq!(with(&[5, 3, 5], 1).unwrap_err(), RepeatConfigError::Duplicate(5));
    assert_eq!(with(&[2], 0).unwrap_err(), RepeatConfigError::NoPreview);
    assert_eq!(with(&[8, 3], 1).unwrap().config.thresholds, [3, 8]);
}

#[test]
fn r_guard_3_a_star_stands_for_any_text_and_everything_else_for_itself() {
    for (pattern, name, expected) in [
        ("*", "", true),
        ("*", "any", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*a", "a", false),
        ("a.c", "abc", false),
        ("a?", "ab", false),
        ("**b", "ab", true),
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("*bc*", "abcd", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}
