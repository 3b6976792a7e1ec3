//! Ways to find out what can be done: the palette, the sheet of keys, the tour.

use super::state::AppState;

/// The command palette.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaletteState {
    /// What was typed.
    pub query: String,
    /// The chosen row among those found.
    pub chosen: usize,
}

/// What is open of the guide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GuideState {
    /// The palette, while it is open.
    pub palette: Option<PaletteState>,
    /// Whether the sheet of keys is open.
    pub sheet: bool,
    /// The hint of the tour that is shown.
    pub tour: Option<usize>,
    /// Whether panels are to forget their sizes before they are drawn.
    pub(super) forget_sizes: bool,
    /// Whether the field that finds tokens is to have the keyboard.
    pub(super) wants_search: bool,
}

/// Hints of the tour.
pub const HINTS: usize = 4;

/// A wish about the guide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuideCommand {
    /// Open or close the palette.
    ShowPalette(bool),
    /// What was typed into the palette.
    Find(String),
    /// Choose a row of the palette.
    Choose(usize),
    /// Open or close the sheet of keys.
    ShowSheet(bool),
    /// Go to the field that finds tokens.
    FindTokens,
    /// Begin the tour.
    StartTour,
    /// The next hint; after the last one the tour is over.
    NextHint,
    /// The hint before.
    PreviousHint,
    /// End the tour.
    EndTour,
}

impl AppState {
    pub(super) fn guide_command(&mut self, command: GuideCommand) {
        let guide = &mut self.guide;
        match command {
            GuideCommand::ShowPalette(show) => {
                guide.palette = show.then(PaletteState::default);
                guide.sheet = false;
            }
            GuideCommand::Find(query) => guide.palette = Some(PaletteState { query, chosen: 0 }),
            GuideCommand::Choose(chosen) => {
                if let Some(palette) = &mut guide.palette {
                    palette.chosen = chosen;
                }
            }
            GuideCommand::ShowSheet(show) => {
                guide.sheet = show;
                guide.palette = None;
            }
            GuideCommand::FindTokens => {
                guide.wants_search = true;
                self.settings.layout.strip = true;
            }
            GuideCommand::StartTour => guide.tour = Some(0),
            GuideCommand::NextHint => {
                guide.tour = guide.tour.map(|hint| hint + 1).filter(|&hint| hint < HINTS);
                self.settings.layout.tour_seen |= self.guide.tour.is_none();
            }
            GuideCommand::PreviousHint => guide.tour = guide.tour.map(|hint| hint.saturating_sub(1)),
            GuideCommand::EndTour => {
                guide.tour = None;
                self.settings.layout.tour_seen = true;
            }
        }
    }

    /// Whether a dialog lies over the window, so that keys are for it.
    #[must_use]
    pub fn has_dialog(&self) -> bool {
        self.hub.is_open
            || self.files.has_dialog()
            || self.path_field.is_some()
            || self.guide.palette.is_some()
            || self.guide.sheet
    }
}
