//! Which kinds of cases are there, how is each recognised, and who runs it?

use hames_types::json::Json;

use super::case::Case;
use super::outcome::Outcome;
use super::{adapter, append, assembler, header, loop_cases, raw_files, schema, seed, storage, store};

/// Runs one case. An error means that the case couldn't be run and counts as a failure.
pub type Runner = fn(&Case<'_>) -> anyhow::Result<Outcome>;

/// A kind of cases.
#[derive(Debug)]
pub struct Section {
    /// How its cases are found.
    pub place: Place,
    /// Who runs them.
    pub run: Runner,
}

/// Where the cases of a section stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the list `cases`, with this `kind`.
    Kind(&'static str),
    /// In the list `cases`, without a kind but with this list.
    CaseWith(&'static str),
    /// In a list of this name at the top of a file.
    List(&'static str),
    /// The whole file, an object with all of these keys.
    Whole(&'static [&'static str]),
    /// The whole file, which is raw JSON lines.
    Lines,
}

impl Place {
    /// Whether a case in a list `cases` belongs here.
    #[must_use]
    pub fn holds(self, case: &Json) -> bool {
        match self {
            Self::Kind(kind) => case.get("kind").and_then(Json::as_str) == Some(kind),
            Self::CaseWith(key) => case.get("kind").is_none() && case.get(key).is_some_and(Json::is_array),
            Self::List(_) | Self::Whole(_) | Self::Lines => false,
        }
    }
}

macro_rules! sections {
    ($( $place:expr => $run:path, )*) => { &[$( Section { place: $place, run: $run } ),*] };
}

/// All kinds of cases. A list or file that fits none of them is a failure, so nothing is passed over in silence.
pub const SECTIONS: &[Section] = sections! {
    Place::Kind("append") => append::run,
    Place::Kind("seed") => seed::run,
    Place::Kind("header") => header::run,
    Place::Kind("store") => store::run,
    Place::CaseWith("chunks") => assembler::run,
    Place::List("repair") => storage::repair,
    Place::List("packing") => storage::packing,
    Place::List("decoding") => storage::decoding,
    Place::List("scanning") => storage::scanning,
    Place::List("segments") => storage::segments,
    Place::List("dirs") => storage::dirs,
    Place::List("headerEquality") => storage::header_equality,
    Place::List("headerFold") => storage::header_fold,
    Place::List("conversion") => schema::conversion,
    Place::List("validation") => schema::validation,
    Place::List("subset") => schema::subset,
    Place::List("structured") => schema::structured,
    Place::List("encode") => adapter::encode,
    Place::List("decode") => adapter::decode,
    Place::List("retry") => adapter::retry::run,
    Place::List("retryConfig") => adapter::retry::config,
    Place::List("meter") => adapter::meter::meter,
    Place::List("meterMessages") => adapter::meter::message,
    Place::Whole(&["script", "events", "requests"]) => loop_cases::run,
    Place::Whole(&["sessions", "events"]) => raw_files::rows,
    Place::Lines => raw_files::lines,
};
