//! An assembled system prompt and the tools beside it (R-SYS).

use smol_str::SmolStr;

use crate::json::record;
use crate::request::ToolSchema;

record! {
    /// One section of the system prompt, its text not yet interpolated.
    PromptSection {
        /// Its name; unique in an assembly.
        name: SmolStr = "name",
        /// The section's text; `{{name}}` stands for a variable.
        text: SmolStr = "text",
    }
}

record! {
    /// A variable a section may name.
    PromptVariable {
        /// Its name.
        name: SmolStr = "name",
        /// Its text; absent if it has none now, and naming it is an error then.
        value: Option<SmolStr> = "value",
    }
}

record! {
    /// What one step's prompt is made of. A fresh value each time: changing it can't leak into the next.
    PromptAssembly {
        /// The sections in order.
        sections: Vec<PromptSection> = "sections",
        /// The variables.
        variables: Vec<PromptVariable> = "variables",
        /// The tools in order.
        tools: Vec<ToolSchema> = "tools",
    }
}
