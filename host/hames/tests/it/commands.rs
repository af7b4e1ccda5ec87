//! What do the commands on sessions and plugins print, and how do they end?

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::kit::User;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command, its code and all that it said, without what differs from machine to machine.
fn told(user: &User, arguments: &[&str]) -> String {
    let told = user.run(arguments);
    let text = format!(
        "$ hames {}\n{}{}[{}]\n\n",
        arguments.join(" "),
        told.out,
        told.err,
        told.code.unwrap()
    );
    stable(&text.replace(&root().display().to_string(), "[HAMES]"))
}

/// A user with the two recorded sessions stored.
fn with_sessions() -> User {
    let user = User::new();
    for name in [
        "two-turns/_no-cwd/two-turns.jsonl",
        "rich/cwd-2a8e15b3ff99/child.jsonl",
    ] {
        let file = root().join("tests/conformance/jsonl").join(name);
        let told = user.run(&["sessions", "import", &file.display().to_string()]);
        assert_eq!(told.code, Some(0), "{told:?}");
    }
    user
}

/// Digests and sizes of what was built change with every compiler.
fn stable(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("sha256:") {
        let (before, digest) = rest.split_at(at);
        out.push_str(before);
        out.push_str("sha256:…");
        rest = digest
            .trim_start_matches("sha256:")
            .trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
    }
    out.push_str(rest);
    out.lines()
        .map(|line| format!("{}\n", without_sizes(line)))
        .collect()
}

/// Sizes in bytes, in text and in JSON.
fn without_sizes(line: &str) -> String {
    let is_digit = |letter: char| letter.is_ascii_digit();
    if let Some((before, after)) = line.split_once("\"bytes\":") {
        return format!("{before}\"bytes\":0{}", after.trim_start_matches(is_digit));
    }
    match line.split_once(" bytes") {
        Some((before, after)) if before.ends_with(is_digit) => {
            format!("{}… bytes{after}", before.trim_end_matches(is_digit))
        }
        _ => line.to_owned(),
    }
}

#[test]
fn help_texts() {
    let user = User::new();
    let commands: &[&[&str]] = &[
        &["sessions"],
        &["sessions", "list"],
        &["sessions", "show"],
        &["sessions", "search"],
        &["sessions", "fork"],
        &["sessions", "export"],
        &["sessions", "import"],
        &["sessions", "delete"],
        &["replay"],
        &["plugin"],
        &["plugin", "list"],
        &["plugin", "inspect"],
        &["plugin", "check"],
        &["plugin", "pack"],
        &["tool", "call"],
    ];
    let text: String = commands
        .iter()
        .map(|command| told(&user, &[*command, &["-h"]].concat()))
        .collect();
    expect_file!["seen/help-of-tools.txt"].assert_eq(&text);
}

#[test]
fn sessions_are_listed_shown_searched_and_moved() {
    let user = with_sessions();
    let mut text = String::new();
    let mut run = |arguments: &[&str]| text.push_str(&told(&user, arguments));
    run(&["sessions", "list"]);
    run(&["sessions", "list", "--json"]);
    run(&["sessions", "show", "two"]);
    run(&["sessions", "show", "two-turns", "--events"]);
    run(&["sessions", "search", "hello"]);
    run(&["sessions", "search", "hello", "--json"]);
    run(&["sessions", "search", "nowhere"]);
    run(&["sessions", "fork", "two-turns", "--turn", "1", "--as", "half"]);
    run(&["sessions", "fork", "two-turns", "--turn", "9"]);
    run(&["sessions", "show", "three"]);
    run(&["sessions", "export", "two-turns", "log.jsonl"]);
    run(&["sessions", "export", "two-turns", "log.jsonl"]);
    run(&["sessions", "import", "log.jsonl"]);
    run(&["sessions", "import", "nothing.jsonl", "--json"]);
    run(&["sessions", "delete", "two-turns"]);
    run(&["sessions", "delete", "two-turns", "half", "--yes"]);
    run(&["sessions", "import", "log.jsonl", "--json"]);
    run(&["sessions", "list"]);
    expect_file!["seen/sessions.txt"].assert_eq(&text);
    // What goes out and comes in again is what it was, byte for byte.
    let recorded =
        fs::read(root().join("tests/conformance/jsonl/two-turns/_no-cwd/two-turns.jsonl")).unwrap();
    assert_eq!(fs::read(user.folder().join("log.jsonl")).unwrap(), recorded);
    let exported = user
        .command(&["sessions", "export", "two-turns"])
        .output()
        .unwrap();
    assert_eq!(exported.stdout, recorded);
}

