//! Do the adapters get on with servers that other people wrote? They are installed by `.ci/peers`.

mod agent;
mod aimock;
mod llmock;
mod process;
mod real_model;
