//! Tests of the key's sources, and of what is shown of it.

use super::{ApiKey, KeySource, Secret};

const KEY: &str = "sk-0123456789";

async fn get(source: KeySource) -> Result<Option<Secret>, String> {
    ApiKey::new(source)
        .get()
        .await
        .map_err(|failure| format!("{}: {}", failure.code, failure.message))
}

fn words(command: &[&str]) -> KeySource {
    KeySource::Command(command.iter().map(|word| (*word).to_owned()).collect())
}

#[test]
fn debug_shows_nothing_of_a_key() {
    let key = ApiKey::new(KeySource::Value(Secret::new(KEY)));
    assert!(!format!("{key:?}").contains("0123"));
}

#[test]
fn a_key_repeated_in_a_message_is_taken_out() {
    let secret = Secret::new(KEY);
    assert_eq!(
        secret.redact(&format!("bad key {KEY}!")).as_deref(),
        Some("bad key <key>!")
    );
    assert_eq!(secret.redact("bad key"), None);
}

#[tokio::test]
async fn a_command_prints_the_key() {
    assert_eq!(get(words(&["echo", KEY])).await, Ok(Some(Secret::new(KEY))));
    let refused = get(words(&["false"])).await.unwrap_err();
    assert!(refused.starts_with("AUTH: the key command failed"), "{refused}");
    assert!(get(words(&["no-such-program-of-ours"])).await.is_err());
    assert!(get(words(&["true"])).await.unwrap_err().contains("empty"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let path = std::env::temp_dir().join(format!("hames-key-{}", std::process::id()));
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let refused = get(KeySource::File(path.clone())).await.unwrap_err();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let taken = get(KeySource::File(path.clone())).await;
    std::fs::remove_file(&path).unwrap();
    assert!(refused.contains("chmod 600"), "{refused}");
    assert_eq!(taken, Ok(Some(Secret::new(KEY))));
}
