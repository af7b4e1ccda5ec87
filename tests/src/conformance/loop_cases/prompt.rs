//! The system prompt of a script (part 2 of the format).

use std::sync::Arc;

use hames_agent::prompt::{PromptConfig, Prompts, Section, ToolOrder};
use hames_agent::tools::Tools;
use hames_types::json::Json;
use serde_json::json;
use smol_str::SmolStr;

use super::ops;
use super::world::list;

/// The registry of prompts a script wants.
pub(super) fn prompts(script: &Json, tools: &Arc<Tools>) -> anyhow::Result<Prompts> {
    let prompt = script.get("systemPrompt").cloned().unwrap_or_else(|| json!({}));
    let text = |key: &str| prompt.get(key).and_then(Json::as_str);
    let tool_order = match ops::typed::<Vec<SmolStr>>(prompt.get("toolOrder"))? {
        Some(names) => ToolOrder::listed(names)?,
        None => ToolOrder::default(),
    };
    let prompts = Prompts::new(PromptConfig {
        identity: text("identity").unwrap_or("You are a test agent.").into(),
        persona: text("persona").unwrap_or_default().into(),
        tool_order,
    })?;
    for section in list(&prompt, "sections") {
        let text = |key: &str| section.get(key).and_then(Json::as_str).unwrap_or_default();
        let order = section.get("order").and_then(Json::as_f64).unwrap_or_default();
        prompts.section(None, Section::fixed(text("name"), order, text("text")))?;
    }
    for (name, value) in prompt
        .get("variables")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let value: Option<SmolStr> = value.as_str().map(Into::into);
        prompts.variable(None, name.as_str(), move |_| Ok(value.clone()))?;
    }
    prompts.tools(None, Arc::clone(tools) as Arc<_>)?;
    Ok(prompts)
}
