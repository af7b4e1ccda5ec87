//! Does anything stay behind of what was loaded and is gone, or of calls that are over? A binary of its own, since it counts every allocation.

use cap::Cap;
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::rounds::{Held, Rounds, settles};
use hames_sandbox_tests::smith::attempt;
use tokio::sync::Mutex;

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Each test counts what the whole process holds, so they take turns.
static TURN: Mutex<()> = Mutex::const_new(());

/// The short form of `smith-rounds`: it finds 300 bytes that stay of a load.
#[tokio::test]
async fn nothing_stays_of_what_is_loaded_and_dropped() {
    let _turn = TURN.lock().await;
    let home = Home::new().unwrap();
    let held = settles(10, 6 << 10, async || {
        for seed in 0..40 {
            attempt(&home, seed).await?;
        }
        Held::now(ALLOCATOR.allocated())
    })
    .await
    .unwrap();
    println!("{held:?}");
}

/// Beside `attack-rounds`, which looks at resident memory: it finds 30 bytes that stay of a call.
#[tokio::test]
async fn nothing_stays_of_calls_that_attacked() {
    let _turn = TURN.lock().await;
    let home = Home::new().unwrap();
    let attacks = Rounds::load(&home).await.unwrap();
    let held = settles(10, 6 << 10, async || {
        attacks.run(4).await?;
        Held::now(ALLOCATOR.allocated())
    })
    .await
    .unwrap();
    println!("{held:?}");
}
