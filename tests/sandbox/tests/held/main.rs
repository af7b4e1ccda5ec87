//! Does anything stay behind of what was loaded and is gone? A binary of its own, since it counts every allocation.

use cap::Cap;
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::rounds::{Held, settles};
use hames_sandbox_tests::smith::attempt;

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// The short form of `smith-rounds`: it finds 300 bytes that stay of a load.
#[tokio::test]
async fn nothing_stays_of_what_is_loaded_and_dropped() {
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
