//! Does `fs` do with files what it says, and nothing outside of what it was granted?

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use hames_plugin::{Access, Cache, Folder, Grant, Plugin, PluginSpec};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, call_of, quiet};
use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::port::tool::Tool;
use hames_types::tool::ToolView;
use serde_json::json;

const ROOT: &str = ".";

/// `fs` on a folder of its own.
struct Desk {
    home: Home,
    plugin: Plugin,
    folder: tempfile::TempDir,
}

fn spec(folder: &Path, access: Access) -> PluginSpec {
    let mut spec = PluginSpec::new(PluginId::new("fs"), guests::wasip2("fs").unwrap());
    spec.grant = Grant {
        filesystem: vec![Folder {
            path: folder.to_owned(),
            name: ROOT.to_owned(),
            access,
        }],
        kv: true,
        ..Grant::default()
    };
    spec
}

/// It is the largest of the guests: compiled once for all tests.
fn home() -> Home {
    let cache = Cache::open(guests::root().join("target/guests/compiled")).unwrap();
    Home::with(Some(cache), None).unwrap()
}

impl Desk {
    async fn new(access: Access) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::at(folder, access).await
    }

    async fn at(folder: tempfile::TempDir, access: Access) -> Self {
        let home = home();
        let plugin = home.sandbox.load(spec(folder.path(), access)).await.unwrap();
        Self { home, plugin, folder }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.plugin.tools().unwrap();
        tools
            .into_iter()
            .find(|tool| tool.definition().schema.name == name)
            .unwrap()
    }

    /// What the session `one` is answered: text, or code and message.
    async fn ask(&self, name: &str, arguments: Json) -> Result<String, (String, String)> {
        self.ask_as("one", name, arguments).await
    }

    async fn ask_as(&self, session: &str, name: &str, arguments: Json) -> Result<String, (String, String)> {
        let tool = self.tool(name);
        match tool.execute(&call_of(&tool, session, arguments), &quiet()).await {
            Ok(output) => Ok(output.content.joined_text()),
            Err(fault) => Err((
                fault.trusted_code().unwrap_or_default().to_owned(),
                fault.message().to_owned(),
            )),
        }
    }

    async fn code(&self, name: &str, arguments: Json) -> String {
        match self.ask(name, arguments).await {
            Ok(text) => format!("no error but: {text}"),
            Err((code, message)) => {
                assert!(!message.is_empty());
                code
            }
        }
    }
}

#[tokio::test]
async fn fs_reads_lines_and_says_how_to_get_the_rest() {
    let desk = Desk::new(Access::ReadOnly).await;
    desk.write("a.txt", "one\r\ntwo\nthree");
    assert_eq!(
        desk.ask("read", json!({ "path": "a.txt" })).await.unwrap(),
        "1\tone\n2\ttwo\n3\tthree\n"
    );
    assert_eq!(
        desk.ask("read", json!({ "path": "./b/../a.txt", "from": 2, "lines": 1 }))
            .await
            .unwrap(),
        "2\ttwo\n(lines 2 to 2 of 3; for more: from = 3)"
    );
    assert_eq!(
        desk.ask("read", json!({ "path": "a.txt", "from": 3 }))
            .await
            .unwrap(),
        "3\tthree\n(lines 3 to 3, the end of the file)"
    );
    assert_eq!(
        desk.code("read", json!({ "path": "a.txt", "from": 4 })).await,
        "FILE_RANGE"
    );
    desk.write("empty", "");
    assert_eq!(
        desk.ask("read", json!({ "path": "empty" })).await.unwrap(),
        "(the file is empty)"
    );
}

#[tokio::test]
async fn fs_reads_a_file_of_any_size_in_bounded_parts() {
    let desk = Desk::new(Access::ReadOnly).await;
    let line = "x".repeat(99);
    let lines: String = (0..400_000).map(|at| format!("{line}{}\n", at % 10)).collect();
    assert!(lines.len() > 40_000_000);
    desk.write("large", &lines);
    let first = desk.ask("read", json!({ "path": "large" })).await.unwrap();
    assert!(first.len() < 50_000, "{}", first.len());
    assert!(
        first.ends_with("of a large file; for more: from = 470)"),
        "{}",
        &first[first.len() - 80..]
    );
    let far = desk
        .ask("read", json!({ "path": "large", "from": 399_999 }))
        .await
        .unwrap();
    assert!(
        far.ends_with("(lines 399999 to 400000, the end of the file)"),
        "{far}"
    );
    assert_eq!(
        desk.code("edit", json!({ "path": "large", "old": "x", "new": "y" }))
            .await,
        "FILE_TOO_LARGE"
    );

    desk.write("wide", "é".repeat(3_000_000));
    let wide = desk.ask("read", json!({ "path": "wide" })).await.unwrap();
    assert!(
        wide.contains("… (5998000 more bytes in this line)"),
        "{}",
        &wide[wide.len() - 80..]
    );
}

