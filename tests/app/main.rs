//! The real application, driven as a person drives it; only engine, dialogs and clock are stand-ins,
//! and in `real_engine` not even the engine.

mod eviction;
mod flows;
mod real_engine;
mod snapshots;
mod stage;
mod support;
