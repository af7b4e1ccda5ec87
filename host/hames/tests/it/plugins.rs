//! Are plugins the ones they were, told apart, heard, and named when they fail?

use expect_test::{expect, expect_file};
use hames_sandbox_tests::guests::plain;
use hames_sandbox_tests::handmade::{Module, with_section};
use hames_sandbox_tests::listening::{Does, Listening};
use serde_json::json;

use crate::kit::User;
use crate::model::{Model, Piece};

/// `ask` without a reason, as a decision before a call lies in memory.
const ASK: [u8; 16] = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A configuration with the todo plugin, and perhaps more.
pub(crate) fn with_todo(user: &User, more: &str) -> String {
    let component = plain("todo").expect("the plugin can be built");
    std::fs::write(user.folder().join("todo.wasm"), &component).expect("the folder is ours");
    let text = format!(
        "[[plugin]]\nid = \"todo\"\nsource = \"todo.wasm\"\n[plugin.grant]\nsession = [\"todos\", \"read\"]\n{more}"
    );
    user.write("work/own.toml", &text).display().to_string()
}

/// One that listens before each call.
pub(crate) fn listener(user: &User, id: &str, does: Does) -> String {
    let component = Listening::at("on-pre-execute", does)
        .component(id)
        .expect("a listener");
    std::fs::write(user.folder().join(format!("{id}.wasm")), &component).expect("the folder is ours");
    format!("[[plugin]]\nid = \"{id}\"\nsource = \"{id}.wasm\"\n")
}

pub(crate) fn asking(user: &User) -> String {
    listener(user, "asker", Does::Answer(ASK.to_vec()))
}

/// A model that writes a todo list and then answers.
pub(crate) fn planner() -> Model {
    let todos = json!({"todos": [{"content": "read", "status": "completed"}, {"content": "write", "status": "pending"}]});
    Model::start(vec![
        vec![Piece::Call("todo_write", todos)],
        vec![Piece::Text("Planned.")],
    ])
}

fn run(user: &User, config: &str, model: &Model, rest: &[&str]) -> crate::kit::Told {
    let flags = model.flags();
    let arguments: Vec<&str> = ["run", "plan it", "--session", "s", "--config", config]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .chain(rest.iter().copied())
        .collect();
    user.run(&arguments)
}

#[test]
fn a_plugin_works_and_is_recorded_and_one_that_changed_is_refused() {
    let user = User::new();
    let config = with_todo(&user, "");
    expect_file!["seen/todo.txt"].assert_eq(&run(&user, &config, &planner(), &[]).all());
    let lock = std::fs::read_to_string(user.folder().join("hames.lock")).expect("it was written");
    assert!(lock.contains("[plugin.todo]\ndigest = \"sha256:"), "{lock}");

    let file = user.folder().join("todo.wasm");
    let changed = with_section(&std::fs::read(&file).expect("it is there"), "more", b"more");
    std::fs::write(&file, &changed).expect("it is ours");
    let told = run(&user, &config, &planner(), &[]);
    assert_eq!(told.code, Some(3), "{}", told.err);
    for word in [
        "isn't the one recorded in",
        "digest: sha256:",
        "hames config lock todo",
    ] {
        assert!(told.err.contains(word), "{}", told.err);
    }
    assert_eq!(
        user.run(&["config", "lock", "todo", "--config", &config]).code,
        Some(0)
    );
    assert_eq!(user.run(&["doctor", "--config", &config]).code, Some(0));
}

