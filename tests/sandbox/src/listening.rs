//! How is a listener made by hand? Any choice of seams and observers, each with a body in WebAssembly text.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Int, Resolve, SizeAlign, Type, TypeDefKind, WorldId, WorldKey};

use crate::guests::{componentize, root};
use crate::handmade::{BUMP, Module, with_section};

/// Where bodies may build their answers.
pub const ANSWER: usize = 4_096;

/// Where the text of an oversized or failing answer stands; so many bytes are there.
const TEXTS: usize = 65_536;

const SLEEP: &str = r#"(import "hames:plugin/wait@0.1.0" "sleep" (func $sleep (param i64) (result i32)))"#;

/// A component that listens.
#[derive(Debug, Clone)]
pub struct Listening {
    /// The interfaces, without package and version (`on-pre-execute`), and what each does.
    pub exports: Vec<(&'static str, Does)>,
    /// Its manifest; with `{}` in place of the id.
    pub manifest: String,
    /// Further imports in WebAssembly text.
    pub imports: String,
    /// Further functions and data.
    pub more: String,
    /// A tool `t` beside it.
    pub tools: Option<Module>,
    /// Further packages in WIT, each with what the world takes of it; or no package and what it takes besides.
    pub packages: Vec<(String, String)>,
}

/// What a listener does when it is called.
#[derive(Debug, Clone)]
pub enum Does {
    /// Traps.
    Trap,
    /// Computes without end.
    Loop,
    /// Waits for a minute.
    Wait,
    /// Hands over what isn't of its type.
    Lie,
    /// Fails with a message of so many bytes.
    Fail(usize),
    /// Asks the rest of the chain and hands on what came back, an error as well.
    Delegate,
    /// Asks the rest twice and answers like the first time; traps if the second was no error.
    DelegateTwice,
    /// Answers with these bytes as the payload of a success.
    Answer(Vec<u8>),
    /// Runs this code and answers with these bytes as the payload of a success.
    After(String, Vec<u8>),
    /// Runs this code and then delegates.
    AndDelegate(String),
    /// Answers with these bytes after asking the rest, whatever it said.
    DelegateAnd(Vec<u8>),
    /// Anything: the body, with `$next` set, that leaves an address.
    Body(String),
}

/// What is known of an exported function.
struct Shape {
    interface: &'static str,
    function: String,
    params: Vec<WasmType>,
    /// Where the handle of `next` stands: in a parameter or in memory.
    next: Option<Handle>,
    /// Where the payload of the result stands.
    payload: usize,
    /// Where the message of an error stands.
    message: usize,
    /// Bytes of the result.
    size: usize,
}

enum Handle {
    Parameter(usize),
    Memory(usize),
}

impl Default for Listening {
    fn default() -> Self {
        Self {
            exports: Vec::new(),
            manifest: r#"{"id":"{}","version":"1.0.0","wants":[{"grant":"authority","reason":"a test"},{"grant":"clocks","reason":"a test"},{"grant":"random","reason":"a test"},{"grant":"agent","reason":"a test"},{"grant":"kv","reason":"a test"},{"grant":"session","reason":"a test"}],"events":["turn/start"]}"#.to_owned(),
            imports: String::new(),
            more: String::new(),
            tools: None,
            packages: Vec::new(),
        }
    }
}

impl Listening {
    /// One that listens at one point.
    #[must_use]
    pub fn at(interface: &'static str, does: Does) -> Self {
        Self {
            exports: vec![(interface, does)],
            ..Self::default()
        }
    }