#[test]
fn a_session_is_replayed_and_a_difference_is_found() {
    let user = with_sessions();
    let mut text = told(&user, &["replay", "two-turns"]);
    text.push_str(&told(&user, &["replay", "two-turns", "--json"]));
    // Nothing of the loop could have led to a second prompt in the turn.
    let recorded =
        fs::read_to_string(root().join("tests/conformance/jsonl/two-turns/_no-cwd/two-turns.jsonl")).unwrap();
    let mut lines: Vec<serde_json::Value> = recorded
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut second = lines[2].clone();
    second["data"]["content"][0]["text"] = "and more".into();
    lines[1]["type"] = "user/message".into();
    lines.insert(3, second);
    lines[0]["id"] = "forged".into();
    lines[1]["type"] = "turn/start".into();
    for (at, line) in lines.iter_mut().skip(1).enumerate() {
        line["seq"] = at.into();
        if let Some(sources) = line
            .get_mut("sourceEventSeqs")
            .and_then(|sources| sources.as_array_mut())
        {
            for source in sources {
                *source = (source.as_u64().unwrap() + 1).into();
            }
        }
    }
    let forged: String = lines.iter().map(|line| format!("{line}\n")).collect();
    user.write("work/forged.jsonl", &forged);
    text.push_str(&told(&user, &["sessions", "import", "forged.jsonl"]));
    text.push_str(&told(&user, &["replay", "forged"]));
    text.push_str(&told(&user, &["replay", "forged", "--json"]));
    expect_file!["seen/replay.txt"].assert_eq(&text);
}

