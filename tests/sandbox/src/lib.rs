//! What may a test of the sandbox use? Guests of three kinds, and a home to load them into.
//!
//! [`guests`] builds the plugins written in Rust, [`handmade`] makes components out of WebAssembly text, [`attacks`]
//! is the table of what such components try, and [`home`] holds a sandbox with everything it needs around it.

pub mod answer;
pub mod attacks;
pub mod guests;
pub mod handmade;
pub mod home;
pub mod listening;
pub mod rounds;
pub mod smith;
pub mod trial;
