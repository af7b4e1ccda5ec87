//! One call, in every way it can end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use hames_log::Place;
use hames_types::content::{Content, ContentBlock};
use hames_types::fault::Fault;
use hames_types::json::{FromJson, Json};
use hames_types::port::seam::{Execute, PostExecute, PreExecute};
use hames_types::signal::{Signal, Trigger};
use hames_types::tool::{ToolCall, ToolOutcome, ToolOutput};
use serde_json::json;

use super::{
    ABORTED, ABORTED_BEFORE, Bench, added, block, call, cancel, context, deferring, listener, ok, post,
    raised, shown, texts, tool, tool_with,
};
use crate::scope::Scope;
use crate::tools::{Begun, Caller, Restriction, aborted};

#[tokio::test]
async fn a_call_goes_through_all_phases_and_is_told_once() {
    let bench = Bench::with(ok());
    bench.watch();

    assert_eq!(shown(&bench.call("t").await), "done");
    assert_eq!(bench.phases(), ["pre", "execute", "post"]);
    assert_eq!(bench.told.lock().len(), 1);
}

#[tokio::test]
async fn r_tool_an_unknown_or_hidden_tool_is_found_missing_inside_the_wrappers() {
    let (bench, scope) = (Bench::with(ok()), Scope::new());
    bench.watch();
    let expected = "!Error: unknown tool \"t\" [ToolNotFoundError UNKNOWN_TOOL]";
    let hide = Restriction::deny(vec!["t".into()]);
    bench.tools.restrict(&scope, hide).unwrap();
    let caller = Caller {
        scope: Some(scope.key()),
        signal: Signal::never(),
    };

    assert_eq!(
        shown(&bench.tools.call(call("t", json!({})), caller).await),
        expected
    );
    assert_eq!(bench.phases(), ["pre", "execute", "post"]);
    assert_eq!(
        shown(&bench.call("ghost").await),
        "!Error: unknown tool \"ghost\" [ToolNotFoundError UNKNOWN_TOOL]"
    );
}

#[tokio::test]
async fn r_tool_8_a_body_s_error_shows_its_code_only_if_somebody_vouches_for_it() {
    let cases = [
        (Fault::foreign("plain").with_code("CLAIMED"), "!Error: plain"),
        (Fault::not_an_error("text"), "!Error: text"),
        (Fault::host("E", "CODE", "coded"), "!Error: coded [E CODE]"),
    ];
    for (fault, expected) in cases {
        let bench = Bench::with(deferring(Err(fault.with_contexts(vec![context("carried")]))));
        let outcome = bench.call("t").await;
        assert_eq!(shown(&outcome), expected);
        assert_eq!(
            texts(&outcome),
            ["deferred", "carried"],
            "contexts survive an error"
        );
    }
}

#[tokio::test]
async fn r_tool_a_success_that_came_after_the_cancellation_reads_as_aborted_and_an_error_as_itself() {
    for (result, expected) in [
        (Ok(ToolOutput::text("late")), ABORTED),
        (
            Err(Fault::foreign("stopped by itself")),
            "!Error: stopped by itself",
        ),
    ] {
        let trigger = Trigger::new();
        let raise = trigger.clone();
        let tool = tool_with("t", move |_, run| {
            run.defer(context("deferred"));
            cancel(&raise);
            let result = result.clone();
            async move { result }
        });
        let bench = Bench {
            trigger,
            ..Bench::with(tool)
        };
        bench.watch();
        let outcome = bench.call("t").await;
        assert_eq!(shown(&outcome), expected);
        assert_eq!(texts(&outcome), ["deferred"]);
        assert_eq!(bench.phases(), ["pre", "execute", "post"]);
    }
}

#[tokio::test]
async fn r_tool_3_a_started_body_is_waited_for() {
    let tool = tool_with("t", |_, run| async move {
        run.signal.raised().await;
        tokio::task::yield_now().await;
        Err(Fault::foreign("cleaned up"))
    });
    let bench = Bench::with(tool);
    let trigger = bench.trigger.clone();

    let (outcome, ()) = tokio::join!(bench.call("t"), async { cancel(&trigger) });
    assert_eq!(shown(&outcome), "!Error: cleaned up");
}

