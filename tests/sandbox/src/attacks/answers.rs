//! What does a guest try with answers that are well formed and not allowed?

use super::Expect::{Fails, Refused, Succeeds};
use super::{Attack, Expect, armed, with};
use crate::answer::{Answer, From};
use crate::handmade::Module;

fn answering(
    name: &'static str,
    build: impl FnOnce(&mut Answer) -> u32,
    expects: Expect,
) -> anyhow::Result<Attack> {
    let mut answer = Answer::default();
    let at = build(&mut answer);
    let module = Module {
        execute: armed(&format!("(i32.const {at})")),
        more: answer.data(),
        ..Module::default()
    };
    with(name, module, expects)
}

fn claiming(name: &'static str, manifest: &str, expects: Expect) -> anyhow::Result<Attack> {
    let module = Module {
        manifest: Some(manifest.to_owned()),
        ..Module::default()
    };
    with(name, module, expects)
}

pub(super) fn attacks() -> anyhow::Result<Vec<Attack>> {
    let mut all = contents()?;
    all.extend(contexts()?);
    all.extend(manifests()?);
    Ok(all)
}

fn contents() -> anyhow::Result<Vec<Attack>> {
    let refused = Fails("PLUGIN_ANSWER");
    Ok(vec![
        answering(
            "private state that isn't JSON",
            |answer| answer.with_meta(b"{nope"),
            refused,
        )?,
        answering(
            "private state nested 400 deep",
            |answer| answer.with_meta(&[b"[".repeat(400), b"]".repeat(400)].concat()),
            refused,
        )?,
        answering(
            "a number beyond numbers",
            |answer| answer.with_meta(b"1e999"),
            refused,
        )?,
        answering("a negative zero", |answer| answer.with_meta(b"[-0.0]"), refused)?,
        answering(
            "private state of two values",
            |answer| answer.with_meta(b"1 2"),
            refused,
        )?,
        answering(
            "a block of a kind nobody declared",
            |answer| {
                let block = answer.other("stranger:thing", "{}");
                answer.blocks(&[block])
            },
            refused,
        )?,
        answering(
            "a core kind in disguise",
            |answer| {
                let block = answer.other("text", r#"{"text":"hidden"}"#);
                answer.blocks(&[block])
            },
            refused,
        )?,
        answering(
            "fields that are no object",
            |answer| {
                let block = answer.other("stranger:thing", "[]");
                answer.blocks(&[block])
            },
            refused,
        )?,
        answering(
            "unknown fields that replace a known one",
            |answer| {
                let block = answer.text_with(b"shown", br#"{"text":"logged"}"#);
                answer.blocks(&[block])
            },
            refused,
        )?,
        answering(
            "unknown fields that are no object",
            |answer| {
                let block = answer.text_with(b"shown", b"7");
                answer.blocks(&[block])
            },
            refused,
        )?,
        answering(
            "an unknown field",
            |answer| {
                let block = answer.text_with(b"shown", br#"{"tone":"calm"}"#);
                answer.blocks(&[block])
            },
            Succeeds,
        )?,
    ])
}

fn contexts() -> anyhow::Result<Vec<Attack>> {
    let refused = Fails("PLUGIN_ANSWER");
    let with_contexts = |name, contexts: Vec<(From, Option<&'static str>)>, expects| {
        answering(
            name,
            move |answer| {
                let built: Vec<Vec<u8>> = contexts
                    .iter()
                    .map(|(from, meta)| answer.context(*from, *meta))
                    .collect();
                let contexts = answer.list(&built);
                answer.success((0, 0), None, contexts)
            },
            expects,
        )
    };
    Ok(vec![
        with_contexts("speaking as the person", vec![(From::User, None)], refused)?,
        with_contexts(
            "speaking as another plugin",
            vec![(From::Plugin("policy"), None)],
            refused,
        )?,
        with_contexts(
            "speaking as itself",
            vec![(From::Plugin("attack"), Some("{}"))],
            Succeeds,
        )?,
        with_contexts(
            "a context with state that isn't JSON",
            vec![(From::Plugin("attack"), Some("nope"))],
            refused,
        )?,
        with_contexts(
            "more contexts than allowed",
            vec![(From::Plugin("attack"), None); 65],
            Fails("PLUGIN_LIMIT_CONTEXTS"),
        )?,
    ])
}

fn manifests() -> anyhow::Result<Vec<Attack>> {
    let bad = Refused("PLUGIN_MANIFEST");
    let kind = |tag: &str| {
        format!(
            r#"{{"id":"attack","version":"1","kinds":[{{"sum":"content block","tag":"{tag}","schema":{{}}}}]}}"#
        )
    };
    Ok(vec![
        claiming("a manifest that isn't JSON", "{", bad)?,
        claiming(
            "a manifest with an unknown field",
            r#"{"id":"attack","version":"1","root":true}"#,
            bad,
        )?,
        claiming(
            "a manifest that wants what there isn't",
            r#"{"id":"attack","version":"1","wants":[{"grant":"everything","reason":"please"}]}"#,
            bad,
        )?,
        claiming("a manifest of 300 KiB", &"x".repeat(300 << 10), bad)?,
        claiming(
            "another plugin's name",
            r#"{"id":"policy","version":"1"}"#,
            Refused("PLUGIN_OTHER_ID"),
        )?,
        claiming("a name that is a path", r#"{"id":"../x","version":"1"}"#, bad)?,
        claiming("a kind of the core", &kind("text"), Refused("PLUGIN_KIND"))?,
        claiming(
            "another plugin's kind",
            &kind("policy:verdict"),
            Refused("PLUGIN_KIND"),
        )?,
        claiming("a bare kind", &kind("verdict"), Refused("PLUGIN_KIND"))?,
        claiming(
            "a kind whose schema is endless",
            r#"{"id":"attack","version":"1","kinds":[{"sum":"content block","tag":"attack:x","schema":{"pattern":"(a{1000}){1000}"}}]}"#,
            Refused("PLUGIN_KIND"),
        )?,
        claiming(
            "a kind whose schema is elsewhere",
            r#"{"id":"attack","version":"1","kinds":[{"sum":"content block","tag":"attack:x","schema":{"$ref":"http://127.0.0.1:9/x"}}]}"#,
            Refused("PLUGIN_KIND"),
        )?,
    ])
}
