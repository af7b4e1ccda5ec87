//! Does a session go on after whatever happened to it?

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use hames_store::{SqliteStore, Threading};
use hames_types::id::SessionId;
use hames_types::json::Json;
use hames_types::port::store::Store;

use crate::kit::User;
use crate::model::{Model, Piece};

/// How the session's turns ended, as it is stored.
pub(crate) fn ends(user: &User, id: &str) -> Vec<String> {
    let store = SqliteStore::open_file(user.database(), Threading::Inline).expect("the database opens");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let stored = runtime
        .block_on(store.load(&SessionId::new(id)))
        .expect("the session is stored");
    let kinds = stored
        .events
        .iter()
        .filter(|event| event.kind() == "turn/end")
        .map(|event| {
            let event = serde_json::to_value(event).expect("an event is JSON");
            event["data"]["reason"]["kind"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        });
    kinds.collect()
}

#[test]
fn a_killed_turn_is_closed_and_the_next_one_runs() {
    let user = User::new();
    let model = Model::start(vec![
        vec![Piece::Text("one "), Piece::Hold],
        vec![Piece::Text("again")],
    ]);
    let flags = model.flags();
    let arguments: Vec<&str> = ["run", "hi", "--session", "s", "--json"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    let mut child = user
        .command(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let out = BufReader::new(child.stdout.take().expect("its output"));
    let spoke = out
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("one "));
    assert!(spoke.is_some(), "it began to answer");
    child.kill().expect("it can be killed");
    child.wait().expect("it is dead");
    model.go_on();

    let arguments: Vec<&str> = ["resume", "s", "go on"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    let told = user.run(&arguments);
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert_eq!(told.out, "again\n");
    assert_eq!(ends(&user, "s"), ["interrupted", "completed"]);
    let requests = model.requests();
    let last: Vec<&str> = requests[1]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["role"] == "user")
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(last, ["hi", "go on"]);
}

#[test]
fn without_a_prompt_or_a_terminal_it_is_closed_and_that_is_all() {
    let user = User::new();
    assert_eq!(user.run(&["run", "hi", "--session", "s"]).code, Some(0));
    let told = user.run(&["resume", "s", "--json"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    let line: Json = serde_json::from_str(&told.out).expect("one line of JSON");
    assert_eq!(
        (&line["type"], &line["resumed"]),
        (&"session".into(), &true.into())
    );
}

#[test]
fn a_session_that_isnt_there_is_told() {
    let user = User::new();
    let told = user.run(&["resume", "nobody", "hi"]);
    assert_eq!(told.code, Some(5));
    assert!(told.err.contains("no session `nobody` is stored"), "{}", told.err);
}
