//! Is what is configured read as it is meant, and is a mistake told where it stands?

use expect_test::{expect, expect_file};

use crate::kit::User;

#[test]
fn every_mistake_is_told_with_its_file_line_key_and_what_to_do() {
    let user = User::new();
    user.write(
        "work/hames.toml",
        r#"[model]
provder = "x"
provider = "openal"
idle_timeout = "5 minutes"
[lop]
max_steps = 3
[[plugin]]
id = "fs"
source = "x.wasm"
[plugin.grant]
filesystem = [{ path = ".", acces = "x" }]
session = ["raed"]
[plugin.limits]
memory = 64
[[plugin]]
id = "Bad"
"#,
    );
    expect_file!["seen/mistakes.txt"].assert_eq(&user.run(&["config", "check"]).all());
    expect_file!["seen/mistakes.json"].assert_eq(&user.run(&["config", "check", "--json"]).all());
}

#[test]
fn a_file_that_isnt_toml_is_told_by_its_line() {
    let user = User::new();
    user.write("work/hames.toml", "[model]\nprovider =\n");
    expect![[r#"
        ---
        error: [ROOT]/work/hames.toml:2: is no TOML: string values must be quoted, expected literal string
        ---
        code: Some(3)
    "#]]
    .assert_eq(&user.run(&["config", "check"]).all());
}

#[test]
fn each_layer_is_over_the_one_before() {
    let user = User::new();
    user.write(
        "home/.config/hames/hames.toml",
        "[loop]\nmax_steps = 1\nmax_parallel_calls = 2\n[retry]\nattempts = 7\n",
    );
    user.write(
        "work/hames.toml",
        "[loop]\nmax_parallel_calls = 3\nmax_continuations = 4\n",
    );
    let told = user.run(&["config", "show", "loop", "--set", "loop.max_continuations=5"]);
    expect![[r#"
        loop.check_requests = false  # default
        loop.max_continuations = 5  # --set
        loop.max_parallel_calls = 3  # [ROOT]/work/hames.toml:2
        loop.max_steps = 1  # [ROOT]/home/.config/hames/hames.toml:2
        ---
        ---
        code: Some(0)
    "#]]
    .assert_eq(&told.all());
    let told = user.run(&["config", "show", "retry.attempts", "--json"]);
    expect![[r#"
        {"type":"setting","key":"retry.attempts","value":7,"origin":{"layer":"file","file":"[ROOT]/home/.config/hames/hames.toml","line":5}}
        ---
        ---
        code: Some(0)
    "#]]
    .assert_eq(&told.all());
}

#[test]
fn a_projects_file_reaches_beyond_the_project_only_once_it_is_trusted() {
    let user = User::new();
    let file = user.write(
        "work/hames.toml",
        "[model]\nkey_command = [\"touch\", \"stolen\"]\n",
    );
    let refused = user.run(&["run", "hello"]);
    expect![[r#"
        ---
        error: [ROOT]/work/hames.toml:2: `model.key_command` reaches beyond the project; read the file, then trust it with `hames config trust`, or name it with `--config`
        ---
        code: Some(3)
    "#]]
    .assert_eq(&refused.all());
    assert_eq!(user.run(&["config", "trust"]).code, Some(0));
    assert_eq!(user.run(&["config", "check"]).code, Some(0));
    std::fs::write(&file, "[model]\nkey_command = [\"touch\", \"more\"]\n").expect("the file is ours");
    assert_eq!(
        user.run(&["config", "check"]).code,
        Some(3),
        "it isn't the file that was trusted"
    );
}

#[test]
fn a_flag_says_what_it_needs() {
    let user = User::new();
    for (flag, problem) in [
        (
            "loop.max_step=3",
            "error: --set: `loop.max_step` is no key; did you mean `loop.max_steps`?",
        ),
        (
            "loop.max_steps",
            "error: --set: `loop.max_steps` needs a value: write `--set KEY=VALUE`",
        ),
        (
            "loop.max_steps=many",
            "error: --set: `loop.max_steps` must be a whole number from 1 to 1000000, found many",
        ),
        ("plugin.x.source=y", ""),
        ("model.model=a name with blanks", ""),
    ] {
        let told = user.run(&["config", "check", "--set", flag]);
        assert_eq!(told.err.trim_end(), problem, "{flag}");
    }
}
