//! What is set, by whom? The layers, one value per key, and where each came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Key};
use super::near::nearest;
use super::problem::{Origin, Problem, Problems};
use super::value::{self, Kind, Value};

/// One value and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Everything that is set. A later layer replaces a key's value and leaves the others alone.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: BTreeMap<String, Setting>,
    plugins: Vec<(String, Origin)>,
    guarded: Vec<Problem>,
}

/// Most bytes of a configuration file: a typing mistake in a path could name anything.
const MAX_FILE: u64 = 1 << 20;

impl Settings {
    /// The defaults of all keys that aren't a plugin's.
    #[must_use]
    pub fn defaults() -> Self {
        let mut settings = Self::default();
        for key in keys::all().filter(|key| !key.path.starts_with("plugin.")) {
            settings.put_default(key, key.path.to_owned());
        }
        settings
    }

    fn put_default(&mut self, key: &Key, path: String) {
        if let Some(value) = key.default.and_then(|text| value::of_text(&key.kind, text)) {
            let origin = Origin::Default;
            self.values.entry(path).or_insert(Setting { value, origin });
        }
    }

    /// Puts a file's values over what is set.
    ///
    /// # Errors
    /// [`Problems`], all of the file's.
    pub fn add_file(&mut self, file: &Path) -> Result<(), Problems> {
        let name: Arc<Path> = Arc::from(file);
        let fault = |what: String| {
            let file = Arc::clone(&name);
            Problems::one(Origin::File { file, line: 1 }, "", what)
        };
        let about = std::fs::metadata(file).map_err(|error| fault(format!("can't be read: {error}")))?;
        if !about.is_file() || about.len() > MAX_FILE {
            return Err(fault(format!("must be a file of at most {MAX_FILE} bytes")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| fault(format!("can't be read: {error}")))?;
        self.add_text(&text, &|line| Origin::File {
            file: Arc::clone(&name),
            line,
        })
    }

    /// Puts a document's values over what is set; `origin` tells what a line of it is called.
    ///
    /// # Errors
    /// [`Problems`], all of the document's.
    pub fn add_text(&mut self, text: &str, origin: &dyn Fn(usize) -> Origin) -> Result<(), Problems> {
        let line_of = |at: usize| 1 + text.get(..at).unwrap_or(text).matches('\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Problems::one(
                origin(line_of(at)),
                "",
                format!("is no TOML: {}", error.message()),
            )
        })?;
        let mut layer = Layer {
            settings: self,
            origin: &|at| origin(line_of(at)),
            problems: Vec::new(),
        };
        layer.table("", table.get_ref());
        let problems = layer.problems;
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Problems(problems))
        }
    }

    /// Puts `KEY=VALUE` over what is set. A text needs no quotes.
    ///
    /// # Errors
    /// [`Problems`] with the one that is wrong with it.
    pub fn add_flag(&mut self, flag: &str) -> Result<(), Problems> {
        let fault = |key: &str, what: String| Problems::one(Origin::Flag, key, what);
        let Some((path, text)) = flag.split_once('=') else {
            return Err(fault(flag, "needs a value: write `--set KEY=VALUE`".to_owned()));
        };
        let path = path.trim();
        let Some(found) = find(path) else {
            return Err(fault(path, unknown(path)));
        };
        let quoted;
        let takes_text = matches!(
            found.kind,
            Kind::Text | Kind::Path | Kind::Choice(_) | Kind::Duration | Kind::Size
        );
        let is_toml = value::of_text(found.kind, text).is_some();
        let text =
            if takes_text && !is_toml || matches!(found.kind, Kind::Any) && DeValue::parse(text).is_err() {
                quoted = toml::Value::from(text).to_string();
                &quoted
            } else {
                text
            };
        let document = format!("value = {text}");
        let bad = || fault(path, format!("must be {}, found {text}", found.kind));
        let table = DeTable::parse(&document).map_err(|_unreadable| bad())?;
        let value = table.get_ref().get("value").ok_or_else(bad)?;
        let value =
            value::read(found.kind, value).map_err(|told| fault(&joined(path, &told.below), told.what))?;
        if let Some(id) = plugin_of(path) {
            self.add_plugin(id, &Origin::Flag);
        }
        self.put(path.to_owned(), value, Origin::Flag);
        Ok(())
    }

    fn put(&mut self, path: String, value: Value, origin: Origin) {
        self.values.insert(path, Setting { value, origin });
    }

    fn add_plugin(&mut self, id: &str, origin: &Origin) {
        if self.plugins.iter().any(|(known, _)| known == id) {
            return;
        }
        self.plugins.push((id.to_owned(), origin.clone()));
        for key in keys::all() {
            if let Some(rest) = key.path.strip_prefix("plugin.*.") {
                self.put_default(key, format!("plugin.{id}.{rest}"));
            }
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Setting> {
        self.values.get(path)
    }

    /// Everything that is set, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.values.iter().map(|(path, setting)| (path.as_str(), setting))
    }

    /// The plugins, in the order in which the layers name them first.
    #[must_use]
    pub fn plugins(&self) -> &[(String, Origin)] {
        &self.plugins
    }

    /// The names below an open table, and their values.
    pub fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a Setting)> {
        let named = move |name: &'a str| name.strip_prefix(path)?.strip_prefix('.');
        self.values
            .range(path.to_owned()..)
            .take_while(move |(name, _)| name.starts_with(path))
            .filter_map(move |(name, setting)| Some((named(name)?, setting)))
    }

    /// What reaches beyond the project in a file that nobody trusted yet; forgotten with the asking.
    pub(super) fn take_guarded(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.guarded)
    }
}

