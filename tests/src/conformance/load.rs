//! Which cases does a folder hold? Reads its files and finds the cases in them by shape.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hames_types::json::Json;

use super::section::{Place, SECTIONS, Section};

/// A file of recorded data.
#[derive(Debug)]
pub struct File {
    /// Its path below the folder, for labels.
    pub label: String,
    /// Its path on disk.
    pub path: PathBuf,
    /// Its content; null for raw JSON lines, which their section reads itself.
    pub document: Json,
}

/// A case that was found in a file.
#[derive(Debug)]
pub struct Found<'a> {
    /// File, list and name.
    pub label: String,
    /// The case as it was read.
    pub value: &'a Json,
    /// Who runs it.
    pub section: &'static Section,
}

impl Found<'_> {
    /// Whether the case has values that only JavaScript has.
    #[must_use]
    pub fn is_js_only(&self) -> bool {
        self.value.get("jsOnly").and_then(Json::as_bool) == Some(true)
    }
}

/// The data files below a folder, in the order of their paths. Files that aren't JSON or JSON lines are explanations.
///
/// # Errors
/// If a folder or a file can't be read, a file isn't JSON, or there is nothing to run.
pub fn files(folder: &Path) -> anyhow::Result<Vec<File>> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let label = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let document = match path.extension().and_then(|end| end.to_str()) {
            Some("jsonl") => Json::Null,
            Some("json") => {
                let text =
                    fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
                serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?
            }
            _ => continue,
        };
        files.push(File {
            label,
            path,
            document,
        });
    }
    if files.is_empty() {
        bail!(
            "{} holds no data: no `.json` or `.jsonl` file in it",
            folder.display()
        );
    }
    Ok(files)
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading the folder {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("reading the folder {}", folder.display()))?;
        let path = entry.path();
        // Links aren't followed: a loop of them would never end.
        let kind = entry
            .file_type()
            .with_context(|| format!("looking at {}", path.display()))?;
        if kind.is_dir() {
            collect(&path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

impl File {
    /// The cases in this file.
    ///
    /// # Errors
    /// If the file or one of its cases fits no section.
    pub fn cases(&self) -> anyhow::Result<Vec<Found<'_>>> {
        if let Some(section) = SECTIONS.iter().find(|section| self.is_whole(section.place)) {
            let label = self.label.clone();
            return Ok(vec![Found {
                label,
                value: &self.document,
                section,
            }]);
        }
        if let Some(cases) = self.document.get("cases").and_then(Json::as_array) {
            return cases
                .iter()
                .enumerate()
                .map(|(at, case)| self.in_cases(at, case))
                .collect();
        }
        let found: Vec<Found<'_>> = SECTIONS
            .iter()
            .flat_map(|section| self.in_list(section))
            .collect();
        if found.is_empty() {
            bail!("the file has the shape of no known kind of cases");
        }
        Ok(found)
    }

    fn is_whole(&self, place: Place) -> bool {
        match place {
            Place::Whole(keys) => keys.iter().all(|key| self.document.get(key).is_some()),
            Place::Lines => {
                self.document.is_null() && self.path.extension().is_some_and(|end| end == "jsonl")
            }
            Place::Kind(_) | Place::CaseWith(_) | Place::List(_) => false,
        }
    }

    fn in_cases<'a>(&self, at: usize, value: &'a Json) -> anyhow::Result<Found<'a>> {
        let label = format!("{} {}", self.label, name_of(value, at));
        let section = SECTIONS
            .iter()
            .find(|section| section.place.holds(value))
            .with_context(|| format!("`cases[{at}]` has the shape of no known kind of cases"))?;
        Ok(Found {
            label,
            value,
            section,
        })
    }

    fn in_list(&self, section: &'static Section) -> Vec<Found<'_>> {
        let Place::List(list) = section.place else {
            return Vec::new();
        };
        let items = self.document.get(list).and_then(Json::as_array);
        items
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(at, value)| Found {
                label: format!("{} {list} {}", self.label, name_of(value, at)),
                value,
                section,
            })
            .collect()
    }
}

/// What a person searches for to find a case: its id and name, else its position.
fn name_of(case: &Json, at: usize) -> String {
    let text = |key| case.get(key).and_then(Json::as_str);
    match (text("case"), text("name")) {
        (Some(id), Some(name)) => format!("{id} ({name})"),
        (Some(id), None) => id.to_owned(),
        (None, Some(name)) => format!("[{at}] ({name})"),
        (None, None) => format!("[{at}]"),
    }
}