    /// The component, of the plugin `id`.
    ///
    /// # Errors
    /// If a body isn't WebAssembly text or doesn't fit.
    pub fn component(&self, id: &str) -> anyhow::Result<Arc<[u8]>> {
        let mut resolve = Resolve::default();
        resolve.push_dir(root().join("wit"))?;
        let mut world =
            "package test:made;\nworld made {\n  include hames:plugin/imports@0.1.0;\n".to_owned();
        for (package, taken) in &self.packages {
            if !package.is_empty() {
                resolve.push_str("further.wit", package)?;
            }
            writeln!(world, "  {taken}")?;
        }
        if self.tools.is_some() {
            writeln!(world, "  export hames:plugin/tools@0.1.0;")?;
        }
        for (interface, _) in &self.exports {
            writeln!(world, "  export hames:plugin/{interface}@0.1.0;")?;
        }
        let package = resolve.push_str("made.wit", &format!("{world}}}\n"))?;
        let world = resolve.select_world(&[package], Some("made"))?;
        let text = self.text(&resolve, world)?;
        let mut module = wat::parse_str(&text).with_context(|| text.clone())?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
        let component = componentize(&module)?;
        let manifest = self.manifest.replacen("{}", id, 1);
        Ok(with_section(&component, "hames:manifest", manifest.as_bytes()))
    }

    fn text(&self, resolve: &Resolve, world: WorldId) -> anyhow::Result<String> {
        let mut imports = String::new();
        let mut functions = String::new();
        for (interface, does) in &self.exports {
            let shape = shape(resolve, world, interface)?;
            let seam = interface.trim_start_matches("on-");
            if shape.next.is_some() {
                writeln!(
                    imports,
                    r#"(import "hames:plugin/next@0.1.0" "[method]next-{seam}.run" (func $run-{seam} (param i32 i32)))
                    (import "hames:plugin/next@0.1.0" "[resource-drop]next-{seam}" (func $drop-{seam} (param i32)))"#
                )?;
            }
            functions.push_str(&function(&shape, seam, does));
        }
        if let Some(tools) = &self.tools {
            let mut module = tools.clone();
            module.imports = format!("{SLEEP}\n{imports}\n{}\n{}", self.imports, module.imports);
            "(memory (export \"memory\") 64)".clone_into(&mut module.memory);
            module.more = format!("{functions}\n{}\n{}", self.more, module.more);
            return Ok(module.text());
        }
        Ok(format!(
            r#"(module
  {SLEEP}
  {imports}
  {further}
  (memory (export "memory") 64)
  (global $next (mut i32) (i32.const 1048576))
  (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
    {BUMP})
  {functions}
  {more}
)"#,
            further = self.imports,
            more = self.more,
        ))
    }
}

fn shape(resolve: &Resolve, world: WorldId, interface: &'static str) -> anyhow::Result<Shape> {
    let mut sizes = SizeAlign::default();
    sizes.fill(resolve);
    let exports = &resolve.worlds.get(world).context("no such world")?.exports;
    let found = exports.keys().find_map(|key| match key {
        WorldKey::Interface(id) => resolve
            .interfaces
            .get(*id)
            .filter(|found| found.name.as_deref() == Some(interface)),
        WorldKey::Name(_) => None,
    });
    let (name, function) = found
        .with_context(|| format!("the contract has no `{interface}`"))?
        .functions
        .first()
        .context("an interface without functions")?;
    let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
    let types: Vec<Type> = function.params.iter().map(|param| param.ty).collect();
    let next = (types.len() > 1).then(|| {
        if signature.indirect_params {
            let offsets = sizes.field_offsets(&types);
            Handle::Memory(offsets.last().map_or(0, |(offset, _)| offset.size_wasm32()))
        } else {
            Handle::Parameter(signature.params.len() - 1)
        }
    });
    let result = function.result.context("a function without a result")?;
    let Some((ok, err)) = result_types(resolve, result) else {
        anyhow::bail!("`{interface}` gives no result");
    };
    let payload = sizes
        .payload_offset(Int::U8, [ok.as_ref(), err.as_ref()])
        .size_wasm32();
    Ok(Shape {
        interface,
        function: name.clone(),
        params: signature.params,
        next,
        payload,
        // `listener-error` is a variant around the fault; guards and observers fail with the fault itself.
        message: payload + if is_variant(resolve, err) { 8 } else { 0 },
        size: sizes.size(&result).size_wasm32(),
    })
}

fn kind(resolve: &Resolve, ty: Type) -> Option<&TypeDefKind> {
    let Type::Id(id) = ty else { return None };
    let kind = &resolve.types.get(id)?.kind;
    // Through the names to what is named.
    if let TypeDefKind::Type(inner) = kind {
        return self::kind(resolve, *inner);
    }
    Some(kind)
}

