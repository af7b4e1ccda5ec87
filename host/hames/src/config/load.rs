//! Which files count, and in which order?

use std::path::{Path, PathBuf};

use super::problem::{Origin, Problem, Problems};
use super::settings::{Settings, project_file};
use super::{Environment, trust};
use crate::cli::Common;

/// What whoever has no configuration gets.
const DEMO: &str = include_str!("demo.toml");

/// Where the program works and keeps things.
#[derive(Debug, Clone)]
pub struct Place {
    /// The working folder, absolute.
    pub folder: PathBuf,
    /// The user's data.
    pub data: PathBuf,
}

impl Place {
    /// As flags and environment have it.
    ///
    /// # Errors
    /// If there is no such folder, or none for data.
    pub fn find(common: &Common, environment: &Environment) -> anyhow::Result<Self> {
        let here = std::env::current_dir()?;
        let folder = match &common.folder {
            Some(folder) => here.join(folder).canonicalize().map_err(|error| {
                anyhow::Error::new(error).context(format!("the folder {} can't be used", folder.display()))
            })?,
            None => here.clone(),
        };
        let data = common
            .data
            .clone()
            .or_else(|| environment.data.clone())
            .ok_or_else(|| {
                anyhow::anyhow!("there is no folder for data: `HOME` isn't set; name one with `--data DIR`")
            })?;
        Ok(Self {
            folder,
            data: here.join(data),
        })
    }
}

/// The layers, put over each other.
#[derive(Debug, Clone)]
pub struct Sources {
    /// What is set.
    pub settings: Settings,
    /// The user's file, if there is one.
    pub user: Option<PathBuf>,
    /// The project's file, or the one named by a flag.
    pub project: Option<PathBuf>,
    /// Whether neither is there, so that the built-in demonstration counts.
    pub is_demo: bool,
}

/// Reads all layers.
///
/// # Errors
/// [`Problems`]: of the first file that has any.
pub fn load(common: &Common, environment: &Environment, place: &Place) -> Result<Sources, Problems> {
    let mut settings = Settings::defaults();
    let user = environment.user_file.clone().filter(|file| file.is_file());
    let named = common.config.as_ref().map(|file| absolute(file));
    let project = named
        .clone()
        .or_else(|| project_file(&place.folder).filter(|file| Some(file) != user.as_ref()));
    let is_demo = user.is_none() && project.is_none();
    if is_demo {
        settings.add_text(DEMO, &|_| Origin::Demo)?;
    }
    if let Some(user) = &user {
        settings.add_file(user)?;
    }
    settings.take_guarded();
    if let Some(project) = &project {
        settings.add_file(project)?;
        let guarded = settings.take_guarded();
        // A file that somebody names is meant; one that lies about may be anybody's.
        if named.is_none()
            && let Some(first) = guarded.first()
            && !trust::is_trusted(&place.data, project)
        {
            return Err(Problems(vec![Problem {
                what: format!(
                    "reaches beyond the project{}; read the file, then trust it with `hames config trust`, or name it \
                     with `--config`",
                    match guarded.len() {
                        1 => String::new(),
                        several => format!(", and so do {} more keys of the file", several - 1),
                    }
                ),
                ..first.clone()
            }]));
        }
    }
    for flag in &common.set {
        settings.add_flag(flag)?;
    }
    Ok(Sources {
        settings,
        user,
        project,
        is_demo,
    })
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}
