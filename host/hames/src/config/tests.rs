//! Does every key do something?

use super::keys::{self, Key};
use super::value::{Kind, Value, of_text};
use super::{Config, Settings};

/// A value that is not the default and fits beside the defaults of all other keys.
fn other_than_default(key: &Key) -> String {
    let default = key.default.and_then(|text| of_text(&key.kind, text));
    let choices: Vec<String> = match &key.kind {
        Kind::Text | Kind::Path if key.path.ends_with("digest") => {
            vec![format!("'sha256:{}'", "a".repeat(64))]
        }
        Kind::Text if key.path.ends_with("clocks") || key.path.ends_with("random") => {
            vec!["'real'".to_owned()]
        }
        Kind::Text | Kind::Path => vec!["'other'".to_owned()],
        Kind::Flag => vec!["true".to_owned(), "false".to_owned()],
        Kind::Count(..) => vec!["3".to_owned(), "4".to_owned()],
        Kind::Duration => vec!["'700ms'".to_owned()],
        Kind::Size => vec!["'7KiB'".to_owned()],
        Kind::Ratio => vec!["0.3".to_owned()],
        Kind::Texts if key.path.ends_with("tool_order") => vec!["['other', '<unlisted-tools>']".to_owned()],
        Kind::Texts => vec!["['other']".to_owned()],
        Kind::Counts => vec!["[2, 4]".to_owned()],
        Kind::Choice(words) => words.iter().rev().map(|word| format!("'{word}'")).collect(),
        Kind::Words(words) => vec![format!("['{}']", words[0])],
        Kind::Any => vec!["7".to_owned()],
        Kind::Open(_) => vec!["{ other = 'x' }".to_owned()],
        Kind::Tables(fields) => {
            let needed = fields.iter().filter(|field| field.is_needed);
            let fields: Vec<_> = needed
                .map(|field| format!("{} = {}", field.path, other_than_default(field)))
                .collect();
            vec![format!("[{{ {} }}]", fields.join(", "))]
        }
    };
    choices
        .into_iter()
        .find(|text| of_text(&key.kind, text) != default || matches!(key.kind, Kind::Open(_)))
        .expect("a kind has more than one value")
}

fn settings(line: &str) -> Settings {
    let text = format!("model.model = 'm'\n{line}\n");
    let text = if line.starts_with("model.model") {
        format!("{line}\n")
    } else {
        text
    };
    let mut settings = Settings::defaults();
    settings
        .add_text(&text, &|_| super::Origin::Demo)
        .unwrap_or_else(|problems| panic!("{text}: {problems}"));
    settings
}

fn built(text: &str) -> String {
    let config = Config::build(&settings(text)).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    format!("{config:?}")
}

#[test]
fn every_key_changes_what_is_built() {
    for key in keys::all() {
        let value = other_than_default(key);
        let (with, without) = match key.path.strip_prefix("plugin.*.") {
            Some("source") => (
                "[[plugin]]\nid = 'p'\nsource = 'b'".to_owned(),
                "[[plugin]]\nid = 'p'\nsource = 'a'".to_owned(),
            ),
            Some(rest) => {
                let plugin = "[[plugin]]\nid = 'p'\nsource = 'a'\n";
                (format!("{plugin}{rest} = {value}"), plugin.to_owned())
            }
            None => (format!("{} = {value}", key.path), String::new()),
        };
        assert_ne!(built(&with), built(&without), "`{}` changes nothing", key.path);
    }
}

#[test]
fn what_the_table_calls_a_seam_is_one_and_all_are_there() {
    use hames_plugin::{Point, PointKind};
    let seams: Vec<&str> = Point::ALL
        .iter()
        .filter(|point| point.kind() != PointKind::Observer)
        .map(|point| point.as_str())
        .collect();
    assert_eq!(keys::SEAMS, seams);
}

#[test]
fn the_sandboxs_own_limits_are_the_defaults() {
    let text = "[[plugin]]\nid = 'p'\nsource = 'a'";
    let config = Config::build(&settings(text)).expect("it can be built");
    assert_eq!(config.plugins[0].limits, hames_plugin::Limits::default());
    assert_eq!(config.limits, hames_agent::Limits::STANDARD);
    assert_eq!(config.retry, hames_agent::retry::RetryConfig::default());
    assert_eq!(config.repeat, Some(hames_agent::repeat::RepeatConfig::default()));
    assert_eq!(config.model.limits, hames_llm::limits::Limits::default());
}

#[test]
fn times_and_sizes_need_their_unit() {
    for (kind, text, right) in [
        (&Kind::Duration, "'5m'", true),
        (&Kind::Duration, "'5 m'", true),
        (&Kind::Duration, "'5'", false),
        (&Kind::Duration, "5", false),
        (&Kind::Duration, "'99999999h'", false),
        (&Kind::Size, "'64MiB'", true),
        (&Kind::Size, "'64MB'", false),
        (&Kind::Size, "'99999999999999999999GiB'", false),
    ] {
        assert_eq!(of_text(kind, text).is_some(), right, "{text}");
    }
    assert_eq!(of_text(&Kind::Size, "'1GiB'"), Some(Value::Size(1 << 30)));
}
