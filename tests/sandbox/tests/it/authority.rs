//! Can a plugin reach what it wasn't granted? Files, environment, clocks, randomness, and what others keep.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hames_plugin::{Access, Clocks, Folder, Grant, PluginSpec, Random};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, NOW_MS, call, first_tool, quiet};
use hames_sandbox_tests::trial::narrow;
use hames_types::id::PluginId;
use hames_types::port::tool::Tool;
use serde_json::json;

fn grant(folders: &[(&Path, &str, Access)]) -> Grant {
    Grant {
        filesystem: folders
            .iter()
            .map(|(path, name, access)| Folder {
                path: path.to_path_buf(),
                name: (*name).to_owned(),
                access: *access,
            })
            .collect(),
        environment: vec![("GREETING".to_owned(), "hello".to_owned())],
        clocks: Some(Clocks::Real),
        random: Some(Random::Seeded(7)),
        kv: true,
        ..Grant::default()
    }
}

async fn load(home: &Home, id: &str, grant: Grant) -> Arc<dyn Tool> {
    let component = guests::wasip2("reach").unwrap();
    let manifest = fs::read_to_string(guests::root().join("tests/guests/reach/manifest.json")).unwrap();
    assert!(manifest.contains("\"reach\""));
    let mut spec = PluginSpec::new(PluginId::new(id), component);
    spec.grant = grant;
    spec.limits = narrow();
    spec.limits.call = Duration::from_secs(10);
    first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap()
}

/// What the plugin got, or the code or message of its failure.
async fn reach(tool: &Arc<dyn Tool>, what: &str, path: &str, more: &str) -> Result<String, String> {
    let arguments = json!({ "what": what, "path": path, "more": more });
    tool.execute(&call(tool, arguments), &quiet())
        .await
        .map(|output| output.content.joined_text())
        .map_err(|fault| fault.trusted_code().unwrap_or_else(|| fault.message()).to_owned())
}

#[tokio::test]
async fn a_folder_can_not_be_left() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let (ro, rw) = (outside.path().join("ro"), outside.path().join("rw"));
    fs::create_dir(&ro).unwrap();
    fs::create_dir(&rw).unwrap();
    fs::write(ro.join("note"), "note").unwrap();
    fs::write(rw.join("draft"), "draft").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), rw.join("absolute")).unwrap();
    std::os::unix::fs::symlink("../secret", rw.join("relative")).unwrap();
    std::os::unix::fs::symlink("..", rw.join("up")).unwrap();
    std::os::unix::fs::symlink("/", rw.join("root")).unwrap();
    std::os::unix::fs::symlink("/proc/self/root", rw.join("magic")).unwrap();

    let home = Home::new().unwrap();
    let granted = grant(&[(&ro, "/ro", Access::ReadOnly), (&rw, "/rw", Access::ReadWrite)]);
    let tool = load(&home, "reach", granted).await;
    assert_eq!(reach(&tool, "read", "/ro/note", "").await.unwrap(), "note");
    assert_eq!(reach(&tool, "read", "/rw/draft", "").await.unwrap(), "draft");
    reach(&tool, "write", "/rw/new", "new").await.unwrap();
    assert_eq!(fs::read_to_string(rw.join("new")).unwrap(), "new");

    let host = outside.path().join("secret").display().to_string();
    for path in [
        "/rw/../secret",
        "/rw/./../secret",
        "/ro/../secret",
        "/rw/absolute",
        "/rw/relative",
        "/rw/up/secret",
        "/rw/root/etc/hostname",
        "/rw/magic/etc/hostname",
        "/rw/new/../../secret",
        "../secret",
        "secret",
        "/secret",
        "/etc/hostname",
        "/rw\0/../secret",
        "/proc/self/environ",
        host.as_str(),
    ] {
        for what in ["read", "write", "remove", "list"] {
            let got = reach(&tool, what, path, "overwritten").await;
            // The links themselves lie inside; taking one away harms nobody.
            let is_link_removal =
                what == "remove" && fs::read_link(rw.join(path.trim_start_matches("/rw/"))).is_err();
            assert!(got.is_err() || is_link_removal, "{what} {path:?} gave {got:?}");
        }
    }
    assert_eq!(
        fs::read_to_string(outside.path().join("secret")).unwrap(),
        "secret"
    );
}

