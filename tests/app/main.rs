//! The real application, driven as a person drives it; only engine, dialogs and clock are stand-ins,
//! and in `real_engine` not even the engine.

mod cursor;
mod eviction;
mod feel;
mod files;
mod flows;
mod hub;
#[path = "../source/hub_server.rs"]
#[expect(dead_code, reason = "the tests of the source use more of it")]
mod hub_server;
mod keyboard;
mod names;
mod real_engine;
mod sinks;
mod sizes;
mod snapshots;
mod stage;
mod support;
mod tokens;