#[test]
fn plugins_are_inspected_checked_and_called() {
    let user = User::new();
    user.write("work/note.txt", "one\ntwo\n");
    user.write(
        "work/grants.toml",
        "[[plugin]]\nid = \"fs\"\nsource = \"builtin:fs\"\n[plugin.grant]\nkv = true\nclocks = \"real\"\n\
         filesystem = [{ path = \".\" }]\n\n[[plugin]]\nid = \"todo\"\nsource = \"builtin:todo\"\n",
    );
    let mut text = String::new();
    let mut run = |arguments: &[&str]| {
        text.push_str(&told(&user, &[&["--config", "grants.toml"], arguments].concat()));
    };
    run(&["plugin", "list"]);
    run(&["plugin", "inspect", "fs"]);
    run(&["plugin", "inspect", "builtin:hello"]);
    run(&["plugin", "inspect", "builtin:hello", "--json"]);
    run(&["plugin", "inspect", "nothing"]);
    run(&["plugin", "check"]);
    run(&["plugin", "check", "--json"]);
    run(&["tool", "call", "fs", "read", r#"{"path":"note.txt","from":2}"#]);
    run(&[
        "tool",
        "call",
        "fs",
        "read",
        r#"{"path":"note.txt","from":2}"#,
        "--json",
    ]);
    run(&["tool", "call", "fs", "read", r#"{"path":"../secret"}"#]);
    run(&["tool", "call", "fs", "read", r#"{"path":"../secret"}"#, "--json"]);
    run(&["tool", "call", "fs", "write", r#"{"path":"new","content":"x"}"#]);
    run(&["tool", "call", "fs", "read", r#"{"file":"note.txt"}"#]);
    run(&["tool", "call", "fs", "reed", "{}"]);
    run(&["tool", "call", "builtin:hello", "hello", "{\"name\": "]);
    run(&["tool", "call", "builtin:hello", "hello", r#"{"name":"Ada"}"#]);
    run(&["tool", "call", "todo", "todo_write", r#"{"todos":[]}"#]);
    expect_file!["seen/plugins.txt"].assert_eq(&text);
    assert!(!user.folder().join("new").exists());
}

/// A core module without one of its custom sections.
fn without_section(module: &[u8], name: &str) -> Vec<u8> {
    let (head, mut rest) = module.split_at(8);
    let mut kept = head.to_vec();
    while let Some((id, after)) = rest.split_first() {
        let digits = after.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let size = after[..digits]
            .iter()
            .rev()
            .fold(0_usize, |size, byte| size << 7 | usize::from(byte & 0x7f));
        let whole = 1 + digits + size;
        let body = &rest[1 + digits..whole];
        if *id != 0 || !body[1..].starts_with(name.as_bytes()) {
            kept.extend_from_slice(&rest[..whole]);
        }
        rest = &rest[whole..];
    }
    kept
}

/// The whole way of a component of another language: bare, packed, inspected, called.
#[test]
fn a_component_is_packed_with_a_manifest() {
    let user = User::new();
    let built = Path::new(env!("CARGO_BIN_EXE_hames"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("guests/wasm32-unknown-unknown/guest/hello.wasm");
    let bare = without_section(&fs::read(built).unwrap(), "hames:manifest");
    fs::write(user.folder().join("bare.wasm"), &bare).unwrap();
    user.write(
        "work/plugin.toml",
        "id = \"greeter\"\nversion = \"1.2.3\"\n[[wants]]\ngrant = \"kv\"\nreason = \"counts\"\n\
         [config]\ntype = \"object\"\n",
    );
    user.write("work/bad.toml", "id = \"greeter\"\n");
    let mut text = String::new();
    let mut run = |arguments: &[&str]| text.push_str(&told(&user, arguments));
    run(&["plugin", "pack", "bare.wasm", "-o", "greeter.wasm"]);
    run(&["plugin", "pack", "bare.wasm", "-o", "greeter.wasm", "--json"]);
    run(&["plugin", "pack", "greeter.wasm", "-o", "same.wasm"]);
    run(&[
        "plugin",
        "pack",
        "greeter.wasm",
        "--manifest",
        "plugin.toml",
        "-o",
        "bad.wasm",
    ]);
    run(&[
        "plugin",
        "pack",
        "bare.wasm",
        "--manifest",
        "bad.toml",
        "-o",
        "bad.wasm",
    ]);
    run(&[
        "plugin",
        "pack",
        "bare.wasm",
        "--manifest",
        "none.toml",
        "-o",
        "bad.wasm",
    ]);
    run(&["plugin", "pack", "plugin.toml", "-o", "bad.wasm"]);
    run(&["plugin", "inspect", "greeter.wasm"]);
    run(&["tool", "call", "greeter.wasm", "hello", r#"{"name":"Ada"}"#]);
    expect_file!["seen/pack.txt"].assert_eq(&text);
    assert!(!user.folder().join("bad.wasm").exists());
}

/// A program that reads the list of what can be done relies on these names.
#[test]
fn every_line_of_json_says_its_type() {
    let user = with_sessions();
    let commands: &[&[&str]] = &[
        &["sessions", "list"],
        &["sessions", "search", "hello"],
        &["sessions", "show", "two-turns"],
        &["sessions", "show", "nothing"],
        &["replay", "two-turns"],
        &["plugin", "list"],
        &["plugin", "inspect", "builtin:todo"],
        &["plugin", "check", "builtin:hello"],
        &["tool", "call", "builtin:hello", "hello", "{}"],
    ];
    for command in commands {
        let told = user.run(&[*command, &["--json"]].concat());
        let lines: Vec<serde_json::Value> = told
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty(), "{command:?}");
        assert!(
            lines.iter().all(|line| line["type"].is_string()),
            "{command:?}: {lines:?}"
        );
    }
}
