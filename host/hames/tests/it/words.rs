//! Do help texts stay as they were?

use expect_test::expect_file;

use crate::kit::User;

#[test]
fn every_command_says_what_it_does() {
    let user = User::new();
    let mut all = String::new();
    for command in [
        &["--help"][..],
        &["run", "-h"],
        &["chat", "-h"],
        &["resume", "-h"],
        &["config", "-h"],
        &["config", "show", "-h"],
        &["completions", "-h"],
    ] {
        all.push_str(&format!(
            "$ hames {}\n{}\n",
            command.join(" "),
            user.run(command).out
        ));
    }
    expect_file!["seen/help.txt"].assert_eq(&all);
}

#[test]
fn a_command_that_isnt_one_is_a_usage_error() {
    let told = User::new().run(&["resme", "x"]);
    assert_eq!(told.code, Some(2));
    assert!(told.err.contains("'resume'"), "{}", told.err);
}

#[test]
fn a_shell_gets_its_completions() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let told = user.run(&["completions", shell]);
        assert_eq!(told.code, Some(0));
        assert!(told.out.contains("resume"), "{shell} completes commands");
    }
}