fn result_types(resolve: &Resolve, ty: Type) -> Option<(Option<Type>, Option<Type>)> {
    let TypeDefKind::Result(result) = kind(resolve, ty)? else {
        return None;
    };
    Some((result.ok, result.err))
}

fn is_variant(resolve: &Resolve, ty: Option<Type>) -> bool {
    ty.and_then(|ty| kind(resolve, ty))
        .is_some_and(|kind| matches!(kind, TypeDefKind::Variant(_)))
}

fn function(shape: &Shape, seam: &str, does: &Does) -> String {
    let Shape {
        interface,
        function,
        params,
        next,
        payload,
        message,
        size,
    } = shape;
    let params: String = params
        .iter()
        .enumerate()
        .map(|(at, ty)| format!("(param $p{at} {})", word(*ty)))
        .collect();
    let find = match next {
        Some(Handle::Parameter(at)) => format!("(local.set $next (local.get $p{at}))"),
        Some(Handle::Memory(offset)) => {
            format!("(local.set $next (i32.load offset={offset} (local.get $p0)))")
        }
        None => String::new(),
    };
    let release = match next {
        Some(_) => format!("(call $drop-{seam} (local.get $next))"),
        None => String::new(),
    };
    let run = format!("(call $run-{seam} (local.get $next) (i32.const {ANSWER}))");
    // An error of the rest becomes `propagated`.
    let hand_on = format!(
        "(if (i32.load8_u (i32.const {ANSWER})) (then (i32.store8 offset={payload} (i32.const {ANSWER}) (i32.const 1))))"
    );
    let success = |bytes: &[u8]| {
        let mut stores = format!("(memory.fill (i32.const {ANSWER}) (i32.const 0) (i32.const {size}))\n");
        for (at, byte) in bytes.iter().enumerate() {
            stores.push_str(&format!(
                "(i32.store8 offset={} (i32.const {ANSWER}) (i32.const {byte}))\n",
                payload + at
            ));
        }
        stores
    };
    let answer = format!("(i32.const {ANSWER})");
    let body = match does {
        Does::Trap => "(unreachable)".to_owned(),
        Does::Loop => "(loop $on (br $on)) (unreachable)".to_owned(),
        Does::Wait => "(drop (call $sleep (i64.const 60000))) (unreachable)".to_owned(),
        Does::Lie => format!(
            "(memory.fill (i32.const {ANSWER}) (i32.const 255) (i32.const {size})) {release} {answer}"
        ),
        Does::Fail(bytes) => format!(
            "(memory.fill (i32.const {ANSWER}) (i32.const 0) (i32.const {size}))
             (memory.fill (i32.const {TEXTS}) (i32.const 120) (i32.const {bytes}))
             (i32.store8 (i32.const {ANSWER}) (i32.const 1))
             (i32.store offset={message} (i32.const {ANSWER}) (i32.const {TEXTS}))
             (i32.store offset={} (i32.const {ANSWER}) (i32.const {bytes}))
             {release} {answer}",
            message + 4
        ),
        Does::Delegate => format!("{run} {hand_on} {release} {answer}"),
        Does::DelegateTwice => format!(
            "{run} {hand_on}
             (call $run-{seam} (local.get $next) (i32.const {again}))
             (if (i32.eqz (i32.load8_u (i32.const {again}))) (then (unreachable)))
             (if (i32.ne (i32.load8_u offset={payload} (i32.const {again})) (i32.const 1)) (then (unreachable)))
             {release} {answer}",
            again = ANSWER + 1_024
        ),
        Does::Answer(bytes) => format!("{} {release} {answer}", success(bytes)),
        Does::After(code, bytes) => format!("{code} {} {release} {answer}", success(bytes)),
        Does::AndDelegate(code) => format!("{code} {run} {hand_on} {release} {answer}"),
        Does::DelegateAnd(bytes) => format!("{run} {} {release} {answer}", success(bytes)),
        Does::Body(body) => body.clone(),
    };
    format!(
        "(func (export \"hames:plugin/{interface}@0.1.0#{function}\") {params} (result i32) (local $next i32)\n{find}\n{body})\n"
    )
}

const fn word(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
    }
}