#[tokio::test]
async fn a_read_only_folder_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (ro, rw) = (folder.path().join("ro"), folder.path().join("rw"));
    fs::create_dir(&ro).unwrap();
    fs::create_dir(&rw).unwrap();
    fs::write(ro.join("note"), "note").unwrap();
    let home = Home::new().unwrap();
    let granted = grant(&[(&ro, "/ro", Access::ReadOnly), (&rw, "/rw", Access::ReadWrite)]);
    let tool = load(&home, "reach", granted).await;
    for (what, path, more) in [
        ("write", "/ro/note", "changed"),
        ("write", "/ro/new", "new"),
        ("remove", "/ro/note", ""),
        ("rename", "/ro/note", "/rw/note"),
        ("rename", "/ro/note", "/ro/other"),
        ("hard_link", "/rw/alias", "/ro/note"),
        ("symlink", "/ro/link", "note"),
        ("symlink", "/rw/out", "/etc"),
    ] {
        let got = reach(&tool, what, path, more).await;
        assert!(got.is_err(), "{what} {path} {more} gave {got:?}");
    }
    assert_eq!(fs::read_to_string(ro.join("note")).unwrap(), "note");
    assert_eq!(fs::read_dir(&ro).unwrap().count(), 1);
    // A link that leads out can't be followed even if the guest could make it.
    assert!(reach(&tool, "read", "/rw/out/hostname", "").await.is_err());
}

#[tokio::test]
async fn files_kept_open_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("note"), "note").unwrap();
    let home = Home::new().unwrap();
    let tool = load(
        &home,
        "reach",
        grant(&[(folder.path(), "/rw", Access::ReadWrite)]),
    )
    .await;
    assert_eq!(reach(&tool, "open", "/rw/note", "100").await.unwrap(), "100");
    assert_eq!(
        reach(&tool, "open", "/rw/note", "600").await,
        Err("PLUGIN_LIMIT_RESOURCES".to_owned())
    );
    assert_eq!(reach(&tool, "read", "/rw/note", "").await.unwrap(), "note");
}

/// Somebody outside swaps a folder for a link again and again while the plugin reads through it.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_does_not_lead_out() {
    let outside = tempfile::tempdir().unwrap();
    let rw = outside.path().join("rw");
    fs::create_dir_all(rw.join("real")).unwrap();
    fs::write(rw.join("real/secret"), "inside").unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let home = Home::new().unwrap();
    let tool = load(&home, "reach", grant(&[(&rw, "/rw", Access::ReadWrite)])).await;
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapping = {
        let (stop, rw) = (Arc::clone(&stop), rw.clone());
        std::thread::spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for target in ["real", ".."] {
                    drop(fs::remove_file(rw.join("next")));
                    drop(std::os::unix::fs::symlink(target, rw.join("next")));
                    drop(fs::rename(rw.join("next"), rw.join("door")));
                }
            }
        })
    };
    let mut inside = 0;
    for _ in 0..300 {
        if let Ok(text) = reach(&tool, "read", "/rw/door/secret", "").await {
            assert!(matches!(text.as_str(), "inside" | ""), "{text}");
            inside += 1;
        }
        for what in ["write", "remove", "list"] {
            drop(reach(&tool, what, "/rw/door/secret", "inside").await);
        }
        drop(reach(&tool, "rename", "/rw/door/secret", "/rw/door/new").await);
        drop(reach(&tool, "write", "/rw/real/secret", "inside").await);
    }
    assert_eq!(
        fs::read_to_string(outside.path().join("secret")).unwrap(),
        "secret"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 2);
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(inside > 0, "the race was never won, so nothing was shown");
}

/// A pipe that nobody writes to, a socket, a device: nothing of it keeps a thread of the host waiting.
#[tokio::test]
async fn what_is_no_file_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    let home = Home::new().unwrap();
    let granted = grant(&[(folder.path(), "/rw", Access::ReadWrite)]);
    let tool = load(&home, "reach", granted).await;
    let begun = std::time::Instant::now();
    let mut all = Vec::new();
    for what in ["read", "write"] {
        for name in ["pipe", "socket"] {
            all.push(reach(&tool, what, &format!("/rw/{name}"), "x").await);
        }
    }
    let took = begun.elapsed();
    // Whoever waits for the other end after all waits no longer, so that a failure ends, too.
    drop(fs::File::options().read(true).write(true).open(&pipe).unwrap());
    assert!(took < Duration::from_secs(5), "{took:?}: {all:?}");
    assert!(all.iter().all(Result::is_err), "{all:?}");
}

