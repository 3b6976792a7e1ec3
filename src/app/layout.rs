//! The window's own arrangement: which panels are open, how large everything is. The sizes of panels are
//! kept by egui itself, in the same storage.

use super::settings::Settings;
use super::state::AppState;

/// A panel that can be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Prompt and model card, left.
    Prompt,
    /// Inspector, right.
    Inspector,
    /// Tokens, above.
    Strip,
    /// The plot under the views.
    Profile,
}

impl Side {
    /// All of them, in the order in which the status line has their buttons.
    pub const ALL: [Self; 4] = [Self::Prompt, Self::Strip, Self::Profile, Self::Inspector];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "Prompt panel",
            Self::Inspector => "Inspector panel",
            Self::Strip => "Token strip",
            Self::Profile => "Plot under the views",
        }
    }
}

/// What is remembered of the window's arrangement.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each panel is open or not")]
pub struct Layout {
    /// Whether the prompt panel is open.
    pub prompt: bool,
    /// Whether the inspector is open.
    pub inspector: bool,
    /// Whether the token strip is open.
    pub strip: bool,
    /// Whether the plot under the views is open.
    pub profile: bool,
    /// Size of text and controls; 1 is the system's.
    pub zoom: f32,
    /// Whether the tour was seen or skipped.
    pub tour_seen: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { prompt: true, inspector: true, strip: true, profile: true, zoom: 1.0, tour_seen: false }
    }
}

impl Layout {
    /// The least and the most that text and controls are enlarged.
    const ZOOMS: std::ops::RangeInclusive<f32> = 0.5..=3.0;

    /// Whether a panel is open.
    #[must_use]
    pub fn is_open(&self, side: Side) -> bool {
        match side {
            Side::Prompt => self.prompt,
            Side::Inspector => self.inspector,
            Side::Strip => self.strip,
            Side::Profile => self.profile,
        }
    }

    fn set_open(&mut self, side: Side, open: bool) {
        match side {
            Side::Prompt => self.prompt = open,
            Side::Inspector => self.inspector = open,
            Side::Strip => self.strip = open,
            Side::Profile => self.profile = open,
        }
    }

    /// The zoom that many tenths larger.
    #[must_use]
    pub fn zoom_step(&self, tenths: i8) -> f32 {
        ((self.zoom * 10.0).round() + f32::from(tenths)) / 10.0
    }

    /// The zoom, also where the storage was written by hand.
    #[must_use]
    pub fn sane_zoom(&self) -> f32 {
        if self.zoom.is_finite() { self.zoom.clamp(*Self::ZOOMS.start(), *Self::ZOOMS.end()) } else { 1.0 }
    }
}

/// A wish about the window's arrangement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LayoutCommand {
    /// Open or close a panel.
    Show(Side, bool),
    /// All panels open, as large as at first.
    Reset,
    /// Text and controls this large.
    Zoom(f32),
}

impl AppState {
    pub(super) fn layout_command(&mut self, command: LayoutCommand) {
        let Settings { layout, .. } = &mut self.settings;
        match command {
            LayoutCommand::Show(side, open) => layout.set_open(side, open),
            LayoutCommand::Reset => {
                *layout = Layout { zoom: layout.zoom, tour_seen: layout.tour_seen, ..Layout::default() };
                self.guide.forget_sizes = true;
            }
            LayoutCommand::Zoom(zoom) => {
                layout.zoom = zoom;
                layout.zoom = layout.sane_zoom();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zoom_goes_in_tenths_and_stays_in_its_bounds() {
        let mut layout = Layout::default();
        let mut seen = vec![];
        for tenths in [1, 1, -1, -1, -1] {
            layout.zoom = layout.zoom_step(tenths);
            seen.push(layout.zoom);
        }
        assert_eq!(seen, [1.1, 1.2, 1.1, 1.0, 0.9]);
        for (wrong, right) in [(0.0, 0.5), (99.0, 3.0), (f32::NAN, 1.0), (1.3, 1.3)] {
            assert_eq!(Layout { zoom: wrong, ..Layout::default() }.sane_zoom(), right);
        }
    }

    #[test]
    fn what_an_older_version_wrote_is_read_with_everything_open() {
        let layout: Layout = serde_json::from_str("{\"inspector\":false}").expect("readable");
        assert_eq!(layout, Layout { inspector: false, ..Layout::default() });
    }
}
