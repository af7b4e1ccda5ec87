//! Whatever is appended, the running folds are what a fold from scratch finds.

use std::sync::Arc;

use hames_log::header::fold_header;
use hames_log::project;
use hames_log::surface::Surface;
use hames_log::{Draft, Log};
use hames_types::event::is_surface_kind;
use hames_types::id::Seq;
use hames_types::json::{Json, to_json};
use proptest::prelude::*;

use crate::generate::{self, Step};

/// Takes one step; says whether the log took an event.
fn take(log: &mut Log, step: &Step) -> Result<bool, TestCaseError> {
    let nodes = log.surface().nodes().to_vec();
    let draft = match step {
        Step::Derive => {
            // A history that can't be derived stays underivable; both are compared at the end.
            let _derived = log.derive().is_ok();
            return Ok(false);
        }
        Step::Add(payload, sources) => generate::at_tail(payload, *sources, log.next_seq()),
        Step::Replace(payload, from, to) => {
            if nodes.is_empty() || !is_surface_kind(payload.kind) || payload.kind == "tool/result" {
                return Ok(false);
            }
            let (from, to) = (from.index(nodes.len()), to.index(nodes.len()));
            generate::in_place(payload, &nodes, from.min(to), from.max(to))
        }
        Step::Rewrite(at, text) => {
            if nodes.is_empty() {
                return Ok(false);
            }
            let node = nodes[at.index(nodes.len())];
            let body = log.events()[node.index()].body();
            match body.and_then(|body| generate::rewritten(body, node, text)) {
                Some(draft) => draft,
                None => return Ok(false),
            }
        }
        Step::Bad(payload, op, sources) => return refuse(log, payload, op, sources),
    };
    let (before, expected) = (log.len(), log.next_seq());
    let event = log
        .append(draft, 5)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(event.seq, expected);
    prop_assert_eq!(log.len(), before + 1);
    Ok(true)
}

/// Arbitrary metadata: if it is refused nothing changes.
fn refuse(
    log: &mut Log,
    payload: &generate::Payload,
    op: &Json,
    sources: &Json,
) -> Result<bool, TestCaseError> {
    let before = snapshot(log);
    let (op, sources) = (Some(op.clone()), Some(sources.clone()));
    match Draft::read(payload.kind, payload.data.clone(), op, sources).and_then(|draft| log.append(draft, 5))
    {
        Ok(_) => Ok(true),
        Err(error) => {
            prop_assert!(error.to_string().contains(payload.kind), "{}", error);
            prop_assert_eq!(snapshot(log), before);
            Ok(false)
        }
    }
}

/// Everything a log says of itself.
fn snapshot(log: &mut Log) -> (Json, Surface, Option<Json>) {
    let events = to_json(log.events()).unwrap();
    let surface = log.surface().clone();
    (
        events,
        surface,
        log.derive().ok().map(|history| to_json(history).unwrap()),
    )
}

fn check_folds(log: &mut Log) -> Result<(), TestCaseError> {
    let events = log.events().to_vec();
    for (at, event) in events.iter().enumerate() {
        prop_assert_eq!(event.seq, Seq::at(at));
    }
    let (surface, replacements) =
        Surface::fold(&events).map_err(|(_, fault)| TestCaseError::fail(fault.to_string()))?;
    prop_assert_eq!(&surface, log.surface());
    prop_assert_eq!(replacements.len() as u64, surface.replace_generation());
    let scratch = project::derive(&surface, &events);
    prop_assert_eq!(log.derive().cloned(), scratch);
    let header = fold_header(&events).map_err(|(seq, _)| seq);
    prop_assert_eq!(
        log.header()
            .map(|header| header.cloned())
            .map_err(|(seq, _)| *seq),
        header
    );
    Ok(())
}

proptest! {
    #[test]
    fn running_folds_equal_folds_from_scratch(steps in prop::collection::vec(generate::step(), 1..60)) {
        let mut log = Log::new();
        for step in &steps {
            take(&mut log, step)?;
        }
        check_folds(&mut log)?;

        // The same again from its events, and from its text.
        let mut seeded = Log::from_events(log.events().iter().map(Arc::clone)).unwrap();
        prop_assert_eq!(snapshot(&mut seeded), snapshot(&mut log));
        let text = serde_json::to_string(log.events()).unwrap();
        let mut read = Log::from_records(serde_json::from_str(&text).unwrap()).unwrap();
        prop_assert_eq!(snapshot(&mut read), snapshot(&mut log));
        prop_assert_eq!(serde_json::to_string(read.events()).unwrap(), text);
    }

    #[test]
    fn a_snapshot_never_grows(steps in prop::collection::vec(generate::step(), 2..20)) {
        let mut log = Log::new();
        let (first, rest) = steps.split_at(steps.len() / 2);
        for step in first {
            take(&mut log, step)?;
        }
        let history = log.derive().cloned();
        let shown = history.as_ref().ok().map(|history| to_json(history).unwrap());
        for step in rest {
            take(&mut log, step)?;
        }
        prop_assert_eq!(history.ok().map(|history| to_json(&history).unwrap()), shown);
    }
}
