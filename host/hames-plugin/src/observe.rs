//! How is a component told? Synchronously, briefly, and never again if it spins.

mod notices;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::listener::{Notice, Observe};
use hames_types::signal::Signal;
use parking_lot::Mutex;
use smol_str::SmolStr;
use wasmtime::Store;
use wasmtime::component::Instance;

use crate::bindings::hames::plugin::types as wit;
use crate::convert::events::For;
use crate::error::{CallError, Limit};
use crate::exports::Exports;
use crate::invoke::{Work, is_nested};
use crate::plugin::{Loaded, Plugin};
use crate::point::Point;
use crate::seam::Viewer;
use crate::state::{Call, State};
use crate::tool::{admit_fault, broken};
use crate::who::Level;

/// So many times in a row an observer may take too long before it isn't told any more.
const MAX_OVERRUNS: u32 = 3;

/// A notice that components may be told.
pub(crate) trait Tells: Notice {
    /// Where.
    const POINT: Point;
    /// Whether a fault of an observer would keep from happening what it is told of: a component's never does.
    const VETOES: bool = false;
    /// The generated indices of the interface.
    type Indices: Send + Sync + 'static;
    /// What the guest is told.
    type WitNotice: Send + Sync + 'static;

    /// The interface, if the component exports it.
    fn indices(exports: &Exports) -> Option<&Arc<Self::Indices>>;

    /// The kinds of what it is told, if it names any.
    fn kinds(loaded: &Loaded) -> Option<Vec<SmolStr>> {
        let _ = loaded;
        None
    }

    /// Whose agent it is about.
    fn agent(&self) -> Option<&SessionId>;

    /// The tool, if it is about a call.
    fn tool(&self) -> Option<&str> {
        None
    }

    /// Whether this plugin wants to be told. The cheap question before everything else.
    fn concerns(&self, loaded: &Loaded) -> bool {
        let _ = loaded;
        true
    }

    /// The notice as the guest sees it.
    fn tell(&self, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice>;

    /// Calls the guest.
    fn call<'a>(
        told: (Arc<Self::Indices>, Self::WitNotice),
        store: &'a mut Store<State>,
        instance: &'a Instance,
    ) -> Work<'a, Result<(), wit::Fault>>;
}

/// A plugin's observer of one notice. After a reload its calls go to the new component.
pub(crate) struct ComponentObserver<N> {
    plugin: Plugin,
    notice: PhantomData<fn() -> N>,
}

impl<N: Tells> ComponentObserver<N> {
    pub(crate) const fn new(plugin: Plugin) -> Self {
        Self {
            plugin,
            notice: PhantomData,
        }
    }
}

impl<N: Tells> Observe<N> for ComponentObserver<N> {
    fn kinds(&self) -> Option<Vec<SmolStr>> {
        self.plugin.look(|loaded| N::kinds(loaded))
    }

    fn observe(&self, notice: &N) -> Result<(), Fault> {
        let told = self
            .plugin
            .look(|loaded| notice.concerns(loaded).then(|| Arc::clone(loaded)));
        let Some(loaded) = told else { return Ok(()) };
        if loaded.breakers.is_off(N::POINT) {
            return Ok(());
        }
        let fault = match tell(&loaded, notice) {
            Ok(Ok(())) => {
                kept_time(&loaded, N::POINT);
                return Ok(());
            }
            Ok(Err(fault)) => {
                kept_time(&loaded, N::POINT);
                admit_fault(&loaded, fault)
            }
            Err(error) => {
                overran(&loaded, N::POINT, &error);
                error.into_fault(&loaded.site.who.id)
            }
        };
        if N::VETOES {
            let plugin = &loaded.site.who.id;
            tracing::warn!(%plugin, notice = N::NAME, error = %fault.chain(), "an observer failed");
            return Ok(());
        }
        Err(fault)
    }
}

fn tell<N: Tells>(loaded: &Loaded, notice: &N) -> Result<Result<(), wit::Fault>, CallError> {
    let who = &loaded.site.who;
    let indices = N::indices(&loaded.exports).cloned();
    let indices = indices.ok_or_else(|| loaded.gone(N::POINT))?;
    let viewer = Viewer {
        reader: For(who.id.as_str()),
        owns_tool: loaded.owns_tool(notice.tool()),
    };
    let told = (indices, notice.tell(viewer).map_err(broken)?);
    loaded.site.call_now(
        who.limits.observe,
        |ends| Call::reaching(who, notice.agent(), Signal::never(), ends),
        move |store, instance| N::call(told, store, instance),
    )
}

/// It was in time. Not if it was told by a plugin's doing: one that spins could otherwise tell itself something short
/// in between, and is never switched off.
fn kept_time(loaded: &Loaded, point: Point) {
    if !is_nested() {
        loaded.breakers.kept_time(point);
    }
}

fn overran(loaded: &Loaded, point: Point, error: &CallError) {
    match error {
        CallError::Deadline { .. } => {}
        // It wasn't called at all.
        CallError::Busy | CallError::Limit(Limit::Nested) => return,
        CallError::Trap { .. }
        | CallError::Limit(_)
        | CallError::Dropped { .. }
        | CallError::Exit(_)
        | CallError::Broken(_)
        | CallError::Answer { .. } => return kept_time(loaded, point),
    }
    if loaded.breakers.overran(point) {
        let text = format!(
            "the observer `{point}` took longer than {} ms {MAX_OVERRUNS} times in a row and isn't told any more; \
             reload the plugin to try again",
            loaded.site.who.limits.observe.as_millis()
        );
        let who = &loaded.site.who;
        tracing::error!(plugin = %who.id, "{text}");
        who.services.diary.line(&who.id, Level::Error, &text);
    }
}

/// Which observers of one component have spun.
#[derive(Debug, Default)]
pub(crate) struct Breakers(Mutex<BTreeMap<Point, u32>>);

impl Breakers {
    fn is_off(&self, point: Point) -> bool {
        self.0
            .lock()
            .get(&point)
            .is_some_and(|overruns| *overruns >= MAX_OVERRUNS)
    }

    /// Counts one; says whether it was the one too many.
    fn overran(&self, point: Point) -> bool {
        let mut overruns = self.0.lock();
        let overruns = overruns.entry(point).or_default();
        *overruns += 1;
        *overruns == MAX_OVERRUNS
    }

    fn kept_time(&self, point: Point) {
        self.0.lock().remove(&point);
    }
}
