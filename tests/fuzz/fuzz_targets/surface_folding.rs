//! Can any sequence of appends make the running folds differ from a fold from scratch?

#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use hames_log::project;
use hames_log::surface::Surface;
use hames_log::{Draft, Log};
use hames_types::id::Seq;
use hames_types::json::Json;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// One append, legal or not.
#[derive(Debug, Arbitrary)]
struct Append {
    kind: Kind,
    text: u8,
    place: Option<Place>,
    sources: Sources,
    derive: bool,
}

#[derive(Debug, Arbitrary)]
enum Kind {
    User,
    Assistant,
    Result,
    Context,
    Chunk,
    Plugin,
    /// A payload that doesn't fit its kind.
    Misfit,
}

#[derive(Debug, Arbitrary)]
enum Place {
    Append,
    /// Between two nodes, by position.
    Nodes(u8, u8),
    /// Between two numbers, whatever they name.
    Numbers(u8, u8),
}

#[derive(Debug, Arbitrary)]
enum Sources {
    Absent,
    /// Everything before.
    All,
    These(Vec<u8>),
}

fn draft(append: &Append, log: &Log) -> Result<Draft, hames_log::error::AppendError> {
    let content = json!([{"type": "text", "text": append.text.to_string()}]);
    let source = json!({"kind": "user"});
    let (kind, data) = match append.kind {
        Kind::User => ("user/message", json!({"content": content, "source": source})),
        Kind::Assistant => {
            let content = if append.text == 0 { json!([]) } else { content };
            let provenance = json!({"provider": "p", "model": "m"});
            let data = json!({"turn": 1, "step": 1, "content": content, "provenance": provenance});
            ("assistant/message", data)
        }
        Kind::Result => {
            let call = (append.text % 2).to_string();
            let data = json!({"turn": 1, "step": 1, "callId": call, "content": content, "isError": false});
            ("tool/result", data)
        }
        Kind::Context => ("context/message", json!({"content": content, "source": source})),
        Kind::Chunk => {
            let chunk = json!({"type": "text-delta", "index": 0, "text": "t"});
            ("assistant/chunk", json!({"turn": 1, "step": 1, "chunk": chunk}))
        }
        Kind::Plugin => ("plugin/x", Json::from(append.text)),
        Kind::Misfit => ("steering/message", Json::from(append.text)),
    };
    let nodes = log.surface().nodes();
    let node = |at: u8| {
        nodes
            .get(at as usize % nodes.len().max(1))
            .map_or(0, |node| node.get())
    };
    let replace = |start: u64, end: u64| json!({"op": "replace", "start": start, "end": end});
    let place = append.place.as_ref().map(|place| match place {
        Place::Append => json!("append"),
        Place::Nodes(from, to) => replace(node(*from), node(*to)),
        Place::Numbers(from, to) => replace((*from).into(), (*to).into()),
    });
    let sources = match &append.sources {
        Sources::Absent => None,
        Sources::All => Some(json!((0..log.len()).collect::<Vec<_>>())),
        Sources::These(list) => Some(json!(list)),
    };
    Draft::read(kind, data, place, sources)
}

fuzz_target!(|appends: Vec<Append>| {
    let mut log = Log::new();
    for append in &appends {
        let before = (log.len(), log.surface().clone());
        match draft(append, &log).and_then(|draft| log.append(draft, 0)) {
            Ok(event) => assert_eq!(event.seq, Seq::at(before.0)),
            Err(_) => assert_eq!((log.len(), log.surface().clone()), before),
        }
        if append.derive {
            let _derived = log.derive().is_ok();
        }
    }
    let events = log.events().to_vec();
    let (surface, replacements) = Surface::fold(&events).expect("what was accepted folds");
    assert_eq!(&surface, log.surface());
    assert_eq!(replacements.len() as u64, surface.replace_generation());
    let scratch = project::derive(&surface, &events);
    assert_eq!(log.derive().cloned(), scratch);
    let mut again = Log::from_events(events.iter().map(Arc::clone)).expect("what was accepted is a seed");
    assert_eq!(again.derive().cloned(), scratch);
});