#[tokio::test]
async fn fs_refuses_what_is_not_text_and_says_what_to_do() {
    let desk = Desk::new(Access::ReadWrite).await;
    desk.write("binary", [1, 2, 0, 3]);
    desk.write("latin", [b'a', 0xe9, b'b']);
    desk.write("dir/report.txt", "x");
    for (path, code, says) in [
        ("binary", "FILE_BINARY", "use a tool made for its format"),
        ("latin", "FILE_NOT_UTF8", "convert it first"),
        ("dir", "FILE_IS_A_FOLDER", "list it"),
        (
            "dir/reprt.txt",
            "FILE_NOT_FOUND",
            "in its folder there is `report.txt`",
        ),
        (
            "dir/report.txt/x",
            "FILE_NOT_A_FOLDER",
            "list the folder above it",
        ),
        ("no/such", "FILE_NOT_FOUND", "its folder isn't there either"),
        ("a\0b", "FILE_PATH", "give another one"),
    ] {
        let (found, message) = desk.ask("read", json!({ "path": path })).await.unwrap_err();
        assert_eq!(found, code, "{path}: {message}");
        assert!(message.contains(says), "{path}: {message}");
    }
    assert_eq!(
        desk.code("list", json!({ "path": "dir/report.txt" })).await,
        "FILE_NOT_A_FOLDER"
    );
    assert_eq!(desk.code("grep", json!({ "pattern": "(" })).await, "FILE_PATTERN");
    assert_eq!(
        desk.code("glob", json!({ "pattern": "a[" })).await,
        "FILE_PATTERN"
    );
}

