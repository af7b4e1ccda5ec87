//! How is a component made by hand? WebAssembly text for the core module, the world's types around it.
//!
//! The base module is a tool plugin that keeps the rules: one tool `t`, whose call answers with one block of text.
//! An attack replaces a piece of it.

use std::sync::Arc;

use anyhow::Context as _;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::guests::{componentize, root};

/// Where the definition of the tool stands, and its texts.
const LIST: usize = 1_024;
const TEXTS: usize = 1_200;

/// A core module in pieces. Every piece is WebAssembly text.
#[derive(Debug, Clone)]
pub struct Module {
    /// Imports.
    pub imports: String,
    /// `(memory …)` and the like.
    pub memory: String,
    /// Body of `list`: gives the address of the answer.
    pub list: String,
    /// Body of `classify` (parameters: name and arguments, as address and length).
    pub classify: String,
    /// Body of `execute` (`$call`: address of the call): gives the address of the answer.
    pub execute: String,
    /// Body of `present-call`.
    pub present: String,
    /// Body of `cabi_realloc` (`$old $old_size $align $size`): gives an address.
    pub realloc: String,
    /// Whatever else: functions, data, a start function, post-returns.
    pub more: String,
    /// The execution class in the definition: 0 exclusive, 1 parallel, 2 classified.
    pub class: u8,
    /// The manifest, put into a custom section.
    pub manifest: Option<String>,
}

impl Default for Module {
    fn default() -> Self {
        Self {
            imports: String::new(),
            memory: "(memory (export \"memory\") 2)".to_owned(),
            list: format!("(i32.const {LIST})"),
            classify: "(i32.const 2048)".to_owned(),
            execute: "(call $answer (i32.const 2304) (i32.const 2))".to_owned(),
            present: "(i32.const 2112)".to_owned(),
            realloc: BUMP.to_owned(),
            more: String::new(),
            class: 0,
            manifest: None,
        }
    }
}

/// A bump allocator that grows the memory as needed.
pub const BUMP: &str = "
    (local $at i32)
    (local.set $at (i32.and
        (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
        (i32.sub (i32.const 0) (local.get $align))))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (block $fits (loop $grow
        (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
        (br $grow)))
    (local.get $at)";

impl Module {
    /// The module as text.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            imports,
            memory,
            list,
            classify,
            execute,
            present,
            realloc,
            more,
            ..
        } = self;
        format!(
            r#"(module
  {imports}
  {memory}
  (global $next (mut i32) (i32.const 8192))
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    {realloc})
  (func (export "hames:plugin/tools@0.1.0#list") (param $at i32) (param $len i32) (result i32) {list})
  (func (export "hames:plugin/tools@0.1.0#classify")
    (param $at i32) (param $len i32) (param $args i32) (param $args_len i32) (result i32) {classify})
  (func $execute (export "hames:plugin/tools@0.1.0#execute") (param $call i32) (result i32) {execute})
  (func (export "hames:plugin/tools@0.1.0#present-call")
    (param $at i32) (param $len i32) (param $args i32) (param $args_len i32) (result i32) {present})
  (func (export "hames:plugin/tools@0.1.0#present-result")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 2112))
  ;; A success with one text block: the result at 4096, the block at 4160.
  (func $answer (param $text i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 4096) (i32.const 0))
    (i32.store (i32.const 4104) (i32.const 4160))
    (i32.store (i32.const 4108) (i32.const 1))
    (i32.store8 (i32.const 4112) (i32.const 0))
    (i32.store (i32.const 4124) (i32.const 4160))
    (i32.store (i32.const 4128) (i32.const 0))
    (i32.store8 (i32.const 4160) (i32.const 0))
    (i32.store (i32.const 4164) (local.get $text))
    (i32.store (i32.const 4168) (local.get $len))
    (i32.store8 (i32.const 4172) (i32.const 0))
    (i32.const 4096))
  (data (i32.const 2304) "ok")
  ;; At 2048 a success with the first case, at 2112 a none.
  {data}
  {more}
)"#,
            data = self.data()
        )
    }

    fn data(&self) -> String {
        let (name, description, parameters) = ("t", "a tool", r#"{"type":"object"}"#);
        let mut texts = String::new();
        let mut at = TEXTS;
        let mut place = |text: &str| {
            let found = at;
            texts.push_str(text);
            at += text.len();
            (found, text.len())
        };
        let places = [place(name), place(description), place(parameters)];
        let mut answer = vec![0_u8; 8];
        let definition = LIST + 16;
        answer.extend(word(definition));
        answer.extend(word(1));
        for (at, len) in places {
            answer.extend(word(at));
            answer.extend(word(len));
        }
        // Arguments checked by the host, no timeout, the class, no extra.
        answer.extend([0; 8]);
        answer.extend([0; 16]);
        answer.push(self.class);
        answer.extend([0; 15]);
        format!(
            "(data (i32.const {LIST}) \"{}\") (data (i32.const {TEXTS}) \"{}\")",
            escaped(&answer),
            escaped(texts.as_bytes())
        )
    }

    /// The component.
    ///
    /// # Errors
    /// If the text isn't a module or doesn't fit the world.
    pub fn component(&self) -> anyhow::Result<Arc<[u8]>> {
        let text = self.text();
        let mut module = wat::parse_str(&text).with_context(|| text.clone())?;
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(root().join("wit"))?;
        let world = resolve.select_world(&[package], Some("tool-plugin"))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        let component = componentize(&module)?;
        Ok(match &self.manifest {
            Some(manifest) => with_section(&component, "hames:manifest", manifest.as_bytes()),
            None => component,
        })
    }
}

fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// A binary with one more custom section at its end.
#[must_use]
pub fn with_section(binary: &[u8], name: &str, data: &[u8]) -> Arc<[u8]> {
    let mut body = leb(name.len());
    body.extend(name.as_bytes());
    body.extend(data);
    let mut all = binary.to_vec();
    all.push(0);
    all.extend(leb(body.len()));
    all.extend(body);
    all.into()
}

pub(crate) fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
