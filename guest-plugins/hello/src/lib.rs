//! The smallest tool: its arguments are a struct, its work is a function.

use hames_sdk::prelude::*;

/// Greets somebody.
#[arguments]
struct Hello {
    /// Whom to greet.
    name: String,
}

impl Tool for Hello {
    fn run(self, _call: &Call) -> Answer {
        Ok(format!("Hello, {}!", self.name).into())
    }
}

export_plugin!(Hello);