#[test]
fn two_tools_of_one_name_need_a_prefix() {
    let user = User::new();
    // The same tool in two plugins.
    let component = Module::default().component().expect("a plugin");
    std::fs::write(user.folder().join("one.wasm"), &component).expect("the folder is ours");
    let twice = "[[plugin]]\nid = \"one\"\nsource = \"one.wasm\"\n\n[[plugin]]\nid = \"two\"\nsource = \"one.wasm\"\n";
    let config = with_todo(&user, twice);
    let told = run(&user, &config, &planner(), &[]);
    expect![[r#"
        error: [ROOT]/work/own.toml:10: `plugin.two.prefix` is needed: plugins `one` ([ROOT]/work/own.toml:6) and `two` both have a tool `t`; with `prefix = "two_"` the second one's tools are called `two_…`
    "#]].assert_eq(&told.err);
    let told = run(&user, &config, &planner(), &["--set", "plugin.two.prefix=two_"]);
    assert_eq!(told.code, Some(0), "{}", told.err);
}

#[test]
fn a_question_without_a_terminal_is_a_denial_at_once() {
    let user = User::new();
    let config = with_todo(&user, &asking(&user));
    expect_file!["seen/denied.txt"].assert_eq(&run(&user, &config, &planner(), &[]).all());
}

#[test]
fn a_trap_is_one_line_with_plugin_and_cause() {
    let user = User::new();
    let config = with_todo(&user, &listener(&user, "trapper", Does::Trap));
    expect_file!["seen/trap.txt"].assert_eq(&run(&user, &config, &planner(), &[]).all());
    // The rest stands behind a flag: here that nothing was said, but it would be there.
    let user = User::new();
    let config = with_todo(&user, &listener(&user, "trapper", Does::Trap));
    let told = run(&user, &config, &planner(), &["--verbose"]);
    let rest = told.err.lines().find(|line| line.contains("a call failed"));
    let rest = rest.expect("all that is known of it");
    for word in ["WARN", "plugin=trapper", "unreachable", "stderr=\"\""] {
        assert!(rest.contains(word), "{rest}");
    }
}

#[test]
fn who_is_asked_where_is_shown_in_the_order_of_asking() {
    let user = User::new();
    let plugins: Vec<String> = [
        ("last", "late"),
        ("middle", "normal"),
        ("front", "early"),
        ("inner", "normal"),
    ]
    .iter()
    .map(|(id, phase)| listener(&user, id, Does::Answer(ASK.to_vec())) + &format!("phase = \"{phase}\"\n"))
    .collect();
    let config = user
        .write("work/own.toml", &plugins.concat())
        .display()
        .to_string();
    let told = user.run(&["plugin", "order", "--config", &config]);
    assert_eq!(told.code, Some(0), "{}", told.err);
    expect![[r#"
        pre-execute  front  early, may restrict, fails closed
        pre-execute  middle  normal, may restrict, fails closed
        pre-execute  inner  normal, may restrict, fails closed
        pre-execute  last  late, may restrict, fails closed
    "#]]
    .assert_eq(&told.out);
    assert_eq!(user.run(&["plugin", "order", "--config", &config]).out, told.out);
}

/// The demonstration's turn, decided once more by its own policy and by another one.
#[test]
fn a_changed_policy_is_tried_on_a_session_and_differs() {
    let user = User::new();
    std::fs::create_dir(user.folder().join(".git")).expect("a folder");
    std::fs::write(user.folder().join(".git/config"), "secret").expect("a forbidden file");
    std::fs::write(user.folder().join("README.md"), "# About\n").expect("a file to read");
    let policy = |name: &str, deny: &str| {
        let text = format!(
            "[model]\nprovider = \"scripted\"\n[[plugin]]\nid = \"fs\"\nsource = \"builtin:fs\"\n\
             grant.filesystem = [{{ path = \".\" }}]\ngrant.kv = true\n\
             [[plugin]]\nid = \"todo\"\nsource = \"builtin:todo\"\ngrant.session = [\"todos\"]\n\
             [[plugin]]\nid = \"path-guard\"\nsource = \"builtin:path-guard\"\nconfig = {{ deny = [\"{deny}\"] }}\n"
        );
        user.write(name, &text).display().to_string()
    };
    let (same, other) = (
        policy("work/same.toml", ".git/**"),
        policy("work/other.toml", "*.md"),
    );
    let told = user.run(&["run", "hi", "--session", "s", "--config", &same]);
    assert_eq!(told.code, Some(0), "{}", told.err);

    let told = user.run(&["plugin", "backtest", "path-guard", "s", "--config", &same]);
    assert_eq!(
        (told.code, told.out.as_str()),
        (Some(0), "3 questions, 0 would be decided otherwise\n"),
        "{}",
        told.err
    );
    let told = user.run(&["plugin", "backtest", "path-guard", "s", "--config", &other]);
    assert_eq!(told.code, Some(1), "{}", told.err);
    expect_file!["seen/backtest.txt"].assert_eq(&told.out);
    let told = user.run(&[
        "plugin",
        "backtest",
        "path-guard",
        "s",
        "--config",
        &other,
        "--json",
    ]);
    assert_eq!(told.code, Some(1), "{}", told.err);
    expect_file!["seen/backtest.json"].assert_eq(&told.out);
}