#[tokio::test]
async fn fs_edits_what_was_read_and_shows_the_difference() {
    let desk = Desk::new(Access::ReadWrite).await;
    desk.write("a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    let path = desk.folder.path().join("a.rs");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    desk.ask("read", json!({ "path": "a.rs" })).await.unwrap();
    let arguments = json!({ "path": "a.rs", "old": "fn b() {}", "new": "fn b(x: u8) {}" });
    let tool = desk.tool("edit");
    let output = tool
        .execute(&call_of(&tool, "one", arguments.clone()), &quiet())
        .await
        .unwrap();
    let text = output.content.joined_text();
    assert_eq!(
        text,
        "edited `a.rs` (+1 −1 lines)\n@@ -1,3 +1,3 @@\n fn a() {}\n-fn b() {}\n+fn b(x: u8) {}\n fn c() {}\n"
    );
    assert_eq!(desk.read("a.rs"), "fn a() {}\nfn b(x: u8) {}\nfn c() {}\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    let Some(ToolView::Diff(view)) = tool.present_result(&arguments, &output.content, output.meta.as_ref())
    else {
        panic!("no diff is shown");
    };
    assert_eq!(view.before.as_deref(), Some("fn a() {}\nfn b() {}\nfn c() {}\n"));
    assert_eq!(view.after, "fn a() {}\nfn b(x: u8) {}\nfn c() {}\n");
    // What it wrote itself it knows.
    desk.ask("edit", json!({ "path": "a.rs", "old": "fn c", "new": "fn d" }))
        .await
        .unwrap();
}

#[tokio::test]
async fn fs_changes_nothing_that_was_not_read_or_has_changed_since() {
    let desk = Desk::new(Access::ReadWrite).await;
    desk.write("a", "one\n");
    let edit = || json!({ "path": "a", "old": "one", "new": "two" });
    let write = || json!({ "path": "a", "content": "two\n" });
    assert_eq!(desk.code("edit", edit()).await, "FILE_UNREAD");
    assert_eq!(desk.code("write", write()).await, "FILE_UNREAD");
    desk.ask_as("another", "read", json!({ "path": "a" }))
        .await
        .unwrap();
    assert_eq!(desk.code("edit", edit()).await, "FILE_UNREAD");
    desk.ask("read", json!({ "path": "a" })).await.unwrap();
    desk.write("a", "one!\n");
    assert_eq!(desk.code("edit", edit()).await, "FILE_CHANGED");
    assert_eq!(desk.code("write", write()).await, "FILE_CHANGED");
    assert_eq!(desk.read("a"), "one!\n");
    desk.ask("read", json!({ "path": "a" })).await.unwrap();
    desk.ask("write", write()).await.unwrap();
    assert_eq!(desk.read("a"), "two\n");
    // The note is in the store, not in an instance: a plugin loaded anew on the same store knows it.
    let again = desk
        .home
        .sandbox
        .load(spec(desk.folder.path(), Access::ReadWrite))
        .await
        .unwrap();
    let tool = again
        .tools()
        .unwrap()
        .into_iter()
        .find(|tool| tool.definition().schema.name == "edit")
        .unwrap();
    let arguments = json!({ "path": "a", "old": "two", "new": "three" });
    tool.execute(&call_of(&tool, "one", arguments), &quiet())
        .await
        .unwrap();
    assert_eq!(desk.read("a"), "three\n");
}

#[tokio::test]
async fn fs_edits_one_place_exactly() {
    let desk = Desk::new(Access::ReadWrite).await;
    desk.write("a", "x = 1\ny = 1\n  z = 2\n");
    desk.ask("read", json!({ "path": "a" })).await.unwrap();
    let (code, message) = desk
        .ask("edit", json!({ "path": "a", "old": "= 1", "new": "= 3" }))
        .await
        .unwrap_err();
    assert_eq!(code, "FILE_EDIT_AMBIGUOUS");
    assert!(message.contains("2 times (in lines 1, 2)"), "{message}");
    let (code, message) = desk
        .ask("edit", json!({ "path": "a", "old": "\tz = 2\n", "new": "" }))
        .await
        .unwrap_err();
    assert_eq!(code, "FILE_EDIT_ABSENT");
    assert!(message.contains("like line 3"), "{message}");
    assert_eq!(
        desk.code("edit", json!({ "path": "a", "old": "", "new": "x" }))
            .await,
        "FILE_EDIT_EMPTY"
    );
    assert_eq!(
        desk.code("edit", json!({ "path": "a", "old": "x", "new": "x" }))
            .await,
        "FILE_EDIT_SAME"
    );
    desk.ask(
        "edit",
        json!({ "path": "a", "old": "= 1", "new": "= 3", "all": true }),
    )
    .await
    .unwrap();
    assert_eq!(desk.read("a"), "x = 3\ny = 3\n  z = 2\n");

    desk.write("dos", "one\r\ntwo\r\nthree\r\n");
    desk.ask("read", json!({ "path": "dos" })).await.unwrap();
    desk.ask("edit", json!({ "path": "dos", "old": "one\ntwo", "new": "1\n2" }))
        .await
        .unwrap();
    assert_eq!(desk.read("dos"), "1\r\n2\r\nthree\r\n");
}

#[tokio::test]
async fn fs_makes_files_with_the_folders_above_them() {
    let desk = Desk::new(Access::ReadWrite).await;
    let text = desk
        .ask("write", json!({ "path": "new/deep/a.txt", "content": "hi\n" }))
        .await
        .unwrap();
    assert!(text.starts_with("made `new/deep/a.txt` (+1 −0 lines)"), "{text}");
    assert_eq!(desk.read("new/deep/a.txt"), "hi\n");
    assert_eq!(
        desk.ask("list", json!({ "path": "new" })).await.unwrap(),
        "deep/\n"
    );
    assert_eq!(
        desk.ask("list", json!({ "path": "new/deep" })).await.unwrap(),
        "a.txt  3\n"
    );
}

#[tokio::test]
async fn fs_finds_by_name_and_by_content_what_is_not_ignored() {
    let desk = Desk::new(Access::ReadOnly).await;
    desk.write(".gitignore", "target/\n");
    desk.write("src/main.rs", "fn main() {\n    let answer = 42;\n}\n");
    desk.write("src/deep/lib.rs", "// ANSWER\nfn answer() {}\n");
    desk.write("target/out.rs", "answer\n");
    desk.write(".git/config", "answer\n");
    desk.write("picture", b"answer\0");
    assert_eq!(
        desk.ask("glob", json!({ "pattern": "*.rs" })).await.unwrap(),
        "src/deep/lib.rs\nsrc/main.rs\n"
    );
    assert_eq!(
        desk.ask("glob", json!({ "pattern": "src/*.rs" })).await.unwrap(),
        "src/main.rs\n"
    );
    assert_eq!(
        desk.ask("glob", json!({ "pattern": "*.rs", "path": "src/deep" }))
            .await
            .unwrap(),
        "src/deep/lib.rs\n"
    );
    assert_eq!(
        desk.ask("glob", json!({ "pattern": "out.rs", "ignored": true }))
            .await
            .unwrap(),
        "target/out.rs\n"
    );
    assert_eq!(
        desk.ask("glob", json!({ "pattern": "*.py" })).await.unwrap(),
        "(no file matches)"
    );
    assert_eq!(
        desk.ask("grep", json!({ "pattern": "answer" })).await.unwrap(),
        "src/deep/lib.rs:2: fn answer() {}\nsrc/main.rs:2:     let answer = 42;\n\
         (1 files were left out: binary, unreadable or over 4194304 bytes)\n"
    );
    assert_eq!(
        desk.ask(
            "grep",
            json!({ "pattern": "^// answer$", "ignore_case": true, "glob": "*.rs", "around": 1 })
        )
        .await
        .unwrap(),
        "src/deep/lib.rs:1: // ANSWER\nsrc/deep/lib.rs-2- fn answer() {}\n"
    );
    assert_eq!(
        desk.ask("grep", json!({ "pattern": "answer", "path": "src/main.rs" }))
            .await
            .unwrap(),
        "src/main.rs:2:     let answer = 42;\n"
    );
}

#[tokio::test]
async fn fs_passes_over_what_is_no_file() {
    let desk = Desk::new(Access::ReadOnly).await;
    desk.write("note", "the answer\n");
    let pipe = desk.folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let got = desk.ask("grep", json!({ "pattern": "answer" })).await.unwrap();
    assert!(got.starts_with("note:1: the answer\n"), "{got}");
    assert!(desk.ask("read", json!({ "path": "pipe" })).await.is_err());
}

#[tokio::test]
async fn fs_answers_within_bounds_however_much_there_is() {
    let desk = Desk::new(Access::ReadOnly).await;
    for at in 0..700 {
        desk.write(&format!("many/f{at:04}"), "match me\n".repeat(20));
    }
    let listed = desk.ask("list", json!({ "path": "many" })).await.unwrap();
    assert!(
        listed.ends_with("(200 more; for them: after = \"f0499\")"),
        "{}",
        &listed[listed.len() - 60..]
    );
    let rest = desk
        .ask("list", json!({ "path": "many", "after": "f0499" }))
        .await
        .unwrap();
    assert_eq!(rest.lines().count(), 200);
    let found = desk.ask("glob", json!({ "pattern": "f*" })).await.unwrap();
    assert_eq!(found.lines().count(), 501);
    let found = desk.ask("grep", json!({ "pattern": "match" })).await.unwrap();
    assert!(
        found.contains("(100 matching lines, there are more; narrow"),
        "{found}"
    );
    let found = desk
        .ask("grep", json!({ "pattern": "match", "limit": 1000, "around": 5 }))
        .await
        .unwrap();
    assert!(found.len() < 40_000, "{}", found.len());
}

#[tokio::test]
async fn fs_leads_nowhere_outside_of_its_folder() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let folder = tempfile::tempdir_in(outside.path()).unwrap();
    symlink(outside.path().join("secret"), folder.path().join("absolute")).unwrap();
    symlink("../secret", folder.path().join("relative")).unwrap();
    symlink("..", folder.path().join("up")).unwrap();
    symlink("/", folder.path().join("top")).unwrap();
    let host = outside.path().join("secret").display().to_string();
    let desk = Desk::at(folder, Access::ReadWrite).await;
    for path in [
        "../secret",
        "a/../../secret",
        "absolute",
        "relative",
        "up/secret",
        "top/etc/passwd",
        "/etc/passwd",
        host.as_str(),
    ] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "gone" })),
            ("edit", json!({ "path": path, "old": "secret", "new": "gone" })),
            ("grep", json!({ "path": path, "pattern": "secret" })),
            ("list", json!({ "path": path })),
        ] {
            let code = desk.code(tool, arguments).await;
            assert!(
                matches!(code.as_str(), "FILE_OUTSIDE" | "FILE_DENIED"),
                "{tool} {path}: {code}"
            );
        }
    }
    assert_eq!(
        fs::read_to_string(outside.path().join("secret")).unwrap(),
        "secret"
    );
    let found = desk.ask("grep", json!({ "pattern": "secret" })).await.unwrap();
    assert_eq!(found, "(no line matches)\n");
    let listed = desk.ask("list", json!({})).await.unwrap();
    assert_eq!(listed, "absolute@\nrelative@\ntop@\nup@\n");
}