/// A document on its way into the settings.
struct Layer<'a> {
    settings: &'a mut Settings,
    origin: &'a dyn Fn(usize) -> Origin,
    problems: Vec<Problem>,
}

impl Layer<'_> {
    fn complain(&mut self, at: usize, key: &str, what: impl Into<String>) {
        self.problems.push(Problem {
            origin: (self.origin)(at),
            key: key.to_owned(),
            what: what.into(),
        });
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        // In the document's order, so that problems are told in it.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let path = joined(prefix, name.get_ref());
            if path == "plugin" {
                self.plugins(value);
            } else {
                self.entry(&path, name.span().start, value);
            }
        }
    }

    fn entry(&mut self, path: &str, at: usize, value: &Spanned<DeValue<'_>>) {
        match find(path) {
            Some(Found {
                kind: Kind::Open(inner),
                key,
            }) => match value.get_ref().as_table() {
                Some(table) => self.open(path, key, inner, table),
                None => self.complain(at, path, "must be a table"),
            },
            Some(found) => match value::read(found.kind, value) {
                Ok(value) => self.put(path, at, found.key, value),
                Err(fault) => self.complain(fault.at, &joined(path, &fault.below), fault.what),
            },
            None if is_section(path) => match value.get_ref().as_table() {
                Some(table) => self.table(path, table),
                None => self.complain(at, path, "must be a table"),
            },
            None => self.complain(at, path, unknown(path)),
        }
    }

    fn open(&mut self, path: &str, key: &'static Key, kind: &Kind, table: &DeTable<'_>) {
        for (name, value) in table {
            let path = joined(path, name.get_ref());
            match value::read(kind, value) {
                Ok(value) => self.put(&path, name.span().start, key, value),
                Err(fault) => self.complain(fault.at, &path, fault.what),
            }
        }
    }

    fn put(&mut self, path: &str, at: usize, key: &Key, value: Value) {
        let origin = (self.origin)(at);
        if key.is_guarded {
            self.settings.guarded.push(Problem {
                origin: origin.clone(),
                key: path.to_owned(),
                what: "reaches beyond the project".to_owned(),
            });
        }
        self.settings.put(path.to_owned(), value, origin);
    }

    fn plugins(&mut self, value: &Spanned<DeValue<'_>>) {
        let Some(items) = value.get_ref().as_array() else {
            return self.complain(
                value.span().start,
                "plugin",
                "must be a list of tables: begin each with `[[plugin]]`",
            );
        };
        let mut seen: Vec<String> = Vec::new();
        for item in items {
            let at = item.span().start;
            let Some(table) = item.get_ref().as_table() else {
                self.complain(at, "plugin", "must hold tables: begin each with `[[plugin]]`");
                continue;
            };
            let id = table.get("id");
            let Some(id) = id.and_then(|id| id.get_ref().as_str()).filter(|id| is_id(id)) else {
                let what = "must be 1 to 64 of a-z, 0-9 and `-`, a letter first";
                self.complain(id.map_or(at, |id| id.span().start), "plugin.id", what);
                continue;
            };
            if seen.iter().any(|known| known == id) {
                self.complain(
                    at,
                    &format!("plugin.{id}"),
                    "stands twice in this file; make one of it",
                );
                continue;
            }
            seen.push(id.to_owned());
            let origin = (self.origin)(at);
            self.settings.add_plugin(id, &origin);
            let mut rest = table.clone();
            rest.remove("id");
            self.table(&format!("plugin.{id}"), &rest);
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}.{name}"),
    }
}

