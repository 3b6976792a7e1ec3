//! Simulated KV-cache eviction: what the text's perplexity would be under a smaller cache.
//!
//! The convention is StreamingLLM's: after each step the cache holds at most `budget` keys, the
//! newest included, and query `t` attends to the retained cache and itself. So rows `0…budget`
//! equal the full cache's, and the first row that can differ is `budget + 1`.

mod attending;
mod case;
mod curve;
mod history;
mod names;
mod policy;
mod schedule;
mod simulate;

pub use case::{CaseError, EvictionCase, PinChoice, Pins, PolicyName, Positions, read_cases};
pub use curve::{Curve, perplexity, rolling_mean, rolling_perplexity};
pub use history::{Kept, Retention};
pub use policy::{AttentionPolicy, ScoreBoard, Victim};
pub use schedule::Schedule;
pub use simulate::{EvictionRun, Prefix, SimulationPoint, simulate};
