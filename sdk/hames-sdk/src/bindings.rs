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

/// The interface `tools`.
pub mod tools {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "package hames:sdk-tools; world tools { export hames:plugin/tools@0.1.0; }",
        world: "hames:sdk-tools/tools",
        with: {
            "hames:plugin/types@0.1.0": crate::bindings::imports::hames::plugin::types,
            "hames:plugin/content@0.1.0": crate::bindings::imports::hames::plugin::content,
            "hames:plugin/events@0.1.0": crate::bindings::imports::hames::plugin::events,
            "hames:plugin/invocation@0.1.0": crate::bindings::imports::hames::plugin::invocation,
        },
        pub_export_macro: true,
        export_macro_name: "export_tools_interface",
        default_bindings_module: "hames_sdk::bindings::tools",
    });
}

/// The interface `plugin`.
pub mod plugin {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "package hames:sdk-plugin; world plugin { export hames:plugin/plugin@0.1.0; }",
        world: "hames:sdk-plugin/plugin",
        with: {
            "hames:plugin/types@0.1.0": crate::bindings::imports::hames::plugin::types,
        },
        pub_export_macro: true,
        export_macro_name: "export_plugin_interface",
        default_bindings_module: "hames_sdk::bindings::plugin",
    });
}
