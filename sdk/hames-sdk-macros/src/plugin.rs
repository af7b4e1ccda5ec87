//! Which methods of a plugin are written, and which interfaces does that export?

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Methods and the interface, by the name of its bindings, that each of them makes a plugin export.
const METHODS: &[(&str, &str)] = &[
    ("start", "plugin"),
    ("sections", "prompt"),
    ("section_text", "prompt"),
    ("variables", "prompt"),
    ("variable_value", "prompt"),
    ("commands", "commands"),
    ("run_command", "commands"),
    ("guard", "guard"),
    ("on_prompt_submit", "on_prompt_submit"),
    ("on_session_prefix", "on_session_prefix"),
    ("on_prompt_assemble", "on_prompt_assemble"),
    ("on_pre_step", "on_pre_step"),
    ("on_request", "on_request"),
    ("on_step_result", "on_step_result"),
    ("on_pre_execute", "on_pre_execute"),
    ("on_execute", "on_execute"),
    ("on_post_execute", "on_post_execute"),
    ("on_post_step", "on_post_step"),
    ("on_request_error", "on_request_error"),
    ("on_turn_continuation", "on_turn_continuation"),
    ("on_turn_stop", "on_turn_stop"),
    ("on_session_event", "on_session_event"),
    ("on_session_start", "on_session_start"),
    ("on_status", "on_status"),
    ("on_queued", "on_queued"),
    ("on_cancel_requested", "on_cancel_requested"),
    ("on_error", "on_error"),
    ("on_tool_result", "on_tool_result"),
    ("on_agent_created", "on_agent_created"),
    ("on_agent_disposed", "on_agent_disposed"),
];

/// What stands in the parentheses of the attribute.
#[derive(Default)]
struct Options {
    tools: Option<TokenStream>,
    manifest: Option<TokenTree>,
}

/// The implementation itself, and behind it an export for each interface.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream, String> {
    let options = read(options)?;
    let (plugin, body) = implementation(&item)?;
    let mut interfaces: Vec<&str> = Vec::new();
    for method in methods(&body) {
        let known = METHODS.iter().find(|(name, _)| *name == method);
        if let Some((_, interface)) = known.filter(|(_, interface)| !interfaces.contains(interface)) {
            interfaces.push(interface);
        }
    }
    if interfaces.is_empty() && options.tools.is_none() {
        return Err("no method is written and no tools are named: nothing would call this plugin".to_owned());
    }
    let mut tokens = item;
    for interface in interfaces {
        let call = format!("@interface {plugin}, {interface}, export_{interface}_interface");
        tokens.extend(invoke(
            call.parse::<TokenStream>().map_err(|error| error.to_string())?,
        )?);
    }
    if let Some(tools) = options.tools {
        tokens.extend(invoke(marked("@tools", tools)?)?);
    }
    tokens.extend(match options.manifest {
        Some(TokenTree::Ident(none)) if none.to_string() == "none" => TokenStream::new(),
        Some(path) => invoke(marked("@file", path.into())?)?,
        None => invoke(marked("@id", TokenStream::new())?)?,
    });
    Ok(tokens)
}

/// `::hames_sdk::export_plugin! { … }`
fn invoke(arguments: TokenStream) -> Result<TokenStream, String> {
    let mut tokens: TokenStream = "::hames_sdk::export_plugin!"
        .parse()
        .map_err(|error: proc_macro::LexError| error.to_string())?;
    tokens.extend([TokenTree::Group(Group::new(Delimiter::Brace, arguments))]);
    Ok(tokens)
}

fn marked(mark: &str, rest: TokenStream) -> Result<TokenStream, String> {
    let mut tokens: TokenStream = mark
        .parse()
        .map_err(|error: proc_macro::LexError| error.to_string())?;
    tokens.extend(rest);
    Ok(tokens)
}

/// `tools(A, B)` and `manifest = "path"`, in any order.
fn read(options: TokenStream) -> Result<Options, String> {
    const KNOWN: &str = "`#[plugin]` knows `tools(A, B)` and `manifest = \"path\"`";
    let mut read = Options::default();
    let mut tokens = options.into_iter();
    while let Some(token) = tokens.next() {
        match (token.to_string().as_str(), tokens.next()) {
            ("tools", Some(TokenTree::Group(group))) => read.tools = Some(group.stream()),
            ("manifest", Some(TokenTree::Punct(sign))) if sign.as_char() == '=' => {
                read.manifest = Some(tokens.next().ok_or(KNOWN)?);
            }
            _ => return Err(KNOWN.to_owned()),
        }
        match tokens.next() {
            None => {}
            Some(TokenTree::Punct(comma)) if comma.as_char() == ',' => {}
            Some(_) => return Err(KNOWN.to_owned()),
        }
    }
    Ok(read)
}

/// Of `impl Plugin for X { … }` the type and the body.
fn implementation(item: &TokenStream) -> Result<(TokenStream, TokenStream), String> {
    let mut plugin: Option<TokenStream> = None;
    for token in item.clone() {
        match (&mut plugin, token) {
            (Some(plugin), TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
                return Ok((plugin.clone(), body.stream()));
            }
            (Some(plugin), token) => plugin.extend([token]),
            (None, TokenTree::Ident(word)) if word.to_string() == "for" => plugin = Some(TokenStream::new()),
            (None, _) => {}
        }
    }
    Err("`#[plugin]` stands above `impl Plugin for X { … }`".to_owned())
}

/// The names of the functions of a body; what is inside a function is a group and isn't looked at.
fn methods(body: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut follows_fn = false;
    for token in body.clone() {
        let word = match token {
            TokenTree::Ident(word) => word.to_string(),
            TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => String::new(),
        };
        if follows_fn {
            found.push(word.clone());
        }
        follows_fn = word == "fn";
    }
    found
}