#[tokio::test]
async fn fs_shows_nothing_of_what_is_hidden_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let home = home();
    let mut hiding = spec(folder.path(), Access::ReadWrite);
    hiding.config = json!({ "hide": [".env*", "keys/**", "sub/.git"] });
    let plugin = home.sandbox.load(hiding).await.unwrap();
    let desk = Desk { home, plugin, folder };
    for name in [
        ".env",
        "a/.env.local",
        "keys/one",
        "sub/.git/config",
        "open",
        "a/open",
    ] {
        desk.write(name, "secret\n");
    }
    let at = |name: &str| desk.folder.path().join(name);
    symlink(".env", at("link")).unwrap();
    symlink("link", at("again")).unwrap();
    symlink("../keys", at("a/folder")).unwrap();
    symlink("loop", at("loop")).unwrap();
    for path in [
        ".env",
        "./a/../.env",
        "a/.env.local",
        ".ENV",
        "keys",
        "keys/one",
        "keys/new",
        "sub/.git",
        "link",
        "again",
        "a/folder",
        "a/folder/one",
    ] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "gone" })),
            ("edit", json!({ "path": path, "old": "secret", "new": "gone" })),
            ("list", json!({ "path": path })),
            ("glob", json!({ "path": path, "pattern": "*" })),
            ("grep", json!({ "path": path, "pattern": "secret" })),
        ] {
            assert_eq!(desk.code(tool, arguments).await, "FILE_HIDDEN", "{tool} {path}");
        }
    }
    for glob in [None, Some(".env*"), Some("**/.env"), Some("keys/*")] {
        let all = json!({ "pattern": "secret", "ignored": true, "glob": glob });
        let found = desk.ask("grep", all).await.unwrap();
        let expected = glob.map_or("a/open:1: secret\nopen:1: secret\n", |_| "(no line matches)\n");
        assert_eq!(found, expected, "{glob:?}");
    }
    let named = desk
        .ask("glob", json!({ "pattern": "**/*", "ignored": true }))
        .await;
    assert_eq!(named.unwrap(), "a/open\nopen\n");
    let listed = desk.ask("list", json!({})).await.unwrap();
    assert_eq!(listed, "a/\nagain@\nlink@\nloop@\nopen  7\nsub/\n");
    let (_, hint) = desk
        .ask("read", json!({ "path": "a/.enw.local" }))
        .await
        .unwrap_err();
    assert!(!hint.contains(".env"), "{hint}");
    assert_eq!(desk.code("read", json!({ "path": "loop" })).await, "FILE_FAILED");
    assert_eq!(desk.read(".env"), "secret\n");
}

