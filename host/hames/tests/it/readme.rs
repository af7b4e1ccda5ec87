//! Is the table of keys in the README the one the program reads by?

use std::fmt::Write;

use expect_test::expect_file;
use hames::config::keys;
use hames::config::value::Kind;

const README: &str = include_str!("../../README.md");
const BEGIN: &str =
    "<!-- keys: made from the program's own table; UPDATE_EXPECT=1 cargo test -p hames writes it -->\n";
const END: &str = "<!-- end of keys -->";

#[test]
fn every_key_is_documented_and_every_documented_key_exists() {
    let (before, rest) = README.split_once(BEGIN).expect("the table has a beginning");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let mut table = String::from("| key | value | default | |\n|---|---|---|---|\n");
    for key in keys::all() {
        row(&mut table, key.path, key);
        if let Kind::Tables(fields) = &key.kind {
            for field in *fields {
                row(&mut table, &format!("{}[].{}", key.path, field.path), field);
            }
        }
    }
    expect_file!["../../README.md"].assert_eq(&format!("{before}{BEGIN}{table}{END}{after}"));
}

fn row(table: &mut String, path: &str, key: &keys::Key) {
    let default = match key.default {
        Some(default) => format!("`{}`", default.replace('\'', "\"").replace('|', "\\|")),
        None if key.is_needed => "needed".to_owned(),
        None => String::new(),
    };
    let guard = if key.is_guarded { " †" } else { "" };
    let kind = key.kind.to_string().replace('|', "\\|");
    writeln!(table, "| `{path}`{guard} | {kind} | {default} | {} |", key.about).expect("written to a string");
}
