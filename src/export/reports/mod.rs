//! Numbers as JSON: what the commands write and the window exports.

mod analysis;
mod eviction;

pub use analysis::AnalysisReport;
pub use eviction::{CaseReport, EvictionReport};
