//! The words hames speaks and the ports it speaks through. Nothing here performs an effect.
//!
//! Read in this order: values ([`json`], [`open`], [`id`]), what a conversation is made of ([`content`],
//! [`message`], [`chunk`], [`request`]), what is logged ([`turn`], [`event`], [`header`]), what is decided
//! ([`tool`], [`decision`]), who may extend it ([`kinds`]), and the outside as traits ([`port`]).

pub mod json;
pub mod open;

pub mod id;

pub mod chunk;
pub mod content;
pub mod failure;
pub mod message;
pub mod request;
pub mod usage;

pub mod decision;
pub mod event;
pub mod fault;
pub mod header;
pub mod kinds;
pub mod port;
pub mod prompt;
pub mod scope;
pub mod signal;
pub mod tool;
pub mod turn;
