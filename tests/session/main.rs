//! Session files: what is saved comes back, and nothing that was cut, changed or made up is believed.

#[path = "../toy_capture/mod.rs"]
mod toy_capture;

mod damaged;
mod forged;
mod round_trip;
mod support;
