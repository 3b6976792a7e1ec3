//! Eviction cases on the command line: one from flags, or several from a file.

use super::arguments::inline_json;
use crate::eviction::{EvictionCase, PinChoice, PolicyName, Positions, read_cases};
use crate::model::ModelError;
use crate::{Error, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// Which caches to simulate.
#[derive(Debug, Clone, Args)]
pub struct CaseArgs {
    /// A JSON file of cases, or that JSON itself: an array, or an object with `cases`.
    #[arg(long, value_name = "CASES.json|JSON", conflicts_with = "policy")]
    pub cases: Option<PathBuf>,
    /// Which key goes when the cache is over budget.
    #[arg(long, value_enum)]
    pub policy: Option<PolicyArg>,
    /// Keys that the cache may hold after each step.
    #[arg(long, value_name = "KEYS")]
    pub budget: Option<usize>,
    /// Keys that never go: none, bos, detected, detected-prefix:N, first:K, or positions such as 0,7,21.
    #[arg(long, default_value = "none")]
    pub pins: String,
    /// Newest keys that are safe, the current one included (h2o and random).
    #[arg(long, value_name = "KEYS")]
    pub recent: Option<usize>,
    /// Whether retained keys count from their place in the text or their slot in the cache.
    #[arg(long, value_enum, default_value = "original")]
    pub positions: PositionsArg,
    /// Seed of the random policy.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// Names of the policies on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyArg {
    /// Never evict.
    Full,
    /// The oldest that is not pinned.
    Fifo,
    /// A random one, neither pinned nor recent.
    Random,
    /// The lowest sum of attention so far.
    H2o,
    /// The lowest weight in the current row, mean over the layer's heads.
    Tova,
    /// H2O with only the current token safe.
    Lowest,
}

/// Names of the position modes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PositionsArg {
    /// The text's own.
    Original,
    /// The cache's slots.
    Slot,
}

impl From<PolicyArg> for PolicyName {
    fn from(arg: PolicyArg) -> Self {
        match arg {
            PolicyArg::Full => Self::Full,
            PolicyArg::Fifo => Self::Fifo,
            PolicyArg::Random => Self::Random,
            PolicyArg::H2o => Self::H2o,
            PolicyArg::Tova => Self::Tova,
            PolicyArg::Lowest => Self::Lowest,
        }
    }
}

impl CaseArgs {
    /// The cases that are asked for; none when nothing is.
    ///
    /// # Errors
    /// The file or the pins can't be read.
    pub(super) fn read(&self) -> Result<Vec<EvictionCase>> {
        if let Some(json) = self.cases.as_deref().and_then(inline_json) {
            return read_cases(json.as_bytes())
                .map_err(|why| Error::Usage(format!("Can't use the cases: {why}")));
        }
        if let Some(path) = &self.cases {
            let json = std::fs::read(path).map_err(|error| ModelError::read(&error, path))?;
            return read_cases(&json).map_err(|why| cases_error(&why, path));
        }
        let Some(policy) = self.policy else { return Ok(Vec::new()) };
        let positions = match self.positions {
            PositionsArg::Original => Positions::Original,
            PositionsArg::Slot => Positions::Slot,
        };
        let pins = PinChoice::parse(&self.pins).map_err(|why| Error::Usage(format!("--{why}")))?;
        let (budget, recent, seed) = (self.budget, self.recent, self.seed);
        Ok(vec![EvictionCase { policy: policy.into(), budget, pins, recent, positions, seed }])
    }

    /// Says which case of the file it was.
    pub(super) fn place_error(&self, error: Error, index: usize) -> Error {
        match (error, &self.cases) {
            (Error::Eviction(why), Some(path)) => cases_error(&format!("case {index}: {why}"), path),
            (error, _) => error,
        }
    }
}

fn cases_error(why: &str, path: &Path) -> Error {
    Error::Usage(format!("Can't use the cases: {why}: {}", path.display()))
}