#[tokio::test]
async fn r_tool_2_a_swapped_signal_cannot_shield_the_body_and_stops_it_by_itself() {
    // A wrapper that passes its own signal: never raised, the caller's still gets through.
    let bench = Bench::with(tool_with("t", |_, run| async move {
        run.signal.raised().await;
        Ok(ToolOutput::text("late"))
    }));
    bench.on::<Execute>(listener::<Execute, _>(|_, next| {
        Box::pin(next.run_with(Signal::never()))
    }));
    let trigger = bench.trigger.clone();
    let (outcome, ()) = tokio::join!(bench.call("t"), async { cancel(&trigger) });
    assert_eq!(shown(&outcome), ABORTED);

    // One that is raised already: the body isn't invoked, whatever the caller's says.
    let bench = Bench::with(tool_with("t", |_, _| async { panic!("must not run") }));
    bench.on::<Execute>(listener::<Execute, _>(|_, next| {
        Box::pin(next.run_with(raised()))
    }));
    assert_eq!(shown(&bench.call("t").await), ABORTED_BEFORE);
}

#[tokio::test]
async fn r_tool_a_wrapper_may_answer_for_the_body() {
    let answer = || ToolOutcome::success(ToolOutput::text("cached"), vec![context("kept")]);
    let bench = Bench::with(ok());
    bench.on::<Execute>(listener::<Execute, _>(move |_, _| {
        Box::pin(async move { Ok(answer()) })
    }));
    assert_eq!(shown(&bench.call("t").await), "cached");

    // Cancelled meanwhile: the body never ran, and the contexts stay.
    let bench = Bench::with(ok());
    let trigger = bench.trigger.clone();
    bench.on::<Execute>(listener::<Execute, _>(move |_, _| {
        cancel(&trigger);
        Box::pin(async move { Ok(answer()) })
    }));
    let outcome = bench.call("t").await;
    assert_eq!(shown(&outcome), ABORTED_BEFORE);
    assert_eq!(texts(&outcome), ["kept"]);

    // The same after the body ran.
    let bench = Bench::with(ok());
    let trigger = bench.trigger.clone();
    bench.on::<Execute>(listener::<Execute, _>(move |_, next| {
        let trigger = trigger.clone();
        Box::pin(async move {
            next.run().await?;
            cancel(&trigger);
            Ok(answer())
        })
    }));
    let outcome = bench.call("t").await;
    assert_eq!(shown(&outcome), ABORTED);
    assert_eq!(texts(&outcome), ["kept"]);
}

#[tokio::test]
async fn r_tool_a_wrapper_that_fails_ends_the_call_for_good_and_loses_what_was_deferred() {
    let bench = Bench::with(deferring(Ok(ToolOutput::default())));
    bench.watch();
    bench.listeners.add::<Execute>(
        None,
        Place::First,
        Arc::new(listener::<Execute, _>(|_, next| {
            Box::pin(async move {
                next.run().await?;
                Err(Fault::host("ToolTimeoutError", "TIMEOUT", "timed out"))
            })
        })),
    );
    let outcome = bench.call("t").await;

    assert_eq!(shown(&outcome), "!Error: timed out [ToolTimeoutError TIMEOUT]");
    assert_eq!(texts(&outcome), Vec::<String>::new());
    assert_eq!(bench.phases(), ["pre", "execute"]);
    assert_eq!(bench.told.lock().len(), 1);
}

#[tokio::test]
async fn r_tool_4_contexts_stand_tool_then_wrapper_then_post() {
    let bench = Bench::with(deferring(Ok(ToolOutput::text("done"))));
    bench.on::<Execute>(listener::<Execute, _>(|_, next| {
        Box::pin(async move {
            let mut outcome = next.run().await?;
            outcome.contexts.push(context("wrapper"));
            Ok(outcome)
        })
    }));
    post(
        &bench,
        json!({"kind": "accept", "additionalContexts": added("post")}),
    );

    let outcome = bench.call("t").await;
    assert_eq!(texts(&outcome), ["deferred", "wrapper", "post"]);
}

