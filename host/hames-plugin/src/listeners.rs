//! Which listeners does a plugin have, in which order do they stand, and what may each do?

use std::sync::Arc;

use hames_types::fault::Fault;
use hames_types::id::{PluginId, SessionId};
use hames_types::port::registration::Registration;

use crate::error::{CallError, LoadProblem};
use crate::observe::ComponentObserver;
use crate::plugin::{Loaded, Plugin};
use crate::point::{OnFailure, Phase, Point, PointKind};
use crate::seam::around::ComponentListener;
use crate::seam::serial::{ComponentConsultant, ComponentGuard};
use crate::who::Level;

/// One listener of one plugin, for a person who wants to know who is asked when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Where it listens.
    pub point: Point,
    /// Whose it is.
    pub plugin: PluginId,
    /// Its phase.
    pub phase: Phase,
    /// Whether its answer counts as it is.
    pub is_full: bool,
    /// What its failure means; for observers nothing.
    pub on_failure: OnFailure,
}

/// Puts plugins into the order in which their listeners are registered: by phase, then as configured.
///
/// In a waterfall the first is outermost.
#[must_use]
pub fn in_order(plugins: &[Plugin]) -> Vec<Plugin> {
    let mut plugins = plugins.to_vec();
    // Stable: within a phase the configured order stays.
    plugins.sort_by_key(Plugin::phase);
    plugins
}

/// Who listens where, point by point, outermost first.
#[must_use]
pub fn listings(plugins: &[Plugin]) -> Vec<Listing> {
    let plugins = in_order(plugins);
    let mut all = Vec::new();
    for point in Point::ALL {
        for plugin in &plugins {
            let loaded = plugin.current();
            if loaded.exports.points().contains(point) {
                all.push(Listing {
                    point: *point,
                    plugin: loaded.site.who.id.clone(),
                    phase: loaded.phase,
                    is_full: loaded.site.who.grant.full.contains(point),
                    on_failure: loaded.on_failure(*point),
                });
            }
        }
    }
    all
}

impl Plugin {
    /// Its listeners, ready to be registered. A point at which it doesn't listen has none and costs nothing.
    #[must_use]
    pub fn listeners(&self) -> Vec<Registration> {
        let points = self.current().exports.points();
        points.into_iter().map(|point| self.listener(point)).collect()
    }

    fn listener(&self, point: Point) -> Registration {
        let plugin = self.clone();
        match point {
            Point::PromptSubmit => Registration::PromptSubmit(Arc::new(ComponentListener::new(plugin))),
            Point::SessionPrefix => Registration::SessionPrefix(Arc::new(ComponentListener::new(plugin))),
            Point::PromptAssemble => Registration::PromptAssemble(Arc::new(ComponentListener::new(plugin))),
            Point::PreStep => Registration::PreStep(Arc::new(ComponentConsultant::new(plugin))),
            Point::Request => Registration::CallRequest(Arc::new(ComponentListener::new(plugin))),
            Point::StepResult => Registration::StepResult(Arc::new(ComponentListener::new(plugin))),
            Point::PreExecute => Registration::PreExecute(Arc::new(ComponentListener::new(plugin))),
            Point::Guard => Registration::Guard(Arc::new(ComponentGuard(plugin))),
            Point::Execute => Registration::Execute(Arc::new(ComponentListener::new(plugin))),
            Point::PostExecute => Registration::PostExecute(Arc::new(ComponentListener::new(plugin))),
            Point::PostStep => Registration::PostStep(Arc::new(ComponentConsultant::new(plugin))),
            Point::RequestError => Registration::RequestError(Arc::new(ComponentListener::new(plugin))),
            Point::TurnContinuation => {
                Registration::TurnContinuation(Arc::new(ComponentListener::new(plugin)))
            }
            Point::TurnStop => Registration::TurnStop(Arc::new(ComponentConsultant::new(plugin))),
            Point::SessionEvent => Registration::SessionEvent(Arc::new(ComponentObserver::new(plugin))),
            Point::SessionStart => Registration::SessionStart(Arc::new(ComponentObserver::new(plugin))),
            Point::Status => Registration::StatusChanged(Arc::new(ComponentObserver::new(plugin))),
            Point::Queued => Registration::Queued(Arc::new(ComponentObserver::new(plugin))),
            Point::CancelRequested => Registration::CancelRequested(Arc::new(ComponentObserver::new(plugin))),
            Point::Error => Registration::AgentError(Arc::new(ComponentObserver::new(plugin))),
            Point::ToolResult => Registration::ToolResultReady(Arc::new(ComponentObserver::new(plugin))),
            Point::AgentCreated => Registration::AgentCreated(Arc::new(ComponentObserver::new(plugin))),
            Point::AgentDisposed => Registration::AgentDisposed(Arc::new(ComponentObserver::new(plugin))),
        }
    }

    /// Where its listeners stand among those of others.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.current().phase
    }

    /// The points it listens at.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        self.current().exports.points()
    }
}

impl Loaded {
    /// What a failure at a point means.
    pub(crate) fn on_failure(&self, point: Point) -> OnFailure {
        if self.open.contains(&point) {
            OnFailure::Open
        } else {
            OnFailure::Closed
        }
    }

    /// Tells the operator that a failure was passed over.
    pub(crate) fn passed_over(&self, point: Point, fault: &Fault) {
        let who = &self.site.who;
        let text = format!("it failed at `{point}` and was passed over: {}", fault.chain());
        who.services.diary.line(&who.id, Level::Warn, &text);
    }

    /// The error of a listener whose component no longer exports its interface.
    pub(crate) fn gone(&self, point: Point) -> CallError {
        CallError::Answer {
            place: "exports".to_owned(),
            problem: format!("no longer hold `{}`", point.interface()),
        }
    }

    /// Whether a tool is this plugin's own.
    pub(crate) fn owns_tool(&self, name: Option<&str>) -> bool {
        name.is_some_and(|name| self.tools.iter().any(|tool| tool.definition.schema.name == name))
    }

    /// The time a listener sees: that of the newest event, so that it can be found again in the log.
    pub(crate) fn time_of(&self, agent: Option<&SessionId>) -> u64 {
        if self.site.who.grant.clocks.is_none() {
            return 0;
        }
        let callers = self.site.who.services.callers.as_ref().zip(agent);
        let Some(session) = callers.and_then(|(callers, id)| callers.session(id)) else {
            return 0;
        };
        let Some(newest) = session.length().checked_sub(1) else {
            return 0;
        };
        session
            .events(hames_types::id::Seq::at(newest), 1)
            .first()
            .map_or(0, |event| event.time_ms)
    }
}

/// Checks that a plugin may listen where it wants to.
///
/// # Errors
/// The first point at which it may not, and what to do about it.
pub(crate) fn check(loaded: &Loaded) -> Result<(), LoadProblem> {
    for point in loaded.exports.points() {
        let is_full = loaded.site.who.grant.full.contains(&point);
        if point.kind() == PointKind::Unordered && !is_full {
            return Err(LoadProblem::Authority { point });
        }
        if point == Point::SessionEvent && loaded.manifest.events.is_empty() {
            return Err(LoadProblem::NoFilter);
        }
    }
    Ok(())
}
