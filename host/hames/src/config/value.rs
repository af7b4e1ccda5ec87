//! What can a key's value be, and how is it written?

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hames_types::json::Json;
use serde_json::{Map, Number};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::Key;

/// What a value must be.
#[derive(Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A file or folder; a relative one lies beside the file that names it.
    Path,
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A length of time with its unit.
    Duration,
    /// A number of bytes with its unit.
    Size,
    /// A number from 0 to 1.
    Ratio,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Counts,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// Anything JSON can say.
    Any,
    /// A table whose names are free and whose values are of this kind. Each name is a key of its own.
    Open(&'static Kind),
    /// A list of tables with these keys.
    Tables(&'static [Key]),
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => out.write_str("a text"),
            Self::Path => out.write_str("a path"),
            Self::Flag => out.write_str("`true` or `false`"),
            Self::Count(least, most) => write!(out, "a whole number from {least} to {most}"),
            Self::Duration => {
                out.write_str("a length of time with its unit (`\"500ms\"`, `\"30s\"`, `\"5m\"`, `\"1h\"`)")
            }
            Self::Size => {
                out.write_str("a size with its unit (`\"512B\"`, `\"64KiB\"`, `\"16MiB\"`, `\"1GiB\"`)")
            }
            Self::Ratio => out.write_str("a number from 0 to 1"),
            Self::Texts => out.write_str("a list of texts"),
            Self::Counts => out.write_str("a list of whole numbers"),
            Self::Choice(words) => write!(out, "one of {}", quoted(words)),
            Self::Words(words) => write!(out, "a list of any of {}", quoted(words)),
            Self::Any => out.write_str("any value"),
            Self::Open(_) => out.write_str("a table"),
            Self::Tables(_) => out.write_str("a list of tables"),
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A value of its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`], [`Kind::Path`] and [`Kind::Choice`].
    Text(String),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Count`].
    Count(u64),
    /// Of [`Kind::Duration`].
    Duration(Duration),
    /// Of [`Kind::Size`], in bytes.
    Size(u64),
    /// Of [`Kind::Ratio`].
    Ratio(f64),
    /// Of [`Kind::Texts`] and [`Kind::Words`].
    Texts(Vec<String>),
    /// Of [`Kind::Counts`].
    Counts(Vec<u64>),
    /// Of [`Kind::Any`].
    Json(Json),
    /// Of [`Kind::Tables`].
    Tables(Vec<BTreeMap<&'static str, Self>>),
}

impl Value {
    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The value as JSON, durations and sizes with their units.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(text.as_str()),
            Self::Flag(flag) => Json::from(*flag),
            Self::Count(count) => Json::from(*count),
            Self::Duration(time) => Json::from(show_duration(*time)),
            Self::Size(bytes) => Json::from(show_size(*bytes)),
            Self::Ratio(ratio) => Number::from_f64(*ratio).map_or(Json::Null, Json::Number),
            Self::Texts(texts) => Json::from(texts.clone()),
            Self::Counts(counts) => Json::from(counts.clone()),
            Self::Json(json) => json.clone(),
            Self::Tables(tables) => tables
                .iter()
                .map(|table| {
                    let fields = table
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.to_json()));
                    Json::Object(fields.collect::<Map<_, _>>())
                })
                .collect(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(out)
    }
}

/// What is wrong with a value: where in it, under which key below the one asked for, and what.
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) below: String,
    pub(super) what: String,
}

impl Fault {
    fn at(value: &Spanned<DeValue<'_>>, what: String) -> Self {
        Self {
            at: value.span().start,
            below: String::new(),
            what,
        }
    }
}

/// Reads a value of a kind; [`Kind::Open`] isn't asked for here.
pub(super) fn read(kind: &Kind, value: &Spanned<DeValue<'_>>) -> Result<Value, Fault> {
    let found = value.get_ref();
    let mismatch = || Fault::at(value, format!("must be {kind}, found {}", shown(found)));
    let read = match (kind, found) {
        (Kind::Text | Kind::Path, DeValue::String(text)) => Some(Value::Text(text.to_string())),
        (Kind::Choice(words), DeValue::String(text)) if words.contains(&text.as_ref()) => {
            Some(Value::Text(text.to_string()))
        }
        (Kind::Flag, DeValue::Boolean(flag)) => Some(Value::Flag(*flag)),
        (Kind::Count(least, most), _) => whole(found)
            .filter(|count| (*least..=*most).contains(count))
            .map(Value::Count),
        (Kind::Duration, DeValue::String(text)) => duration(text).map(Value::Duration),
        (Kind::Size, DeValue::String(text)) => size(text).map(Value::Size),
        (Kind::Ratio, _) => number(found)
            .filter(|ratio| (0.0..=1.0).contains(ratio))
            .map(Value::Ratio),
        (Kind::Texts, DeValue::Array(items)) => list(items, text_of).map(Value::Texts),
        (Kind::Words(words), DeValue::Array(items)) => list(items, |item| {
            text_of(item).filter(|text| words.contains(&text.as_str()))
        })
        .map(Value::Texts),
        (Kind::Counts, DeValue::Array(items)) => list(items, whole).map(Value::Counts),
        (Kind::Any, _) => json(found).map(Value::Json),
        (Kind::Tables(keys), DeValue::Array(items)) => {
            let tables: Result<_, Fault> = items.iter().map(|item| table(keys, item)).collect();
            return tables.map(Value::Tables);
        }
        _ => None,
    };
    read.ok_or_else(mismatch)
}

