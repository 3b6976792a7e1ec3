//! Where models come from: the caches, the Hub, the package index, and everything that can go wrong between.

mod chain;
mod hub;
mod hub_server;
mod listing;
#[cfg(unix)]
mod package_index;
mod support;
mod transfer;
