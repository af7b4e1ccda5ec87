//! What does one call have in hand? Narrow contexts side by side in the store, gone with it.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use hames_types::id::SessionId;
use hames_types::port::plugin::{AgentVerbs, SessionAccess};
use hames_types::port::tool::ToolRun;
use hames_types::signal::Signal;
use smol_str::SmolStr;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::http::Outgoing;
use crate::meter::Meter;
use crate::who::Who;

/// The store's data.
pub(crate) struct State {
    pub(crate) who: Arc<Who>,
    pub(crate) call: Call,
    pub(crate) meter: Meter,
    pub(crate) table: ResourceTable,
    pub(crate) wasi: Option<WasiCtx>,
    pub(crate) streams: Option<Streams>,
    http: WasiHttpCtx,
    outgoing: Outgoing,
}

/// Standard output and standard error, kept within the call's limit.
pub(crate) struct Streams {
    pub(crate) out: MemoryOutputPipe,
    pub(crate) err: MemoryOutputPipe,
}

/// What is asked of the guest, and how far it may reach meanwhile.
pub(crate) struct Call {
    /// Whether anything but the configuration is in reach.
    pub(crate) reaches: bool,
    /// Whether the caller waits on a thread instead of a task: then nothing may wait in the host.
    pub(crate) is_synchronous: bool,
    /// If the answer must be the same whenever it is asked for: what clocks and randomness give instead.
    pub(crate) fixed: Option<Fixed>,
    pub(crate) signal: Signal,
    pub(crate) deadline: Instant,
    pub(crate) tool: Option<ToolCallContext>,
    /// Whether what is asked is about a tool of this plugin, whose private state it may see.
    pub(crate) owns_tool: bool,
    /// Where the fuel it used is written.
    pub(crate) spent: Option<Spent>,
    pub(crate) session: Option<Arc<dyn SessionAccess>>,
    pub(crate) agent: Option<Arc<dyn AgentVerbs>>,
}

/// Time and randomness of a call that can be computed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fixed {
    /// What clocks show, in milliseconds of the Unix epoch.
    pub(crate) now_ms: u64,
    /// What the generators begin with.
    pub(crate) seed: u64,
}

/// Fuel used; nothing if it wasn't counted.
pub(crate) type Spent = Arc<OnceLock<u64>>;

/// The tool call in progress.
#[derive(Clone)]
pub(crate) struct ToolCallContext {
    pub(crate) id: SmolStr,
    pub(crate) run: ToolRun,
}

impl Call {
    /// A call with nothing in reach, not even the time: it is made anew on replay.
    pub(crate) fn inert(deadline: Instant) -> Self {
        Self {
            reaches: false,
            is_synchronous: false,
            fixed: Some(Fixed { now_ms: 0, seed: 0 }),
            signal: Signal::never(),
            deadline,
            tool: None,
            owns_tool: false,
            spent: None,
            session: None,
            agent: None,
        }
    }

    /// A call with everything granted in reach, made for an agent or for nobody.
    pub(crate) fn reaching(who: &Who, agent: Option<&SessionId>, signal: Signal, deadline: Instant) -> Self {
        let callers = who.services.callers.as_ref().zip(agent);
        Self {
            reaches: true,
            is_synchronous: false,
            fixed: None,
            signal,
            deadline,
            tool: None,
            owns_tool: false,
            spent: None,
            session: callers.and_then(|(callers, id)| callers.session(id)),
            agent: callers.and_then(|(callers, id)| callers.agent(id)),
        }
    }
}

impl State {
    pub(crate) fn new(who: Arc<Who>, call: Call) -> wasmtime::Result<Self> {
        let mut table = ResourceTable::new();
        table.set_max_capacity(crate::limits::MAX_HOST_RESOURCES);
        let (wasi, streams) = if who.uses_wasi {
            let (wasi, streams) = crate::wasi::context(&who, &call)?;
            (Some(wasi), Some(streams))
        } else {
            (None, None)
        };
        Ok(Self {
            meter: Meter::new(&who.limits),
            outgoing: Outgoing::new(&who, call.reaches),
            http: WasiHttpCtx::new(),
            table,
            wasi,
            streams,
            who,
            call,
        })
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self
                .wasi
                .get_or_insert_with(|| wasmtime_wasi::WasiCtxBuilder::new().build()),
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.outgoing,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}