#[tokio::test]
async fn what_is_granted_is_all_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new().unwrap();
    let tool = load(&home, "reach", grant(&[(folder.path(), "/", Access::ReadOnly)])).await;
    assert_eq!(
        reach(&tool, "environment", "", "").await.unwrap(),
        "GREETING=hello"
    );
    assert_eq!(reach(&tool, "arguments", "", "").await.unwrap(), "");
    assert_eq!(reach(&tool, "stdin", "", "").await.unwrap(), "");
    assert_eq!(reach(&tool, "clock", "", "").await.unwrap(), NOW_MS.to_string());
    let first = reach(&tool, "random", "", "").await.unwrap();
    assert_eq!(
        reach(&tool, "random", "", "").await.unwrap(),
        first,
        "every call gets the same numbers"
    );
    assert!(reach(&tool, "thread", "", "").await.is_err());
    assert_eq!(reach(&tool, "exit", "", "").await, Err("PLUGIN_EXIT".to_owned()));
    assert_eq!(
        reach(&tool, "panic", "", "dear me").await,
        Err("PLUGIN_TRAP".to_owned())
    );
    assert_eq!(
        reach(&tool, "allocate", "", "100").await,
        Err("PLUGIN_LIMIT_MEMORY".to_owned())
    );
    assert_eq!(reach(&tool, "stdout", "", "100").await.unwrap(), "written");
    for stream in ["stdout", "stderr"] {
        let flood = reach(&tool, stream, "", "1000000").await;
        assert_eq!(flood, Err("PLUGIN_LIMIT_STREAMS".to_owned()), "{stream}");
    }
    assert_eq!(reach(&tool, "sleep", "", "1").await.unwrap(), "slept");
    assert_eq!(
        reach(&tool, "sleep", "", "60000").await,
        Err("PLUGIN_DEADLINE".to_owned())
    );
}

#[tokio::test]
async fn one_plugin_does_not_see_what_another_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new().unwrap();
    let tool = load(&home, "reach", grant(&[(folder.path(), "/", Access::ReadOnly)])).await;
    use hames_types::port::plugin::{PluginStore, Quota};
    let quota = Quota {
        keys: 10,
        bytes: 1_000,
    };
    home.store
        .set(&PluginId::new("other"), "token", b"\"theirs\"".to_vec(), quota)
        .unwrap();
    for key in [
        "token",
        "other/token",
        "../other/token",
        "other:token",
        "other\0token",
    ] {
        assert_eq!(reach(&tool, "kept", key, "").await.unwrap(), "nothing", "{key:?}");
    }
    assert_eq!(reach(&tool, "keep", "token", "ours").await.unwrap(), "kept");
    assert_eq!(reach(&tool, "kept", "token", "").await.unwrap(), "ours");
    let theirs = home.store.get(&PluginId::new("other"), "token").unwrap();
    assert_eq!(theirs.as_deref(), Some(&b"\"theirs\""[..]));
    assert!(reach(&tool, "keep", &"k".repeat(257), "x").await.is_err());
    assert!(reach(&tool, "keep", "", "x").await.is_err());
}

/// A view is asked for on replay, so it depends on nothing that is granted; here it imports everything.
#[tokio::test]
async fn a_view_needs_no_grant() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new().unwrap();
    let tool = load(&home, "reach", grant(&[(folder.path(), "/", Access::ReadOnly)])).await;
    let view = tool
        .present_call(&json!({ "what": "read", "path": "/x" }))
        .unwrap();
    assert_eq!(view.kind(), "generic");
}

/// Whatever is granted, a view that looks at the time or rolls is the same on replay.
#[tokio::test]
async fn a_view_is_the_same_whenever_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new().unwrap();
    let mut granted = grant(&[(folder.path(), "/", Access::ReadOnly)]);
    granted.random = Some(Random::Real);
    let tool = load(&home, "reach", granted).await;
    let title = |what: &str| {
        let view = tool.present_call(&json!({ "what": what })).unwrap();
        serde_json::to_value(&view).unwrap()["title"].clone()
    };
    assert_eq!(title("clock"), "0");
    assert_eq!(title("random"), title("random"));
    let rolled = reach(&tool, "random", "", "").await.unwrap();
    assert_ne!(reach(&tool, "random", "", "").await.unwrap(), rolled);
}