#[tokio::test]
async fn r_tool_post_execute_replaces_content_and_keeps_the_rest_or_blocks_and_keeps_nothing() {
    let meta = Some(json!({"m": 1}));
    let output = ToolOutput {
        meta: meta.clone(),
        ..ToolOutput::text("done")
    };
    let bench = Bench::with(deferring(Ok(output.clone())));
    post(&bench, json!({"kind": "accept", "content": block("shorter")}));
    let outcome = bench.call("t").await;
    assert_eq!((shown(&outcome).as_str(), &outcome.meta), ("shorter", &meta));
    assert_eq!(texts(&outcome), ["deferred"]);

    let bench = Bench::with(deferring(Err(Fault::host("E", "C", "x"))));
    post(&bench, json!({"kind": "accept", "content": block("worded")}));
    assert_eq!(shown(&bench.call("t").await), "!worded [E C]");

    let bench = Bench::with(deferring(Ok(output)));
    post(
        &bench,
        json!({"kind": "block", "feedback": block("no"), "additionalContexts": added("why")}),
    );
    let outcome = bench.call("t").await;
    assert_eq!((shown(&outcome).as_str(), &outcome.meta), ("!no", &None));
    assert_eq!(texts(&outcome), ["why"]);
}

#[tokio::test]
async fn r_tool_a_post_listener_that_fails_makes_an_error_and_keeps_what_was_deferred() {
    let bench = Bench::with(deferring(Ok(ToolOutput::text("done"))));
    bench.on::<PostExecute>(listener::<PostExecute, _>(|_, _| {
        Box::pin(async { Err(Fault::foreign("post crashed")) })
    }));
    let outcome = bench.call("t").await;
    assert_eq!(shown(&outcome), "!Error: post crashed");
    assert_eq!(texts(&outcome), ["deferred"]);
}

#[tokio::test]
async fn r_tool_cancelled_in_post_execute_a_success_reads_as_aborted_with_its_contexts() {
    let bench = Bench::with(deferring(Ok(ToolOutput::text("done"))));
    let trigger = bench.trigger.clone();
    bench.on::<PostExecute>(listener::<PostExecute, _>(move |_, next| {
        cancel(&trigger);
        Box::pin(next.run())
    }));
    let outcome = bench.call("t").await;
    assert_eq!(shown(&outcome), ABORTED);
    assert_eq!(texts(&outcome), ["deferred"]);
}

#[tokio::test]
async fn r_tool_cancelled_between_dispatch_and_finish_a_success_reads_as_aborted() {
    let bench = Bench::with(ok());
    let caller = Caller {
        scope: None,
        signal: bench.trigger.signal(),
    };
    let Begun::Ready(ready) = bench.tools.begin(call("t", json!({})), caller).await else {
        panic!("nothing stops this call");
    };
    let settled = bench.tools.dispatch(ready).await;
    bench.cancel();
    assert_eq!(bench.tools.finish(settled).await.1, aborted());
}

#[tokio::test]
async fn r_tool_a_result_that_cannot_be_kept_becomes_an_error() {
    let odd_block = ContentBlock::from_json(json!({
        "type": "text", "text": "x", "score": serde_json::from_str::<Json>("-0.0").unwrap(),
    }))
    .unwrap();
    let results = [
        ToolOutput {
            content: Content::from(vec![odd_block]),
            meta: None,
        },
        ToolOutput {
            meta: Some(serde_json::from_str("{\"n\": 1e999}").unwrap()),
            ..ToolOutput::text("fine")
        },
    ];
    for result in results {
        let bench = Bench::with(tool_with("t", move |_, _| {
            let result = result.clone();
            async move { Ok(result) }
        }));
        let outcome = bench.call("t").await;
        assert!(
            shown(&outcome).contains("not lossless JSON"),
            "{}",
            shown(&outcome)
        );
        assert!(outcome.is_error && outcome.error.is_none() && outcome.meta.is_none());
    }
}

#[tokio::test]
async fn r_tool_6_a_direct_call_is_legal_and_scoped_listeners_do_not_hear_it() {
    let (bench, scope) = (Bench::with(ok()), Scope::new());
    let deaf = listener::<PreExecute, _>(|_, _| Box::pin(async { Err(Fault::foreign("heard")) }));
    bench
        .listeners
        .add::<PreExecute>(Some(scope.key()), Place::Last, Arc::new(deaf));
    assert_eq!(shown(&bench.call("t").await), "done");
}

