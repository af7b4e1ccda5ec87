//! Does a session go on after whatever happened to it?

use std::io::{BufRead, BufReader, Read};
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

/// What the session holds: how turns ended, and which results are in it.
fn results(user: &User, id: &str) -> Vec<String> {
    let shown = user.run(&["sessions", "export", id]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    shown
        .out
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .filter(|event| event["type"] == "tool/result")
        .map(|event| event["data"]["callId"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The turn that a newcomer sees first, with all of its plugins: killed while it answers, when it has read a file,
/// written a list and been denied another file. It can't be over by then, since it says the prompt again, and that is
/// more than the pipe holds that nobody reads.
#[test]
fn the_demonstration_is_killed_and_the_next_turn_runs_to_its_end() {
    let user = User::new();
    std::fs::create_dir(user.folder().join(".git")).expect("a folder");
    std::fs::write(user.folder().join(".git/config"), "secret").expect("a forbidden file");
    std::fs::write(user.folder().join("README.md"), "# About\n").expect("a file to read");
    let prompt = format!("Have a look around {}", "and plan ".repeat(12_000));
    let mut child = user
        .command(&["run", &prompt, "--session", "s", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut told = Vec::new();
    // Kept until it is dead: a closed pipe would end the run in order.
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    for line in out.by_ref().lines() {
        let line: Json = serde_json::from_str(&line.expect("a line")).expect("a line of JSON");
        if line["type"] == "result" {
            told.push((
                line["id"].as_str().expect("an id").to_owned(),
                line["error"] == true,
            ));
        }
        if line["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("You said"))
        {
            break;
        }
    }
    child.kill().expect("it can be killed");
    let status = child.wait().expect("it is dead");
    assert_eq!(status.code(), None, "it was over before it was killed");
    drop(out);
    let was_denied: Vec<bool> = told.iter().map(|(_, is_error)| *is_error).collect();
    assert_eq!(was_denied, [false, false, true]);
    // What was told is stored.
    let ids: Vec<String> = told.into_iter().map(|(id, _)| id).collect();
    assert_eq!(results(&user, "s"), ids);

    let next = user.run(&["resume", "s", "go on"]);
    assert_eq!(next.code, Some(0), "{}", next.err);
    assert!(next.out.contains("You said: go on"), "{}", next.out);
    assert_eq!(ends(&user, "s"), ["interrupted", "completed"]);
    assert_eq!(results(&user, "s").len(), 6);
    let checked = user.run(&["replay", "s"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
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
