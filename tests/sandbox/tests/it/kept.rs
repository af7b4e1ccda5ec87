//! Does every store of what plugins keep do what the port promises, with several processes and when one is killed?

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hames_plugin::MemoryStore;
use hames_store::PluginDatabase;
use hames_types::id::PluginId;
use hames_types::port::plugin::{KeepError, PluginStore, Quota};

const QUOTA: Quota = Quota { keys: 4, bytes: 64 };
const ROOMY: Quota = Quota {
    keys: 100_000,
    bytes: 1 << 30,
};

fn owner(name: &str) -> PluginId {
    PluginId::new(name)
}

fn stores(folder: &Path) -> Vec<(&'static str, Arc<dyn PluginStore>)> {
    vec![
        ("memory", Arc::new(MemoryStore::default())),
        (
            "database",
            Arc::new(PluginDatabase::open(folder.join("plugins.db")).unwrap()),
        ),
    ]
}

/// Runs a promise of the port against every store.
#[expect(clippy::print_stderr, reason = "a failed promise says which store broke it")]
fn promise(check: impl Fn(&dyn PluginStore)) {
    let folder = tempfile::tempdir().unwrap();
    for (name, store) in stores(folder.path()) {
        eprintln!("{name}");
        check(&*store);
    }
}

#[test]
fn what_is_set_is_got_until_it_is_deleted() {
    promise(|store| {
        let one = owner("one");
        assert_eq!(store.get(&one, "key").unwrap(), None);
        store.set(&one, "key", vec![0, 255, 1], QUOTA).unwrap();
        assert_eq!(store.get(&one, "key").unwrap(), Some(vec![0, 255, 1]));
        store.set(&one, "key", Vec::new(), QUOTA).unwrap();
        assert_eq!(store.get(&one, "key").unwrap(), Some(Vec::new()));
        store.delete(&one, "key").unwrap();
        store.delete(&one, "key").unwrap();
        assert_eq!(store.get(&one, "key").unwrap(), None);
    });
}

#[test]
fn no_plugin_sees_or_touches_what_another_keeps() {
    promise(|store| {
        let (one, other) = (owner("one"), owner("one-2"));
        store.set(&one, "key", b"mine".to_vec(), QUOTA).unwrap();
        assert_eq!(store.get(&other, "key").unwrap(), None);
        assert_eq!(store.keys(&other, "", None, 10).unwrap(), Vec::<String>::new());
        store.delete(&other, "key").unwrap();
        store.set(&other, "key", b"theirs".to_vec(), QUOTA).unwrap();
        assert_eq!(store.increment(&other, "count", 1, QUOTA).unwrap(), 1);
        assert_eq!(store.get(&one, "key").unwrap(), Some(b"mine".to_vec()));
        assert_eq!(store.keys(&one, "", None, 10).unwrap(), ["key"]);
    });
}

#[test]
fn a_write_over_the_quota_changes_nothing() {
    promise(|store| {
        let one = owner("one");
        for key in ["a", "b", "c", "d"] {
            store.set(&one, key, vec![1; 10], QUOTA).unwrap();
        }
        let refused = |result: Result<(), KeepError>| assert!(matches!(result, Err(KeepError::Quota(QUOTA))));
        refused(store.set(&one, "e", Vec::new(), QUOTA));
        refused(store.increment(&one, "e", 1, QUOTA).map(|_| ()));
        // 4 keys of a letter and 10 bytes are 44; 21 more than 10 would be 65.
        refused(store.set(&one, "a", vec![2; 31], QUOTA));
        assert_eq!(store.get(&one, "a").unwrap(), Some(vec![1; 10]));
        store.set(&one, "a", vec![2; 30], QUOTA).unwrap();
        // What is freed can be used again, and another plugin has a quota of its own.
        store.delete(&one, "b").unwrap();
        store.set(&one, "e", vec![3; 10], QUOTA).unwrap();
        store.set(&owner("other"), "a", vec![1; 60], QUOTA).unwrap();
    });
}

#[test]
fn a_counter_counts_within_its_range_and_nothing_else_is_one() {
    promise(|store| {
        let one = owner("one");
        assert_eq!(store.increment(&one, "n", 5, QUOTA).unwrap(), 5);
        assert_eq!(store.increment(&one, "n", -7, QUOTA).unwrap(), -2);
        assert_eq!(store.get(&one, "n").unwrap(), Some(b"-2".to_vec()));
        store
            .set(&one, "n", i64::MAX.to_string().into_bytes(), QUOTA)
            .unwrap();
        for (key, value) in [
            ("n", None),
            ("text", Some("x")),
            ("text", Some("1.5")),
            ("text", Some("")),
        ] {
            if let Some(value) = value {
                store.set(&one, key, value.into(), QUOTA).unwrap();
            }
            let result = store.increment(&one, key, 1, QUOTA);
            assert!(
                matches!(&result, Err(KeepError::NotACounter(found)) if found == key),
                "{result:?}"
            );
        }
        assert_eq!(
            store.get(&one, "n").unwrap(),
            Some(i64::MAX.to_string().into_bytes())
        );
    });
}

