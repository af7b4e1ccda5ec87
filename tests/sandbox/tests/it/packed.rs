//! Does a component of any origin become a plugin by a manifest of its own?

use hames_plugin::{Manifest, PluginSpec, pack};
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::Home;
use hames_types::id::PluginId;

const MANIFEST: &str = r#"{"id":"greeter","version":"1.2.3","wants":[{"grant":"kv","reason":"counts"}]}"#;

#[tokio::test]
async fn a_packed_component_says_what_its_manifest_says() {
    let bare = Module::default().component().unwrap();
    // Longer than fits in one byte of a size.
    let long = format!("{MANIFEST}{}", " ".repeat(20_000));
    for manifest in [MANIFEST, long.as_str()] {
        let packed = pack(&bare, manifest.as_bytes()).unwrap();
        assert!(packed.starts_with(&bare));
        let home = Home::new().unwrap();
        let plugin = home.load("greeter", packed.clone().into()).await.unwrap();
        let Manifest {
            id, version, wants, ..
        } = plugin.manifest();
        assert_eq!(
            (id.as_str(), version.as_str(), wants.len()),
            ("greeter", "1.2.3", 1)
        );
        let error = home
            .sandbox
            .inspect(&PluginSpec::new(PluginId::new("greeter"), packed.clone()))
            .await;
        assert!(error.is_ok());
        let error = pack(&packed, manifest.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("more than one"), "{error}");
    }
}

#[test]
fn a_manifest_that_would_not_load_is_not_packed() {
    let bare = Module::default().component().unwrap();
    for (manifest, says) in [
        ("{", "can't be read"),
        (r#"{"id":"Greeter","version":"1"}"#, "`Greeter` must be"),
        (
            r#"{"id":"greeter","version":"1","wants":[{"grant":"money","reason":""}]}"#,
            "`money` is none of",
        ),
    ] {
        let error = pack(&bare, manifest.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(
        pack(b"\0asm\x01\0\0\0", MANIFEST.as_bytes()).unwrap_err().code(),
        "PLUGIN_MALFORMED"
    );
}

/// A stranger's component tells its tools before anybody grants it anything.
#[tokio::test]
async fn tools_are_listed_with_nothing_granted() {
    let home = Home::new().unwrap();
    let fs = hames_sandbox_tests::guests::wasip2("fs").unwrap();
    let id = PluginId::new("fs");
    let seen = home
        .sandbox
        .inspect(&PluginSpec::new(id.clone(), fs.clone()))
        .await
        .unwrap();
    let needed: Vec<&str> = seen
        .needs
        .iter()
        .filter(|(_, need)| matches!(need, hames_plugin::Need::AnyOf(_)))
        .map(|(name, _)| name.split('@').next().unwrap())
        .collect();
    assert_eq!(
        needed,
        [
            "hames:plugin/kv",
            "wasi:filesystem/types",
            "wasi:filesystem/preopens"
        ],
        "{:?}",
        seen.needs
    );
    let tools = home.sandbox.tools(PluginSpec::new(id, fs)).await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.schema.name.as_str()).collect();
    assert_eq!(names, ["read", "write", "edit", "list", "glob", "grep"]);
}