#[tokio::test]
async fn r_tool_1_a_nested_call_names_its_parent() {
    let bench = Bench::new();
    bench.tools.register(None, tool("inner")).unwrap();
    let tools = Arc::downgrade(&bench.tools);
    let outer = tool_with("outer", move |call, run| {
        let tools = tools.clone();
        async move {
            let inner = ToolCall {
                parent: Some(call.call_id.clone()),
                call_id: hames_types::id::CallId::new("c1:1"),
                name: "inner".into(),
                ..call
            };
            let caller = Caller {
                scope: None,
                signal: run.signal.clone(),
            };
            let tools = tools.upgrade().ok_or_else(|| Fault::foreign("gone"))?;
            let outcome = tools.call(inner, caller).await;
            Ok(ToolOutput::text(outcome.content.joined_text()))
        }
    });
    bench.tools.register(None, Arc::new(outer)).unwrap();

    assert_eq!(shown(&bench.call("outer").await), "inner");
    let told = bench.told.lock();
    let parents: Vec<_> = told.iter().map(|notice| notice.call.parent.clone()).collect();
    assert_eq!(parents, [Some(hames_types::id::CallId::new("c1")), None]);
}

#[tokio::test(start_paused = true)]
async fn r_tool_5_observers_see_the_final_outcome_and_cannot_hurt_the_call() {
    let bench = Bench::with(tool_with("t", |_, _| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(ToolOutput::text("done"))
    }));
    post(&bench, json!({"kind": "accept", "content": block("final")}));
    // The bench's own observer always fails.
    assert_eq!(shown(&bench.call("t").await), "final");
    assert_eq!(shown(&bench.told.lock()[0].outcome), "final");
}

#[tokio::test]
async fn r_tool_7_private_state_comes_with_a_success_only() {
    let output = ToolOutput {
        meta: Some(json!({"state": 1})),
        ..ToolOutput::text("done")
    };
    let bench = Bench::with(deferring(Ok(output.clone())));
    assert_eq!(bench.call("t").await.meta, output.meta);

    let bench = Bench::with(deferring(Ok(output)));
    let trigger = bench.trigger.clone();
    bench.on::<PostExecute>(listener::<PostExecute, _>(move |_, next| {
        cancel(&trigger);
        Box::pin(next.run())
    }));
    let outcome = bench.call("t").await;
    assert_eq!((shown(&outcome).as_str(), outcome.meta), (ABORTED, None));
}

#[tokio::test]
async fn r_schema_4_a_tool_with_a_schema_of_its_own_gets_what_the_model_wrote() {
    let mut echo = tool_with("t", |call, _| async move {
        Ok(ToolOutput::text(call.arguments.to_string()))
    });
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    echo.definition.schema.parameters = Arc::new(schema.as_object().unwrap().clone());
    let bench = Bench::with(echo);
    for (arguments, seen) in [
        (json!({}), "{}"),
        (json!("not json"), "\"not json\""),
        (json!(5), "5"),
    ] {
        assert_eq!(shown(&bench.call_with("t", arguments).await), seen);
    }
}

#[tokio::test]
async fn a_call_dropped_at_any_point_leaves_nothing_running() {
    // Every phase waits a few times, so that there are many points to be dropped at.
    let running = Arc::new(());
    let waits = |running: &Arc<()>| {
        let alive = Arc::clone(running);
        async move {
            let _alive = alive;
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    };
    let in_body = Arc::clone(&running);
    let bench = Bench::with(tool_with("t", move |_, _| {
        let waiting = waits(&in_body);
        async move {
            waiting.await;
            Ok(ToolOutput::text("done"))
        }
    }));
    let (pre, around, post) = (running.clone(), running.clone(), running.clone());
    bench.on::<PreExecute>(listener::<PreExecute, _>(move |_, next| {
        let waiting = waits(&pre);
        Box::pin(async move {
            waiting.await;
            next.run().await
        })
    }));
    bench.on::<Execute>(listener::<Execute, _>(move |_, next| {
        let waiting = waits(&around);
        Box::pin(async move {
            waiting.await;
            next.run().await
        })
    }));
    bench.on::<PostExecute>(listener::<PostExecute, _>(move |_, next| {
        let waiting = waits(&post);
        Box::pin(async move {
            waiting.await;
            next.run().await
        })
    }));
    let held = Arc::strong_count(&running);
    for polls in 0..100 {
        let mut call = Box::pin(bench.call("t"));
        let done = (0..polls).any(|_| call.as_mut().now_or_never().is_some());
        drop(call);
        assert_eq!(Arc::strong_count(&running), held, "dropped after {polls} polls");
        let told = std::mem::take(&mut *bench.told.lock()).len();
        assert_eq!(
            told,
            usize::from(done),
            "told once, and only of a call that ended"
        );
        if done {
            assert!(polls > 9, "the phases wait at least nine times, not {polls}");
            return;
        }
    }
    panic!("a call that waits a dozen times has ended by now");
}