#[test]
fn keys_come_in_byte_order_by_prefix_and_page() {
    promise(|store| {
        let one = owner("one");
        for key in ["b/2", "a", "b/10", "é", "b", "Z", "b/1", "b0"] {
            store.set(&one, key, Vec::new(), ROOMY).unwrap();
        }
        let keys = |prefix, after, limit| store.keys(&one, prefix, after, limit).unwrap();
        assert_eq!(
            keys("", None, 100),
            ["Z", "a", "b", "b/1", "b/10", "b/2", "b0", "é"]
        );
        assert_eq!(keys("b/", None, 100), ["b/1", "b/10", "b/2"]);
        assert_eq!(keys("b/", None, 2), ["b/1", "b/10"]);
        assert_eq!(keys("b/", Some("b/10"), 2), ["b/2"]);
        assert_eq!(keys("b/", Some("a"), 1), ["b/1"]);
        assert_eq!(keys("b/", Some("c"), 1), Vec::<String>::new());
        assert_eq!(keys("", None, 0), Vec::<String>::new());
    });
}

#[test]
fn increments_from_many_threads_are_all_counted() {
    promise(|store| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        store.increment(&owner("one"), "n", 1, ROOMY).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.get(&owner("one"), "n").unwrap(), Some(b"400".to_vec()));
    });
}

const CHILD: &str = "HAMES_TEST_KEPT";

/// Not a test of its own: what the processes of the two tests below do, until they are killed or done.
#[test]
fn child_of_the_tests_of_processes() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let (rounds, file) = task.split_once(':').unwrap();
    let store = PluginDatabase::open(file).unwrap();
    for round in 0..rounds.parse::<u64>().unwrap() {
        let count = store.increment(&owner("one"), "n", 1, ROOMY).unwrap();
        store
            .set(
                &owner("one"),
                &format!("key-{}-{round}", std::process::id()),
                vec![7; 100],
                ROOMY,
            )
            .unwrap();
        println!("counted {count}");
    }
}

fn child(rounds: u64, file: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kept::child_of_the_tests_of_processes", "--nocapture"])
        .env(CHILD, format!("{rounds}:{}", file.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn sum(store: &PluginDatabase) -> (i64, usize) {
    let text = store.get(&owner("one"), "n").unwrap().unwrap_or_default();
    let keys = store.keys(&owner("one"), "key-", None, usize::MAX).unwrap();
    (String::from_utf8(text).unwrap().parse().unwrap_or(0), keys.len())
}

#[test]
fn several_processes_keep_things_in_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/plugins.db");
    let children: Vec<_> = (0..4).map(|_| child(100, &file)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(sum(&PluginDatabase::open(&file).unwrap()), (400, 400));
}

#[test]
fn what_a_killed_process_was_told_is_kept_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugins.db");
    let mut told = 0;
    for _ in 0..5 {
        let mut child = child(u64::MAX, &file);
        let lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let counts = lines.filter_map(|line| line.strip_prefix("counted ")?.parse::<i64>().ok());
        told = counts.take(25).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let (counted, keys) = sum(&PluginDatabase::open(&file).unwrap());
        // A round that was cut off has counted and not set its key, at most once for each process.
        assert!(counted >= told, "{counted} of {told}");
        assert!(
            (0..=5).contains(&(counted - i64::try_from(keys).unwrap())),
            "{counted} and {keys}"
        );
    }
    // The sums are those of the rows: a quota just above them is kept to, to the byte.
    let store = PluginDatabase::open(&file).unwrap();
    let keys = store.keys(&owner("one"), "", None, usize::MAX).unwrap();
    let size = |key: &String| key.len() + store.get(&owner("one"), key).unwrap().unwrap().len();
    let bytes = keys.iter().map(size).sum::<usize>();
    let exact = Quota {
        keys: keys.len() + 1,
        bytes: bytes + 2,
    };
    assert!(matches!(
        store.set(&owner("one"), "x", vec![0; 2], exact),
        Err(KeepError::Quota(_))
    ));
    store.set(&owner("one"), "x", vec![0; 1], exact).unwrap();
    assert!(told > 0);
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions.db");
    hames_store::Database::open(sessions.clone()).unwrap();
    let error = PluginDatabase::open(&sessions).err().unwrap();
    assert!(
        error.to_string().contains("another program's database"),
        "{error}"
    );
    let text = folder.path().join("text");
    std::fs::write(&text, "this is no database, it is a text of some length").unwrap();
    let error = PluginDatabase::open(&text).err().unwrap();
    assert!(error.to_string().contains("not a SQLite database"), "{error}");
}
