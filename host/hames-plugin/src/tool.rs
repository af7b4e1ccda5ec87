//! How is a component's tool a tool like any other? The port over a fresh instance per call.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::Signal;
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput, ToolView};
use jsonschema::Validator;

use crate::arguments;
use crate::bindings::exports::hames::plugin::tools as wit;
use crate::convert::content::blocks;
use crate::convert::tool::{self as convert, Class, Described};
use crate::convert::{Admit, Refused};
use crate::error::{CallError, Limit, Opaque};
use crate::plugin::{Loaded, Plugin};
use crate::state::{Call, ToolCallContext};

/// One tool of a plugin. After a reload its calls go to the new component.
pub(crate) struct ComponentTool {
    plugin: Plugin,
    described: Arc<Described>,
    checker: Option<Validator>,
}

impl ComponentTool {
    /// # Errors
    /// If the parameters aren't a schema that can be used.
    pub(crate) fn new(plugin: Plugin, described: Arc<Described>) -> Result<Self, String> {
        let checker = if described.host_checks {
            Some(arguments::checker(&described.definition.schema.parameters)?)
        } else {
            None
        };
        Ok(Self {
            plugin,
            described,
            checker,
        })
    }

    fn check(&self, arguments: &Json) -> Result<(), Fault> {
        match &self.checker {
            Some(checker) => arguments::check(checker, arguments),
            None => Ok(()),
        }
    }

    fn name(&self) -> &str {
        &self.described.definition.schema.name
    }

    fn view(&self, loaded: &Loaded, shown: Result<Option<wit::ToolView>, CallError>) -> Option<ToolView> {
        let who = &loaded.site.who;
        let mut admit = Admit::new(who, who.limits.output, Limit::Output);
        let view = shown.and_then(|view| match view {
            Some(view) => convert::admit_view(&mut admit, view).map_err(CallError::from),
            None => Ok(None),
        });
        view.unwrap_or_else(|error| {
            tracing::debug!(plugin = %who.id, tool = self.name(), %error, "a view can't be had");
            None
        })
    }
}

/// What the host itself couldn't hand over.
pub(crate) fn broken(error: wasmtime::Error) -> CallError {
    CallError::Broken(Opaque::new(error))
}

#[async_trait]
impl Tool for ComponentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.described.definition
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        self.check(arguments)?;
        match self.described.class {
            Class::Exclusive => return Ok(ExecutionMode::Exclusive),
            Class::Parallel => return Ok(ExecutionMode::Parallel),
            Class::Classified => {}
        }
        let loaded = self.plugin.current();
        let who = &loaded.site.who;
        let fault = |error: CallError| error.into_fault(&who.id);
        let indices = loaded.tools().map_err(fault)?;
        let name = self.name().to_owned();
        let arguments = crate::convert::json::text(arguments).map_err(|error| fault(broken(error)))?;
        let signal = Signal::never();
        let answer = loaded
            .site
            .call(
                who.limits.classify,
                &signal,
                |ends| Call::reaching(who, None, Signal::never(), ends),
                move |store, instance| {
                    Box::pin(async move {
                        let tools = indices.load(&mut *store, instance)?;
                        tools.call_classify(store, &name, &arguments).await
                    })
                },
            )
            .await
            .map_err(fault)?;
        match answer {
            Ok(wit::ExecutionMode::Exclusive) => Ok(ExecutionMode::Exclusive),
            Ok(wit::ExecutionMode::Parallel) => Ok(ExecutionMode::Parallel),
            Err(error) => Err(admit_fault(&loaded, error)),
        }
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        self.check(&call.arguments)?;
        let loaded = self.plugin.current();
        let who = &loaded.site.who;
        self.run(&loaded, call, run)
            .await
            .unwrap_or_else(|error| Err(error.into_fault(&who.id)))
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        self.check(arguments).ok()?;
        let loaded = self.plugin.current();
        let indices = loaded.tools().ok()?;
        let name = self.name().to_owned();
        let arguments = crate::convert::json::text(arguments).ok()?;
        let shown = loaded.site.call_now(
            loaded.site.who.limits.present,
            Call::inert,
            move |store, instance| {
                Box::pin(async move {
                    let tools = indices.load(&mut *store, instance)?;
                    tools.call_present_call(store, &name, &arguments).await
                })
            },
        );
        self.view(&loaded, shown)
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        self.check(arguments).ok()?;
        let loaded = self.plugin.current();
        let indices = loaded.tools().ok()?;
        let name = self.name().to_owned();
        let arguments = crate::convert::json::text(arguments).ok()?;
        let content = blocks(content).ok()?;
        let meta = meta.map(crate::convert::json::text).transpose().ok()?;
        let shown = loaded.site.call_now(
            loaded.site.who.limits.present,
            Call::inert,
            move |store, instance| {
                Box::pin(async move {
                    let tools = indices.load(&mut *store, instance)?;
                    tools
                        .call_present_result(store, &name, &arguments, &content, meta.as_ref())
                        .await
                })
            },
        );
        self.view(&loaded, shown)
    }
}

impl ComponentTool {
    /// The call itself: the outer error is the sandbox's, the inner one the tool's own.
    async fn run(
        &self,
        loaded: &Loaded,
        call: &ToolCall,
        run: &ToolRun,
    ) -> Result<Result<ToolOutput, Fault>, CallError> {
        let who = &loaded.site.who;
        let indices = loaded.tools()?;
        let asked = crate::convert::call::call(call).map_err(broken)?;
        let context = ToolCallContext {
            id: call.call_id.as_str().into(),
            run: run.clone(),
        };
        let answer = loaded
            .site
            .call(
                who.limits.call,
                &run.signal,
                |ends| {
                    let mut state = Call::reaching(who, call.agent.as_ref(), run.signal.clone(), ends);
                    state.tool = Some(context);
                    state
                },
                move |store, instance| {
                    Box::pin(async move {
                        let tools = indices.load(&mut *store, instance)?;
                        tools.call_execute(store, &asked).await
                    })
                },
            )
            .await?;
        let mut admit = Admit::new(who, who.limits.output, Limit::Output);
        match answer {
            Ok(output) => {
                if output.contexts.len() > who.limits.contexts {
                    return Err(CallError::Limit(Limit::Contexts));
                }
                let (output, contexts) = convert::admit_output(&mut admit, output)?;
                for context in contexts {
                    run.defer(context);
                }
                Ok(Ok(output))
            }
            Err(error) => Ok(Err(convert::admit_error(&mut admit, error)?)),
        }
    }
}

/// A guest's error as a fault, or why even that is refused.
pub(crate) fn admit_fault(loaded: &Loaded, fault: crate::bindings::hames::plugin::types::Fault) -> Fault {
    let who = &loaded.site.who;
    let mut admit = Admit::new(who, who.limits.output, Limit::Output);
    crate::convert::fault::admit_fault(&mut admit, fault)
        .unwrap_or_else(|refused: Refused| CallError::from(refused).into_fault(&who.id))
}
