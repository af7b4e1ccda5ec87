//! How do a plugin's types learn JSON without the author naming the libraries for it, and how does what is written say
//! what is exported?

mod plugin;

use proc_macro::TokenStream;

/// Makes a struct or an enum something that arguments are made of: read from JSON and described to the model.
///
/// Doc comments become descriptions. The attributes of `serde` and `schemars` work as usual.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    if !options.is_empty() {
        return error("`#[arguments]` takes no options");
    }
    let derives = "
        #[derive(::hames_sdk::serde::Deserialize, ::hames_sdk::schemars::JsonSchema)]
        #[serde(crate = \"::hames_sdk::serde\")]
        #[schemars(crate = \"::hames_sdk::schemars\")]
    ";
    match derives.parse::<TokenStream>() {
        Ok(mut tokens) => {
            tokens.extend(item);
            tokens
        }
        Err(fault) => error(&fault.to_string()),
    }
}

/// Makes a type a plugin that listens to what is written and to nothing else: above `impl Plugin for X`, every method
/// that stands there is exported, and no other.
///
/// * `#[plugin]` — the id is the crate's name, the version the crate's, nothing is wanted.
/// * `#[plugin(manifest = "manifest.json")]` — the manifest is that file beside the source.
/// * `#[plugin(manifest = none)]` — there is none yet: it is added when the component is packed.
/// * `#[plugin(tools(A, B))]` — with these tools as well.
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, item: TokenStream) -> TokenStream {
    match plugin::expand(options, item.clone()) {
        Ok(tokens) => tokens,
        Err(problem) => {
            let mut tokens = error(&problem);
            tokens.extend(item);
            tokens
        }
    }
}

fn error(text: &str) -> TokenStream {
    format!("::core::compile_error!({text:?});")
        .parse()
        .unwrap_or_default()
}
