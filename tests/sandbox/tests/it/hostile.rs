//! Does every attack fail the one call, in time, with its own error, and nothing else?

use hames_sandbox_tests::attacks;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, first_tool};
use hames_sandbox_tests::rounds::Rounds;
use hames_sandbox_tests::smith::{Came, attempt as attempt_seed};
use hames_sandbox_tests::trial::attempt;

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_fails_alone() {
    let home = Home::new().unwrap();
    let other = home
        .load("other", Module::default().component().unwrap())
        .await
        .unwrap();
    let other = first_tool(&other).unwrap();
    let mut failed = Vec::new();
    let attacks = attacks::all().unwrap();
    assert!(attacks.len() >= 60, "there are only {} attacks", attacks.len());
    for attack in &attacks {
        if let Err(error) = attempt(&home, attack, &other).await {
            failed.push(format!("{error:#}"));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        attacks.len(),
        failed.join("\n")
    );
    let lines = home.diary.lines.lock();
    assert!(
        lines
            .iter()
            .all(|(plugin, _, text)| plugin == "attack" && text.len() <= 4096)
    );
}

#[tokio::test]
async fn a_flood_of_diagnostics_ends_with_a_word_about_it() {
    let home = Home::new().unwrap();
    let flood = attacks::all()
        .unwrap()
        .into_iter()
        .find(|attack| attack.name == "a flood of diagnostics")
        .unwrap();
    let other = home
        .load("other", Module::default().component().unwrap())
        .await
        .unwrap();
    attempt(&home, &flood, &first_tool(&other).unwrap())
        .await
        .unwrap();
    let lines = home.diary.lines.lock();
    assert_eq!(lines.len(), 201);
    assert!(lines.last().unwrap().2.contains("used up"));
}

/// One byte of a good plugin is another, everywhere: the load is refused or the plugin behaves, nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_survived() {
    let home = Home::new().unwrap();
    let good = Module::default().component().unwrap();
    for at in (0..good.len()).step_by(23) {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = good.to_vec();
            bytes[at] ^= flip;
            // What it comes to is its own affair; that we are told is all that counts.
            drop(home.load("flipped", bytes.into()).await);
        }
    }
}

/// A file that ends anywhere is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_ends_early_is_refused() {
    let home = Home::new().unwrap();
    let good = Module::default().component().unwrap();
    for end in (0..good.len()).step_by(37) {
        let refused = home.load("short", good[..end].into()).await;
        assert!(refused.is_err(), "cut at {end} of {}", good.len());
    }
}

/// The short form of `smith-rounds`.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_thought_of_is_survived() {
    let home = Home::new().unwrap();
    let mut ran = 0;
    for seed in 0..60 {
        match attempt_seed(&home, seed).await.unwrap() {
            Came::Failed | Came::Loaded => ran += 1,
            Came::Nothing | Came::Refused => {}
        }
    }
    assert!(ran > 10, "only {ran} ran at all");
}

/// The short form of `attack-rounds`.
#[tokio::test]
async fn memory_does_not_grow_with_attacks() {
    let home = Home::new().unwrap();
    let attacks = Rounds::load(&home).await.unwrap();
    assert!(attacks.len() > 40);
    let before = attacks.run(20).await.unwrap();
    let after = attacks.run(40).await.unwrap();
    assert!(after < before + (8 << 20), "{before} became {after}");
}
