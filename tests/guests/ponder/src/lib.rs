//! A command that takes as long as it is let.

use hames_sdk::prelude::*;

struct Ponder;

#[plugin(manifest = "../manifest.json")]
impl Plugin for Ponder {
    fn commands(_config: Value) -> Result<Vec<CommandDefinition>, Error> {
        Ok(vec![CommandDefinition {
            name: "ponder".to_owned(),
            description: "thinks and thinks".to_owned(),
            argument_hint: None,
            extra: None,
        }])
    }

    fn run_command(_name: &str, _arguments: &str, _agent: Option<&str>) -> Result<CommandOutcome, Error> {
        let mut thoughts = 0_u64;
        loop {
            thoughts = std::hint::black_box(thoughts.wrapping_add(1));
        }
    }
}