fn list<T>(items: &[Spanned<DeValue<'_>>], read: impl Fn(&DeValue<'_>) -> Option<T>) -> Option<Vec<T>> {
    items.iter().map(|item| read(item.get_ref())).collect()
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

/// One table of a list, every key of its own known and those without a default there or not.
fn table(keys: &'static [Key], item: &Spanned<DeValue<'_>>) -> Result<BTreeMap<&'static str, Value>, Fault> {
    let Some(found) = item.get_ref().as_table() else {
        return Err(Fault::at(
            item,
            format!("must hold tables, found {}", shown(item.get_ref())),
        ));
    };
    let mut fields = BTreeMap::new();
    for (name, value) in found {
        let Some(key) = keys.iter().find(|key| key.path == name.get_ref().as_ref()) else {
            let known = keys.iter().map(|key| key.path);
            let near = super::near::nearest(name.get_ref(), known.clone());
            let known = known.collect::<Vec<_>>().join("`, `");
            let hint = near.map_or(format!("known are `{known}`"), |near| {
                format!("did you mean `{near}`?")
            });
            return Err(Fault {
                at: name.span().start,
                below: name.get_ref().to_string(),
                what: format!("is no key; {hint}"),
            });
        };
        let value = read(&key.kind, value).map_err(|fault| Fault {
            below: key.path.to_owned(),
            ..fault
        })?;
        fields.insert(key.path, value);
    }
    let missing = keys
        .iter()
        .find(|key| key.is_needed && !fields.contains_key(key.path));
    if let Some(key) = missing {
        return Err(Fault {
            at: item.span().start,
            below: key.path.to_owned(),
            what: "is missing".to_owned(),
        });
    }
    for key in keys {
        if let Some(default) = key.default
            && !fields.contains_key(key.path)
            && let Some(value) = of_text(&key.kind, default)
        {
            fields.insert(key.path, value);
        }
    }
    Ok(fields)
}

/// A value from TOML text, if it is one of its kind.
pub(super) fn of_text(kind: &Kind, text: &str) -> Option<Value> {
    let document = format!("value = {text}");
    let table = DeTable::parse(&document).ok()?;
    read(kind, table.get_ref().get("value")?).ok()
}

fn json(value: &DeValue<'_>) -> Option<Json> {
    Some(match value {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Boolean(flag) => Json::from(*flag),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
            Json::Number(Number::from_i128(number)?)
        }
        DeValue::Float(number) => Json::Number(Number::from_f64(number.as_str().parse().ok()?)?),
        DeValue::Datetime(time) => Json::from(time.to_string()),
        DeValue::Array(items) => items
            .iter()
            .map(|item| json(item.get_ref()))
            .collect::<Option<_>>()?,
        DeValue::Table(fields) => Json::Object(
            fields
                .iter()
                .map(|(name, value)| Some((name.get_ref().to_string(), json(value.get_ref())?)))
                .collect::<Option<_>>()?,
        ),
    })
}

/// What was found, in short.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => {
            let head: String = text.chars().take(40).collect();
            format!("{head:?}")
        }
        DeValue::Boolean(flag) => format!("`{flag}`"),
        DeValue::Integer(number) => format!("`{}`", number.as_str()),
        DeValue::Float(number) => format!("`{}`", number.as_str()),
        DeValue::Datetime(time) => format!("`{time}`"),
        DeValue::Array(_) => "a list with other things in it, or a list where none belongs".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A length of time: a whole number and `ms`, `s`, `m` or `h`, at most what timers can count (24 days).
fn duration(text: &str) -> Option<Duration> {
    let ms = measured(text, TIMES)?;
    (ms <= 2_147_483_647).then(|| Duration::from_millis(ms))
}

/// A size: a whole number and `B`, `KiB`, `MiB` or `GiB`.
fn size(text: &str) -> Option<u64> {
    measured(text, SIZES)
}

fn measured(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(known, _)| *known == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn show_duration(time: Duration) -> String {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    show(ms, TIMES)
}

fn show_size(bytes: u64) -> String {
    show(bytes, SIZES)
}

/// In the largest unit that leaves a whole number.
fn show(amount: u64, units: &[(&str, u64)]) -> String {
    let (unit, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| amount >= *factor && amount.is_multiple_of(*factor))
        .or(units.first())
        .copied()
        .unwrap_or(("", 1));
    format!("{}{unit}", amount / factor)
}