/// A plugin's id: what manifests allow.
fn is_id(id: &str) -> bool {
    id.len() <= 64
        && id.starts_with(|first: char| first.is_ascii_lowercase())
        && id
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn plugin_of(path: &str) -> Option<&str> {
    let (id, _) = path.strip_prefix("plugin.")?.split_once('.')?;
    is_id(id).then_some(id)
}

/// The path as the table of keys has it: `*` in place of a plugin's id.
fn general(path: &str) -> String {
    match path.strip_prefix("plugin.").and_then(|rest| rest.split_once('.')) {
        Some((_, rest)) => format!("plugin.*.{rest}"),
        None => path.to_owned(),
    }
}

struct Found {
    key: &'static Key,
    kind: &'static Kind,
}

/// The key of a path; a name in an open table has that table's.
fn find(path: &str) -> Option<Found> {
    let path = general(path);
    keys::all().find_map(|key| {
        if key.path == path {
            return Some(Found { key, kind: &key.kind });
        }
        let Kind::Open(kind) = key.kind else { return None };
        let name = path.strip_prefix(key.path)?.strip_prefix('.')?;
        (!name.is_empty()).then_some(Found { key, kind })
    })
}

fn is_section(path: &str) -> bool {
    let section = general(path) + ".";
    keys::all().any(|key| key.path.starts_with(&section))
}

/// What to say of a key that isn't one.
fn unknown(path: &str) -> String {
    let general = general(path);
    let back = |known: &str| match plugin_of(path) {
        Some(id) => known.replacen('*', id, 1),
        None => known.to_owned(),
    };
    if let Some(near) = nearest(&general, keys::all().map(|key| key.path)) {
        return format!("is no key; did you mean `{}`?", back(near));
    }
    let section = general.rsplit_once('.').map_or("", |(section, _)| section);
    let mut known: Vec<&str> = keys::all()
        .filter_map(|key| {
            let rest = if section.is_empty() {
                key.path
            } else {
                key.path.strip_prefix(section)?.strip_prefix('.')?
            };
            rest.split('.').next()
        })
        .collect();
    known.dedup();
    let word = path.rsplit('.').next().unwrap_or(path);
    if let Some(near) = nearest(word, known.iter().copied()) {
        let whole = path.strip_suffix(word).unwrap_or_default();
        return format!("is no key; did you mean `{whole}{near}`?");
    }
    if known.is_empty() {
        return "is no key; the README of the program lists them all".to_owned();
    }
    format!("is no key; known here are `{}`", known.join("`, `"))
}

/// Where the project's file is: `hames.toml` in the folder or the nearest one above it.
#[must_use]
pub fn project_file(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .map(|folder| folder.join("hames.toml"))
        .find(|file| file.is_file())
}
