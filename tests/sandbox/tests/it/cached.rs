//! Can anybody but this user and this host put code into the cache? And do several processes get along in it?

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hames_plugin::{Access, Cache, Folder, PluginSpec};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use serde_json::json;

fn saying(text: &str) -> Arc<[u8]> {
    let module = Module {
        execute: format!("(call $answer (i32.const 3000) (i32.const {}))", text.len()),
        more: format!("(data (i32.const 3000) \"{text}\")"),
        ..Module::default()
    };
    module.component().unwrap()
}

fn home(place: &Path) -> Home {
    Home::with(Some(Cache::open(place).unwrap()), None).unwrap()
}

/// What it says, in a process's home of its own: nothing is remembered but in the cache.
async fn said(place: &Path, component: &Arc<[u8]>) -> String {
    let home = home(place);
    let plugin = home.load("saying", Arc::clone(component)).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    output.content.joined_text()
}

fn entries(place: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

/// Two components in a cache, and the entry of the second in a copy elsewhere: whole, with a digest that fits.
async fn poison(place: &Path) -> (Arc<[u8]>, PathBuf, Vec<u8>) {
    let (good, bad) = (saying("good"), saying("evil"));
    assert_eq!(said(place, &good).await, "good");
    let entry = entries(place).pop().unwrap();
    let other = tempfile::tempdir().unwrap();
    let other = other.path().join("compiled");
    assert_eq!(said(&other, &bad).await, "evil");
    let bytes = fs::read(entries(&other).pop().unwrap()).unwrap();
    (good, entry, bytes)
}

/// The folder is what keeps strangers out; this is what they would gain.
#[tokio::test]
async fn whoever_may_write_to_the_cache_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let (good, entry, evil) = poison(&place).await;
    fs::write(entry, evil).unwrap();
    assert_eq!(said(&place, &good).await, "evil");
}

#[tokio::test]
async fn an_entry_that_is_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let (good, entry, evil) = poison(&place).await;
    let outside = folder.path().join("outside");
    fs::write(&outside, &evil).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&entry).unwrap();
    symlink(&outside, &entry).unwrap();
    assert_eq!(said(&place, &good).await, "good");
    assert!(fs::symlink_metadata(&entry).unwrap().is_file(), "it was replaced");
    assert_eq!(fs::read(&outside).unwrap(), evil, "and not written through");
}

/// Only an administrator can give a file away, so without being one this shows nothing.
#[tokio::test]
async fn an_entry_of_another_user_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let (good, entry, evil) = poison(&place).await;
    fs::write(&entry, evil).unwrap();
    if chown(&entry, Some(12_345), Some(12_345)).is_err() {
        return;
    }
    assert_eq!(said(&place, &good).await, "good");
    assert_ne!(fs::metadata(&entry).unwrap().uid(), 12_345, "it was replaced");
    chown(&place, Some(12_345), Some(12_345)).unwrap();
    assert!(Cache::open(&place).is_err(), "nor is a folder of theirs");
}

/// A plugin that writes there would run outside of every sandbox.
#[tokio::test]
async fn no_plugin_is_given_a_folder_with_the_cache_in_it_to_write_to() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("data/compiled");
    let home = home(&place);
    let link = folder.path().join("link");
    symlink(folder.path().join("data"), &link).unwrap();
    let inside = place.join("deeper");
    fs::create_dir(&inside).unwrap();
    let beside = folder.path().join("work");
    fs::create_dir(&beside).unwrap();
    let component = guests::wasip2("reach").unwrap();
    let load = async |path: &Path, access| {
        let mut spec = PluginSpec::new(PluginId::new("reach"), Arc::clone(&component));
        spec.grant.filesystem = vec![Folder {
            path: path.to_owned(),
            name: "/rw".to_owned(),
            access,
        }];
        spec.grant.clocks = Some(hames_plugin::Clocks::Real);
        spec.grant.random = Some(hames_plugin::Random::Seeded(1));
        spec.grant.kv = true;
        let loaded = home.sandbox.load(spec).await;
        loaded.map(|_| ()).map_err(|error| error.problem.code())
    };
    for path in [folder.path(), &folder.path().join("data"), &place, &inside, &link] {
        let refused = load(path, Access::ReadWrite).await;
        assert_eq!(refused, Err("PLUGIN_GRANT"), "{}", path.display());
        assert_eq!(load(path, Access::ReadOnly).await, Ok(()), "{}", path.display());
    }
    assert_eq!(load(&beside, Access::ReadWrite).await, Ok(()));
}

const CHILD: &str = "HAMES_TEST_CACHE";
const TEXTS: [&str; 4] = ["north", "east", "south", "west"];

/// Not a test of its own: what the processes of the test below do.
#[tokio::test]
async fn child_of_the_test_of_processes() {
    let Ok(place) = std::env::var(CHILD) else { return };
    for _ in 0..3 {
        for text in TEXTS {
            assert_eq!(said(Path::new(&place), &saying(text)).await, text);
        }
    }
}

/// All compile the same at the same time: each finds nothing, something whole, or its own.
#[tokio::test]
async fn several_processes_fill_one_cache() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    // Left over by a process that was killed while it wrote.
    drop(Cache::open(&place).unwrap());
    fs::write(place.join("draft-1-0"), "half").unwrap();
    let children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "cached::child_of_the_test_of_processes", "--nocapture"])
                .env(CHILD, &place)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let left = entries(&place);
    assert_eq!(left.len(), TEXTS.len() + 1, "{left:?}");
    for text in TEXTS {
        assert_eq!(said(&place, &saying(text)).await, text);
    }
}
