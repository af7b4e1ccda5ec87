//! What does the contract look like in a guest? Generated from `wit/`, nothing else.
//!
//! The imports are one world and every exported interface is one of its own, so that a plugin's type says exactly
//! what it offers: only the worlds whose `export!` a plugin uses end up in it.

/// What every plugin may import. What it doesn't use isn't in its type.
pub mod imports {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "imports",
        generate_all,
    });
}

/// One exported interface, as a world of its own. Behind it: the macro that exports it, and the interfaces it stands
/// on, which are those of [`imports`].
macro_rules! exported {
    ($( $(#[$meta:meta])* $module:ident $world:tt $inline:tt $export:tt $path:tt [ $($key:tt $used:ident),* ]; )*) => { $(
        $(#[$meta])*
        pub mod $module {
            wit_bindgen::generate!({
                path: "../../wit",
                inline: $inline,
                world: $world,
                with: { $( $key: crate::bindings::imports::hames::plugin::$used ),* },
                pub_export_macro: true,
                export_macro_name: $export,
                default_bindings_module: $path,
            });
        }
    )* };
}

exported! {
    /// The interface `tools`.
    tools
        "hames:sdk-tools/tools"
        "package hames:sdk-tools; world tools { export hames:plugin/tools@0.1.0; }"
        "export_tools_interface" "hames_sdk::bindings::tools"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation];
    /// The interface `plugin`.
    plugin
        "hames:sdk-plugin/plugin"
        "package hames:sdk-plugin; world plugin { export hames:plugin/plugin@0.1.0; }"
        "export_plugin_interface" "hames_sdk::bindings::plugin"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `prompt`.
    prompt
        "hames:sdk-prompt/prompt"
        "package hames:sdk-prompt; world prompt { export hames:plugin/prompt@0.1.0; }"
        "export_prompt_interface" "hames_sdk::bindings::prompt"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `commands`.
    commands
        "hames:sdk-commands/commands"
        "package hames:sdk-commands; world commands { export hames:plugin/commands@0.1.0; }"
        "export_commands_interface" "hames_sdk::bindings::commands"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content];
    /// The interface `guard`.
    guard
        "hames:sdk-guard/guard"
        "package hames:sdk-guard; world guard { export hames:plugin/guard@0.1.0; }"
        "export_guard_interface" "hames_sdk::bindings::guard"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation];
    /// The interface `on-prompt-submit`.
    on_prompt_submit
        "hames:sdk-on-prompt-submit/on-prompt-submit"
        "package hames:sdk-on-prompt-submit; world on-prompt-submit { export hames:plugin/on-prompt-submit@0.1.0; }"
        "export_on_prompt_submit_interface" "hames_sdk::bindings::on_prompt_submit"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-session-prefix`.
    on_session_prefix
        "hames:sdk-on-session-prefix/on-session-prefix"
        "package hames:sdk-on-session-prefix; world on-session-prefix { export hames:plugin/on-session-prefix@0.1.0; }"
        "export_on_session_prefix_interface" "hames_sdk::bindings::on_session_prefix"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-prompt-assemble`.
    on_prompt_assemble
        "hames:sdk-on-prompt-assemble/on-prompt-assemble"
        "package hames:sdk-on-prompt-assemble; world on-prompt-assemble { export hames:plugin/on-prompt-assemble@0.1.0; }"
        "export_on_prompt_assemble_interface" "hames_sdk::bindings::on_prompt_assemble"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-request`.
    on_request
        "hames:sdk-on-request/on-request"
        "package hames:sdk-on-request; world on-request { export hames:plugin/on-request@0.1.0; }"
        "export_on_request_interface" "hames_sdk::bindings::on_request"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-step-result`.
    on_step_result
        "hames:sdk-on-step-result/on-step-result"
        "package hames:sdk-on-step-result; world on-step-result { export hames:plugin/on-step-result@0.1.0; }"
        "export_on_step_result_interface" "hames_sdk::bindings::on_step_result"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-pre-execute`.
    on_pre_execute
        "hames:sdk-on-pre-execute/on-pre-execute"
        "package hames:sdk-on-pre-execute; world on-pre-execute { export hames:plugin/on-pre-execute@0.1.0; }"
        "export_on_pre_execute_interface" "hames_sdk::bindings::on_pre_execute"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-execute`.
    on_execute
        "hames:sdk-on-execute/on-execute"
        "package hames:sdk-on-execute; world on-execute { export hames:plugin/on-execute@0.1.0; }"
        "export_on_execute_interface" "hames_sdk::bindings::on_execute"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-post-execute`.
    on_post_execute
        "hames:sdk-on-post-execute/on-post-execute"
        "package hames:sdk-on-post-execute; world on-post-execute { export hames:plugin/on-post-execute@0.1.0; }"
        "export_on_post_execute_interface" "hames_sdk::bindings::on_post_execute"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-request-error`.
    on_request_error
        "hames:sdk-on-request-error/on-request-error"
        "package hames:sdk-on-request-error; world on-request-error { export hames:plugin/on-request-error@0.1.0; }"
        "export_on_request_error_interface" "hames_sdk::bindings::on_request_error"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-turn-continuation`.
    on_turn_continuation
        "hames:sdk-on-turn-continuation/on-turn-continuation"
        "package hames:sdk-on-turn-continuation; world on-turn-continuation { export hames:plugin/on-turn-continuation@0.1.0; }"
        "export_on_turn_continuation_interface" "hames_sdk::bindings::on_turn_continuation"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation, "hames:plugin/decisions@0.1.0" decisions, "hames:plugin/next@0.1.0" next];
    /// The interface `on-pre-step`.
    on_pre_step
        "hames:sdk-on-pre-step/on-pre-step"
        "package hames:sdk-on-pre-step; world on-pre-step { export hames:plugin/on-pre-step@0.1.0; }"
        "export_on_pre_step_interface" "hames_sdk::bindings::on_pre_step"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/decisions@0.1.0" decisions];
    /// The interface `on-post-step`.
    on_post_step
        "hames:sdk-on-post-step/on-post-step"
        "package hames:sdk-on-post-step; world on-post-step { export hames:plugin/on-post-step@0.1.0; }"
        "export_on_post_step_interface" "hames_sdk::bindings::on_post_step"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/decisions@0.1.0" decisions];
    /// The interface `on-turn-stop`.
    on_turn_stop
        "hames:sdk-on-turn-stop/on-turn-stop"
        "package hames:sdk-on-turn-stop; world on-turn-stop { export hames:plugin/on-turn-stop@0.1.0; }"
        "export_on_turn_stop_interface" "hames_sdk::bindings::on_turn_stop"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/decisions@0.1.0" decisions];
    /// The interface `on-session-event`.
    on_session_event
        "hames:sdk-on-session-event/on-session-event"
        "package hames:sdk-on-session-event; world on-session-event { export hames:plugin/on-session-event@0.1.0; }"
        "export_on_session_event_interface" "hames_sdk::bindings::on_session_event"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events];
    /// The interface `on-session-start`.
    on_session_start
        "hames:sdk-on-session-start/on-session-start"
        "package hames:sdk-on-session-start; world on-session-start { export hames:plugin/on-session-start@0.1.0; }"
        "export_on_session_start_interface" "hames_sdk::bindings::on_session_start"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `on-status`.
    on_status
        "hames:sdk-on-status/on-status"
        "package hames:sdk-on-status; world on-status { export hames:plugin/on-status@0.1.0; }"
        "export_on_status_interface" "hames_sdk::bindings::on_status"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `on-queued`.
    on_queued
        "hames:sdk-on-queued/on-queued"
        "package hames:sdk-on-queued; world on-queued { export hames:plugin/on-queued@0.1.0; }"
        "export_on_queued_interface" "hames_sdk::bindings::on_queued"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content];
    /// The interface `on-cancel-requested`.
    on_cancel_requested
        "hames:sdk-on-cancel-requested/on-cancel-requested"
        "package hames:sdk-on-cancel-requested; world on-cancel-requested { export hames:plugin/on-cancel-requested@0.1.0; }"
        "export_on_cancel_requested_interface" "hames_sdk::bindings::on_cancel_requested"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `on-error`.
    on_error
        "hames:sdk-on-error/on-error"
        "package hames:sdk-on-error; world on-error { export hames:plugin/on-error@0.1.0; }"
        "export_on_error_interface" "hames_sdk::bindings::on_error"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content];
    /// The interface `on-tool-result`.
    on_tool_result
        "hames:sdk-on-tool-result/on-tool-result"
        "package hames:sdk-on-tool-result; world on-tool-result { export hames:plugin/on-tool-result@0.1.0; }"
        "export_on_tool_result_interface" "hames_sdk::bindings::on_tool_result"
        ["hames:plugin/types@0.1.0" types, "hames:plugin/content@0.1.0" content, "hames:plugin/events@0.1.0" events, "hames:plugin/invocation@0.1.0" invocation];
    /// The interface `on-agent-created`.
    on_agent_created
        "hames:sdk-on-agent-created/on-agent-created"
        "package hames:sdk-on-agent-created; world on-agent-created { export hames:plugin/on-agent-created@0.1.0; }"
        "export_on_agent_created_interface" "hames_sdk::bindings::on_agent_created"
        ["hames:plugin/types@0.1.0" types];
    /// The interface `on-agent-disposed`.
    on_agent_disposed
        "hames:sdk-on-agent-disposed/on-agent-disposed"
        "package hames:sdk-on-agent-disposed; world on-agent-disposed { export hames:plugin/on-agent-disposed@0.1.0; }"
        "export_on_agent_disposed_interface" "hames_sdk::bindings::on_agent_disposed"
        ["hames:plugin/types@0.1.0" types];
}
