//! What every adapter owes the loop, whatever its server does: one suite for all protocols.

mod contract;
mod kit;
mod protocols;
mod raw;
mod wire;
