//! The agent loop: what runs between a prompt and its last answer, and who may have a say in it.
//!
//! The path, room by room: [`Agent`] takes a prompt, `driver` claims it, `turn` opens and closes its turn, `step`
//! makes one model call after the other, `request` builds what is asked, `stream` logs what is said, and
//! [`tools`] runs what was asked for. [`listeners`] has a say at every point; [`Agents`] starts and ends agents.

mod agent;
mod agents;
pub mod approval;
mod callers;
mod driver;
mod error;
mod inbox;
pub mod initiator;
mod layers;
mod limits;
pub mod listeners;
pub mod present;
pub mod prompt;
mod register;
pub mod repeat;
mod request;
pub mod retry;
pub mod router;
pub mod schema;
pub mod scope;
mod services;
mod step;
mod stream;
pub mod target;
pub mod tools;
mod turn;

pub use agent::{Agent, AgentOptions, InjectOptions, SendOptions};
pub use agents::{AgentConfig, AgentConfigError, Agents, ConfiguredSession, Life, Setup, StartOptions};
pub use callers::LiveCallers;
pub use error::{StartError, VerbError};
pub use layers::{EntryId, OnChange};
pub use limits::Limits;
pub use request::{RequestMismatch, check as check_request};
pub use services::Services;
