//! Selections that were left, to go back to.

/// The selected tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenSelection {
    /// The one selected last: facts and single-token views are about it.
    pub lead: Option<usize>,
    /// The others, ascending.
    pub others: Vec<usize>,
}

impl TokenSelection {
    /// One token alone, or none.
    #[must_use]
    pub fn one(lead: Option<usize>) -> Self {
        Self { lead, others: Vec::new() }
    }

    /// All of them, ascending.
    #[must_use]
    pub fn all(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.others.iter().copied().chain(self.lead).collect();
        all.sort_unstable();
        all
    }

    /// With a token added, or taken out where it was in.
    #[must_use]
    pub fn toggled(&self, token: usize) -> Self {
        if self.lead == Some(token) {
            let (lead, others) = match self.others.split_last() {
                Some((&last, rest)) => (Some(last), rest.to_vec()),
                None => (None, Vec::new()),
            };
            return Self { lead, others };
        }
        let mut all = self.all();
        if let Ok(at) = all.binary_search(&token) {
            all.remove(at);
            return Self { lead: self.lead, others: without(all, self.lead) };
        }
        Self { lead: Some(token), others: all }
    }

    /// Everything from the lead to a token; the lead stays.
    #[must_use]
    pub fn extended_to(&self, token: usize) -> Self {
        let Some(lead) = self.lead else { return Self::one(Some(token)) };
        let all = (lead.min(token)..=lead.max(token)).collect();
        Self { lead: Some(lead), others: without(all, Some(lead)) }
    }
}

fn without(mut tokens: Vec<usize>, token: Option<usize>) -> Vec<usize> {
    tokens.retain(|&other| Some(other) != token);
    tokens
}

/// Selections before and after the current one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    back: Vec<TokenSelection>,
    forward: Vec<TokenSelection>,
    walking: bool,
}

impl History {
    /// Selections that are remembered.
    const MOST: usize = 100;

    /// Notes the selection that is about to be left. A walk with the arrow keys is one step, however long.
    pub fn leave(&mut self, left: TokenSelection, by_walking: bool) {
        self.forward.clear();
        if by_walking && self.walking {
            return;
        }
        self.walking = by_walking;
        if self.back.last() != Some(&left) {
            self.back.push(left);
        }
        let excess = self.back.len().saturating_sub(Self::MOST);
        self.back.drain(..excess);
    }

    /// Whether there is a selection to go back to.
    #[must_use]
    pub fn can_go_back(&self) -> bool {
        !self.back.is_empty()
    }

    /// Whether there is a selection that was gone back from.
    #[must_use]
    pub fn can_go_forward(&self) -> bool {
        !self.forward.is_empty()
    }

    /// Leaves a selection for the one before it.
    pub fn go_back(&mut self, now: TokenSelection) -> Option<TokenSelection> {
        self.walking = false;
        let before = self.back.pop()?;
        self.forward.push(now);
        Some(before)
    }

    /// Leaves a selection for the one that was gone back from.
    pub fn go_forward(&mut self, now: TokenSelection) -> Option<TokenSelection> {
        self.walking = false;
        let after = self.forward.pop()?;
        self.back.push(now);
        Some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(token: usize) -> TokenSelection {
        TokenSelection::one(Some(token))
    }

    #[test]
    fn toggling_adds_and_takes_out() {
        let two = one(5).toggled(2);
        assert_eq!((two.lead, two.all()), (Some(2), vec![2, 5]));
        assert_eq!(two.toggled(5), one(2));
        assert_eq!(two.toggled(2), one(5), "the lead passes on");
        assert_eq!(one(5).toggled(5), TokenSelection::default());
    }

    #[test]
    fn extending_selects_everything_between() {
        let range = one(5).extended_to(8);
        assert_eq!((range.lead, range.all()), (Some(5), vec![5, 6, 7, 8]));
        assert_eq!(range.extended_to(4).all(), [4, 5]);
        assert_eq!(TokenSelection::default().extended_to(3), one(3));
    }

    #[test]
    fn history_goes_back_and_forward_and_a_walk_is_one_step() {
        let mut history = History::default();
        history.leave(TokenSelection::default(), false);
        history.leave(one(1), true);
        history.leave(one(2), true);
        history.leave(one(3), true);
        assert_eq!(history.go_back(one(4)), Some(one(1)));
        assert_eq!(history.go_forward(one(1)), Some(one(4)));
        assert_eq!(history.go_back(one(4)), Some(one(1)));
        assert_eq!(history.go_back(one(1)), Some(TokenSelection::default()));
        assert_eq!(history.go_back(TokenSelection::default()), None);
        history.leave(TokenSelection::default(), false);
        assert!(!history.can_go_forward(), "another way was taken");
    }

    #[test]
    fn history_is_bounded() {
        let mut history = History::default();
        (0..500).for_each(|token| history.leave(one(token), false));
        let steps = std::iter::from_fn(|| history.go_back(one(9))).count();
        assert_eq!(steps, History::MOST);
    }
}