#[tokio::test]
async fn fs_with_a_read_only_grant_changes_nothing() {
    let desk = Desk::new(Access::ReadOnly).await;
    desk.write("a", "one\n");
    desk.ask("read", json!({ "path": "a" })).await.unwrap();
    for (tool, arguments) in [
        ("write", json!({ "path": "a", "content": "two" })),
        ("write", json!({ "path": "b", "content": "two" })),
        ("write", json!({ "path": "c/d", "content": "two" })),
        ("edit", json!({ "path": "a", "old": "one", "new": "two" })),
    ] {
        let (code, message) = desk.ask(tool, arguments).await.unwrap_err();
        assert_eq!(code, "FILE_DENIED", "{message}");
        assert!(message.contains("read-only"), "{message}");
    }
    assert_eq!(desk.ask("list", json!({})).await.unwrap(), "a  4\n");
    assert_eq!(desk.read("a"), "one\n");
}

#[tokio::test]
async fn fs_does_not_start_without_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let home = home();
    let mut elsewhere = spec(folder.path(), Access::ReadOnly);
    elsewhere.config = json!({ "root": "/elsewhere" });
    let error = home.sandbox.load(elsewhere).await.unwrap_err();
    let text = format!("{:#}", anyhow::Error::from(error));
    assert!(
        text.contains("the root `/elsewhere`") && text.contains("grant it"),
        "{text}"
    );
    let mut wrong = spec(folder.path(), Access::ReadOnly);
    wrong.config = json!({ "hide": ["a["] });
    let error = home.sandbox.load(wrong).await.unwrap_err();
    assert!(format!("{:#}", anyhow::Error::from(error)).contains("`a[`"));
    let mut misspelt = spec(folder.path(), Access::ReadOnly);
    misspelt.config = json!({ "rot": "." });
    let error = home.sandbox.load(misspelt).await.unwrap_err();
    assert!(error.to_string().contains("rot"), "{error}");
}
