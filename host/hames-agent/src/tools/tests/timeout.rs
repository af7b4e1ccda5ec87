//! Deadlines of calls.

use std::time::Duration;

use hames_types::fault::Fault;
use hames_types::port::seam::{Execute, PostExecute};
use hames_types::tool::ToolOutput;
use parking_lot::Mutex;
use serde_json::Number;
use std::sync::Arc;

use super::{ABORTED, Bench, Scripted, cancel, context, listener, shown, texts, tool_with};
use crate::tools::ToolTimeouts;

const TIMED_OUT: &str = "!Error: tool call timed out after 100ms [ToolTimeoutError TOOL_TIMEOUT]";

fn bench(timeout_ms: Option<u32>, mut tool: Scripted) -> Bench {
    tool.definition.timeout_ms = timeout_ms.map(Number::from);
    let bench = Bench::with(tool);
    bench.on::<Execute>(ToolTimeouts);
    bench
}

fn sleeps(ms: u64) -> Scripted {
    tool_with("t", move |_, _| async move {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(ToolOutput::text("done"))
    })
}

async fn elapsed<T>(work: impl Future<Output = T>) -> (T, u128) {
    let begin = tokio::time::Instant::now();
    let value = work.await;
    (value, begin.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn r_tmo_1_and_3_no_budget_and_a_fast_tool_are_left_alone() {
    for (budget, took) in [(None, 500), (Some(100), 99)] {
        let bench = bench(budget, sleeps(took));
        let (outcome, ms) = elapsed(bench.call("t")).await;
        assert_eq!((shown(&outcome).as_str(), ms), ("done", u128::from(took)));
    }
}

#[tokio::test(start_paused = true)]
async fn r_tmo_2_and_3_an_overdue_body_is_told_and_waited_for_and_its_answer_does_not_count() {
    // One that heeds the signal and fails, one that heeds it and succeeds, one that doesn't look.
    let heeds = |result: Result<ToolOutput, Fault>| {
        tool_with("t", move |_, run| {
            run.defer(context("dropped"));
            let result = result.clone();
            async move {
                run.signal.raised().await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                result
            }
        })
    };
    let tools = [
        (heeds(Err(Fault::foreign("aborted"))), 120),
        (heeds(Ok(ToolOutput::text("late"))), 120),
        (sleeps(300), 300),
    ];
    for (tool, expected_ms) in tools {
        let bench = bench(Some(100), tool);
        let (outcome, ms) = elapsed(bench.call("t")).await;
        assert_eq!((shown(&outcome).as_str(), ms), (TIMED_OUT, expected_ms));
        assert_eq!(texts(&outcome), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn r_tmo_2_whoever_comes_first_counts() {
    for (cancelled_after_ms, expected) in [(50, ABORTED), (150, TIMED_OUT)] {
        let bench = bench(Some(100), sleeps(300));
        let trigger = bench.trigger.clone();
        let cancels = async {
            tokio::time::sleep(Duration::from_millis(cancelled_after_ms)).await;
            cancel(&trigger);
        };
        let (outcome, ()) = tokio::join!(bench.call("t"), cancels);
        assert_eq!(shown(&outcome), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn r_tmo_1_the_caller_s_signal_is_not_raised_and_post_execute_can_change_the_outcome() {
    let bench = bench(Some(100), sleeps(300));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (record, signal) = (Arc::clone(&seen), bench.trigger.signal());
    bench.on::<PostExecute>(listener::<PostExecute, _>(move |ask, next| {
        record.lock().push((shown(&ask.outcome), signal.is_raised()));
        Box::pin(next.run())
    }));
    bench.call("t").await;
    assert_eq!(*seen.lock(), [(TIMED_OUT.to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn r_tmo_3_a_budget_beyond_every_timer_is_cut_to_the_longest_one() {
    let mut tool = sleeps(5);
    tool.definition.timeout_ms = Some("1e300".parse().unwrap());
    let bench = Bench::with(tool);
    bench.on::<Execute>(ToolTimeouts);
    assert_eq!(shown(&bench.call("t").await), "done");
}
