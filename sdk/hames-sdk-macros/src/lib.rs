//! How do a plugin's types learn JSON without the author naming the libraries for it?

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

fn error(text: &str) -> TokenStream {
    format!("::core::compile_error!({text:?});")
        .parse()
        .unwrap_or_default()
}
