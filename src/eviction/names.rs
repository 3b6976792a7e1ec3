//! How policies, pins and runs are written for people.

use super::{EvictionCase, PinChoice, PolicyName, Positions};
use std::fmt::Write as _;

impl PolicyName {
    /// The policy's name as the field writes it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Full => "Full cache",
            Self::Fifo => "Window",
            Self::Random => "Random",
            Self::H2o => "H2O",
            Self::Tova => "TOVA",
            Self::Lowest => "Lowest",
        }
    }
}

impl PinChoice {
    /// What is pinned, in words; `count` is how many positions that came to.
    #[must_use]
    pub fn title(&self, count: usize) -> String {
        match self {
            Self::None => "no pins".to_owned(),
            Self::Bos => "BOS pinned".to_owned(),
            Self::First(1) => "first token pinned".to_owned(),
            Self::First(first) => format!("first {first} pinned"),
            Self::Detected if count == 1 => "1 detected sink pinned".to_owned(),
            Self::Detected => format!("{count} detected sinks pinned"),
            Self::DetectedPrefix(prefix) => format!("{count} sinks of the first {prefix} pinned"),
            Self::Tokens(_) => format!("{count} picked pinned"),
        }
    }
}

impl EvictionCase {
    /// The case in a few words, for example "Window 128 · BOS pinned"; `pins` is how many positions
    /// its pins came to. What is as usual is left out.
    #[must_use]
    pub fn title(&self, pins: usize) -> String {
        let mut name = self.policy.title().to_owned();
        if self.policy == PolicyName::Full {
            return name;
        }
        // Writing to a string never fails.
        if let Some(budget) = self.budget {
            let _ = write!(name, " {budget}");
        }
        if self.pins != PinChoice::None {
            let _ = write!(name, " · {}", self.pins.title(pins));
        }
        if self.positions == Positions::Slot {
            name.push_str(" · slots");
        }
        if let Some(recent) = self.recent {
            let _ = write!(name, " · recent {recent}");
        }
        if self.policy == PolicyName::Random {
            let _ = write!(name, " · seed {}", self.seed);
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_is_not_as_usual() {
        assert_eq!(EvictionCase::full().title(0), "Full cache");
        assert_eq!(EvictionCase::fifo(128, PinChoice::None).title(0), "Window 128");
        assert_eq!(EvictionCase::fifo(128, PinChoice::Bos).title(1), "Window 128 · BOS pinned");
        let slots =
            EvictionCase { positions: Positions::Slot, ..EvictionCase::fifo(64, PinChoice::First(4)) };
        assert_eq!(slots.title(4), "Window 64 · first 4 pinned · slots");
        let random = EvictionCase { policy: PolicyName::Random, recent: Some(9), seed: 3, ..slots };
        assert_eq!(random.title(4), "Random 64 · first 4 pinned · slots · recent 9 · seed 3");
    }
}
