//! The program as its users have it: started as a process, with a home of its own.

mod chat;
mod config;
mod kit;
mod model;
mod plugins;
mod readme;
mod resume;
mod run;
mod words;
