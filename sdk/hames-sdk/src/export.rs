//! How does a crate become a plugin? One line at its end.

/// Exports tools as a plugin.
///
/// * `export_plugin!(A, B);` — the id is the crate's name, the version the crate's, nothing is wanted.
/// * `export_plugin!(A, B; manifest = "manifest.json");` — the manifest is that file beside the source.
/// * `export_plugin!(raw P; manifest = "manifest.json");` — `P` implements the generated trait
///   [`crate::bindings::tools::exports::hames::plugin::tools::Guest`] itself, for tools that aren't known when the
///   plugin is built.
/// * `start = f` behind the manifest: `fn f(config: Value) -> Result<(), Error>` is called once at load.
#[macro_export]
macro_rules! export_plugin {
    ($($tool:ty),+ $(,)?) => {
        $crate::export_plugin!(@tools $($tool),+);
        $crate::export_plugin!(@id);
    };
    ($($tool:ty),+ ; manifest = $path:literal $(, start = $start:path)? $(,)?) => {
        $crate::export_plugin!(@tools $($tool),+);
        $crate::export_plugin!(@section include_str!($path));
        $( $crate::export_plugin!(@start $start); )?
    };
    (raw $guest:ident ; manifest = $path:literal $(, start = $start:path)? $(,)?) => {
        $crate::bindings::tools::export_tools_interface!($guest with_types_in $crate::bindings::tools);
        $crate::export_plugin!(@section include_str!($path));
        $( $crate::export_plugin!(@start $start); )?
    };
    (@id) => {
        $crate::export_plugin!(@section concat!(
            "{\"id\":\"", env!("CARGO_PKG_NAME"), "\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}"
        ));
    };
    (@file $path:literal) => {
        $crate::export_plugin!(@section include_str!($path));
    };
    (@interface $plugin:ty, $module:ident, $export:ident) => {
        const _: () = {
            type Exported = $crate::exported::Exported<$plugin>;
            $crate::bindings::$module::$export!(Exported with_types_in $crate::bindings::$module);
        };
    };
    (@start $start:path) => {
        const _: () = {
            struct Started;
            impl $crate::bindings::plugin::exports::hames::plugin::plugin::Guest for Started {
                fn start(
                    config: String,
                ) -> Result<(), $crate::bindings::imports::hames::plugin::types::Fault> {
                    $crate::export::start(&config, $start)
                }
            }
            $crate::bindings::plugin::export_plugin_interface!(Started with_types_in $crate::bindings::plugin);
        };
    };
    (@section $text:expr) => {
        const _: () = {
            const TEXT: &[u8] = ($text).as_bytes();
            // The host reads it from the file; nothing in the program does.
            #[used]
            #[unsafe(link_section = "hames:manifest")]
            static MANIFEST: [u8; TEXT.len()] = $crate::export::copied(TEXT);
        };
    };
    (@tools $($tool:ty),+) => {
        const _: () = {
            use $crate::bindings::imports::hames::plugin::content::ContentBlock;
            use $crate::bindings::imports::hames::plugin::types::Fault;
            use $crate::bindings::tools::exports::hames::plugin::tools as wit;

            struct Toolbox;

            impl wit::Guest for Toolbox {
                fn list(_config: String) -> Result<Vec<wit::ToolDefinition>, Fault> {
                    Ok(vec![$($crate::tool::define::<$tool>()),+])
                }

                fn classify(name: String, arguments: String) -> Result<wit::ExecutionMode, Fault> {
                    $(if name == $crate::tool::name::<$tool>() {
                        return $crate::tool::classify::<$tool>(&arguments);
                    })+
                    Ok(wit::ExecutionMode::Exclusive)
                }

                fn execute(call: wit::ToolCall) -> Result<wit::ToolOutput, wit::ToolError> {
                    $(if call.name == $crate::tool::name::<$tool>() {
                        return $crate::tool::execute::<$tool>(call);
                    })+
                    Err($crate::error::Error::new(format!("no tool `{}` here", call.name)).into())
                }

                fn present_call(name: String, arguments: String) -> Option<wit::ToolView> {
                    $(if name == $crate::tool::name::<$tool>() {
                        return $crate::tool::view::<$tool>(&arguments);
                    })+
                    None
                }

                fn present_result(
                    name: String,
                    arguments: String,
                    content: Vec<ContentBlock>,
                    meta: Option<String>,
                ) -> Option<wit::ToolView> {
                    $(if name == $crate::tool::name::<$tool>() {
                        return $crate::tool::view_result::<$tool>(&arguments, &content, meta.as_deref());
                    })+
                    None
                }
            }

            $crate::bindings::tools::export_tools_interface!(Toolbox with_types_in $crate::bindings::tools);
        };
    };
}

use serde_json::Value;

use crate::bindings::imports::hames::plugin::types::Fault;
use crate::error::Error;
use crate::exported::parsed;

#[doc(hidden)]
#[must_use]
pub const fn copied<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(text);
    bytes
}

#[doc(hidden)]
pub fn start(config: &str, start: impl FnOnce(Value) -> Result<(), Error>) -> Result<(), Fault> {
    Ok(start(parsed(config))?)
}
