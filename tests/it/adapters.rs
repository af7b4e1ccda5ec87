//! What every adapter owes the loop, whatever its server does: one suite for all protocols.

mod contract;
pub(crate) mod kit;
pub(crate) mod protocols;
mod raw;
mod wire;
