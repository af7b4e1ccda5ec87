//! What does a component export? Looked up by name, interface by interface: absent and malformed are different.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Component, Instance, InstancePre};

use crate::bindings::exports::hames::plugin as wit;
use crate::error::{LoadProblem, Opaque};
use crate::point::Point;
use crate::state::State;

const PLUGIN: &str = "hames:plugin/plugin@0.1.0";
const TOOLS: &str = "hames:plugin/tools@0.1.0";
const PROMPT: &str = "hames:plugin/prompt@0.1.0";
const COMMANDS: &str = "hames:plugin/commands@0.1.0";

macro_rules! exports {
    (
        plain { $( $plain:ident: $plain_module:ident, $name:expr; )* }
        points { $( $field:ident: $module:ident, $point:ident; )* }
    ) => {
        /// The interfaces a component exports.
        pub(crate) struct Exports {
            $( pub(crate) $plain: Option<Arc<wit::$plain_module::GuestIndices>>, )*
            $( pub(crate) $field: Option<Arc<wit::$module::GuestIndices>>, )*
        }

        impl Exports {
            /// Finds them by name.
            ///
            /// # Errors
            /// [`LoadProblem::Exports`] if one lacks a function.
            pub(crate) fn find(component: &Component, pre: &InstancePre<State>) -> Result<Self, LoadProblem> {
                let has = |interface: &str| component.get_export_index(None, interface).is_some();
                Ok(Self {
                    $( $plain: has($name)
                        .then(|| wit::$plain_module::GuestIndices::new(pre).map(Arc::new))
                        .transpose()
                        .map_err(|error| misfit($name, error))?, )*
                    $( $field: has(Point::$point.interface())
                        .then(|| wit::$module::GuestIndices::new(pre).map(Arc::new))
                        .transpose()
                        .map_err(|error| misfit(Point::$point.interface(), error))?, )*
                })
            }

            /// The points it listens at.
            pub(crate) fn points(&self) -> Vec<Point> {
                let mut points = Vec::new();
                $( if self.$field.is_some() { points.push(Point::$point); } )*
                points
            }

            /// Whether it exports nothing that can be called.
            pub(crate) fn is_empty(&self) -> bool {
                true $( && self.$plain.is_none() )* $( && self.$field.is_none() )*
            }

            /// Checks the types of everything exported, which only an instance shows.
            ///
            /// # Errors
            /// The interface that doesn't fit, and why.
            pub(crate) fn check(
                &self,
                store: &mut Store<State>,
                instance: &Instance,
            ) -> Result<(), (&'static str, wasmtime::Error)> {
                $( if let Some(indices) = &self.$plain {
                    indices.load(&mut *store, instance).map_err(|error| ($name, error))?;
                } )*
                $( if let Some(indices) = &self.$field {
                    indices
                        .load(&mut *store, instance)
                        .map_err(|error| (Point::$point.interface(), error))?;
                } )*
                Ok(())
            }
        }
    };
}

exports! {
    plain {
        plugin: plugin, PLUGIN;
        tools: tools, TOOLS;
        prompt: prompt, PROMPT;
        commands: commands, COMMANDS;
    }
    points {
        prompt_submit: on_prompt_submit, PromptSubmit;
        session_prefix: on_session_prefix, SessionPrefix;
        prompt_assemble: on_prompt_assemble, PromptAssemble;
        pre_step: on_pre_step, PreStep;
        request: on_request, Request;
        step_result: on_step_result, StepResult;
        pre_execute: on_pre_execute, PreExecute;
        guard: guard, Guard;
        execute: on_execute, Execute;
        post_execute: on_post_execute, PostExecute;
        post_step: on_post_step, PostStep;
        request_error: on_request_error, RequestError;
        turn_continuation: on_turn_continuation, TurnContinuation;
        turn_stop: on_turn_stop, TurnStop;
        session_event: on_session_event, SessionEvent;
        session_start: on_session_start, SessionStart;
        status: on_status, Status;
        queued: on_queued, Queued;
        cancel_requested: on_cancel_requested, CancelRequested;
        error: on_error, Error;
        tool_result: on_tool_result, ToolResult;
        agent_created: on_agent_created, AgentCreated;
        agent_disposed: on_agent_disposed, AgentDisposed;
    }
}

fn misfit(interface: &'static str, error: wasmtime::Error) -> LoadProblem {
    LoadProblem::Exports {
        interface,
        source: Opaque::new(error),
    }
}
