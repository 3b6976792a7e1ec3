//! The token strip: every token a chip, coloured by mass or by attention to the selected token.

use super::strip_tools;
use crate::app::command::Command;
use crate::app::format;
use crate::app::partners::Partners;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::tokens::TokensCommand;
use crate::app::view::StripColour;
use crate::model::tokenizer::TokenSequence;
use crate::widgets::controls::segmented;
use crate::widgets::token_strip::{Chip, ChipFrame, TokenStrip};
use egui::{Color32, Layout, RichText, Sense, Ui, vec2};

/// In a narrower window the choice of colours stands without its caption, in points.
const CAPTION_FITS: f32 = 860.0;

/// Draws the strip.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let Some(run) = &state.run else {
        if let Some(tokens) = &state.upcoming {
            uncoloured(ui, tokens, palette);
        } else {
            ui.label(RichText::new("Tokens appear here when a prompt runs (Ctrl+Enter)").color(palette.weak));
            ui.take_available_space();
        }
        return;
    };
    let scale = Scale::of(run, state);
    header(ui, state, run, &scale, commands);
    let tokens = &run.capture.tokens.tokens;
    let label =
        |token: usize| tokens.get(token).map(crate::model::tokenizer::Token::label).unwrap_or_default();
    let selection = state.view.selection().all();
    let chip = |token: usize| chip(state, run, &scale, &selection, token, palette);
    let strip = TokenStrip {
        key: run.capture.id,
        len: tokens.len(),
        label: &label,
        badged: &run.analysis.detection.flagged,
        chip: &chip,
        selected: state.view.selected,
        accent: palette.accent,
        found: palette.good,
        tooltip: &|ui, token| tooltip(ui, run, &scale, token),
    };
    if let Some(token) = strip.show(ui) {
        let held = ui.input(|input| input.modifiers);
        commands.push(match (held.command, held.shift) {
            (true, _) => Command::Tokens(TokensCommand::Toggle(token)),
            (_, true) => Command::Tokens(TokensCommand::ExtendTo(token)),
            _ => Command::SelectToken(token),
        });
    }
}

/// The tokens of the first run while it computes.
fn uncoloured(ui: &mut Ui, tokens: &TokenSequence, palette: Palette) {
    ui.label(RichText::new(format!("{} tokens", tokens.len())).strong());
    ui.add_space(5.0);
    let fill = palette.heat(0.0);
    let strip = TokenStrip {
        key: 0,
        len: tokens.len(),
        label: &|token| tokens.tokens[token].label(),
        badged: &[],
        chip: &|_| Chip {
            fill,
            text: palette.text_on(fill),
            badge: None,
            value: "not computed yet".to_owned(),
            frame: ChipFrame::None,
            underlined: false,
        },
        selected: None,
        accent: palette.accent,
        found: palette.good,
        tooltip: &|ui, token| {
            ui.label(RichText::new(format!("{token}  {}", tokens.tokens[token].label())).monospace());
        },
    };
    // There is nothing to select yet.
    let _ = strip.show(ui);
}

fn header(ui: &mut Ui, state: &AppState, run: &Run, scale: &Scale<'_>, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("{} tokens", run.capture.len())).strong());
        if ui.available_width() > CAPTION_FITS {
            ui.label(RichText::new("coloured by").color(palette.weak));
        }
        let choices = [
            (
                StripColour::Mass,
                "Mass",
                "Attention mass that each token receives, as the profile below shows it",
            ),
            (
                StripColour::Incoming,
                "Incoming",
                "With tokens selected: how much each later token attends to them; Ctrl or Shift and click selects several",
            ),
            (
                StripColour::Outgoing,
                "Outgoing",
                "With tokens selected: how much they attend to each earlier token",
            ),
        ];
        if let Some(colour) = segmented(ui, state.view.strip, &choices) {
            commands.push(Command::SetStripColour(colour));
        }
        ui.with_layout(Layout::right_to_left(egui::Align::Center), |ui| {
            legend(ui, scale, palette);
            ui.separator();
            strip_tools::ui(ui, state, commands);
            ui.separator();
            ui.with_layout(Layout::left_to_right(egui::Align::Center), |ui| {
                ui.add(egui::Label::new(RichText::new(scale.says()).color(palette.weak)).truncate());
            });
        });
    });
    ui.add_space(1.0);
}

fn legend(ui: &mut Ui, scale: &Scale<'_>, palette: Palette) {
    let (low, high) = scale.ends();
    ui.label(RichText::new(high).monospace().size(11.0).color(palette.weak));
    let (rect, response) = ui.allocate_exact_size(vec2(96.0, 8.0), Sense::hover());
    let mut mesh = egui::Mesh::default();
    for (x, t) in [(rect.left(), 0.0), (rect.right(), 1.0)] {
        mesh.colored_vertex(egui::pos2(x, rect.top()), palette.heat(t));
        mesh.colored_vertex(egui::pos2(x, rect.bottom()), palette.heat(t));
    }
    mesh.add_triangle(0, 1, 2);
    mesh.add_triangle(1, 2, 3);
    ui.painter().add(egui::Shape::mesh(mesh));
    response.on_hover_text(scale.spread());
    ui.label(RichText::new(low).monospace().size(11.0).color(palette.weak));
}

fn chip(
    state: &AppState,
    run: &Run,
    scale: &Scale<'_>,
    selection: &[usize],
    token: usize,
    palette: Palette,
) -> Chip {
    let is_in = |tokens: &[usize]| tokens.binary_search(&token).is_ok();
    let frame = match () {
        () if is_in(selection) => ChipFrame::Selected,
        () if is_in(&state.tokens.locked) => ChipFrame::Kept,
        () => ChipFrame::None,
    };
    let fill = scale.position(token).map_or(Color32::TRANSPARENT, |t| palette.heat(t));
    let text = if fill == Color32::TRANSPARENT { palette.weak } else { palette.text_on(fill) };
    let badge = run.is_sink(token).then(|| {
        let letter = run.analysis.classes[token].letter();
        if palette.dark {
            (letter, palette.base, palette.sink)
        } else {
            (letter, palette.text, palette.panel)
        }
    });
    let underlined = state.tokens.search.has(token);
    Chip { fill, text, badge, value: scale.value(token), frame, underlined }
}

fn tooltip(ui: &mut Ui, run: &Run, scale: &Scale<'_>, token: usize) {
    let class = run.analysis.classes[token].name();
    let kind = run.analysis.options.profile;
    let profile = format::profile_value(kind, run.analysis.profile(kind)[token]);
    let facts = &run.capture.tokens.tokens[token];
    ui.label(RichText::new(format!("{token}  {}", facts.label())).monospace().strong());
    ui.label(format!("id {} · {class}{}", facts.id, if run.is_sink(token) { " · sink" } else { "" }));
    ui.label(format!("{} {profile} {}", kind.name(), kind.unit()));
    ui.label(format!("z {}", format::z(run.analysis.detection.z[token])));
    if scale.partners.is_some() {
        ui.label(scale.value(token));
    }
}

/// What the chips' colours stand for.
struct Scale<'a> {
    run: &'a Run,
    partners: Option<&'a Partners>,
    low: f64,
    high: f64,
}

impl<'a> Scale<'a> {
    fn of(run: &'a Run, state: &'a AppState) -> Self {
        let partners = state.shown_partners();
        let mut scale = Self { run, partners, low: 0.0, high: 1.0 };
        if let Some(partners) = partners {
            let most = partners.weights.iter().flatten().copied().fold(0.0, f32::max);
            scale.high = f64::from(most).max(1e-3);
        } else {
            let profile = run.analysis.profile(run.analysis.options.profile);
            // The ordinary token is cold, so that what stands out is what is coloured.
            scale.low = run.analysis.detection.median_ln.exp();
            scale.high = profile.iter().flatten().copied().fold(scale.low * 10.0, f64::max);
        }
        scale
    }

    fn raw(&self, token: usize) -> Option<f64> {
        match self.partners {
            Some(partners) => partners.weights.get(token).copied().flatten().map(f64::from),
            None => {
                self.run.analysis.profile(self.run.analysis.options.profile).get(token).copied().flatten()
            }
        }
    }

    /// Where the token's value lies between cold and hot; `None` where it has none.
    fn position(&self, token: usize) -> Option<f32> {
        let value = self.raw(token)?.max(f64::MIN_POSITIVE);
        let t = if self.partners.is_some() {
            (value / self.high).sqrt()
        } else {
            (value / self.low).ln() / (self.high / self.low).ln()
        };
        Some(if t.is_finite() { t.clamp(0.0, 1.0) as f32 } else { 0.0 })
    }

    fn value(&self, token: usize) -> String {
        let Some(partners) = self.partners else {
            let kind = self.run.analysis.options.profile;
            return format!("{} {}", kind.name(), format::profile_value(kind, self.raw(token)));
        };
        let weight = self.raw(token).map_or_else(|| "n/a".to_owned(), format::significant);
        let selected = selected_in_words(&partners.key.tokens);
        match (partners.key.outgoing, partners.key.tokens.len()) {
            (true, 1) => format!("{selected} attends to it: {weight}"),
            (true, _) => format!("{selected} attend to it: {weight}"),
            (false, _) => format!("attends to {selected}: {weight}"),
        }
    }

    fn spread(&self) -> &'static str {
        if self.partners.is_some() {
            "Colours follow the square root of the weight"
        } else {
            "Colours are logarithmic, from the median token's value to the largest"
        }
    }

    fn ends(&self) -> (String, String) {
        (format::significant(self.low), format::significant(self.high))
    }

    fn says(&self) -> String {
        let Some(partners) = self.partners else {
            let kind = self.run.analysis.options.profile;
            return format!("{}, {}", kind.name(), kind.unit());
        };
        let selected = selected_in_words(&partners.key.tokens);
        match (partners.key.outgoing, partners.key.tokens.len()) {
            (true, 1) => format!("mean weight that token {selected} gives"),
            (true, _) => format!("mean weight that {selected} give together"),
            (false, 1) => format!("mean weight on token {selected}"),
            (false, _) => format!("mean weight on {selected} together"),
        }
    }
}

/// "22", or "3 tokens".
fn selected_in_words(tokens: &[usize]) -> String {
    match tokens {
        [one] => one.to_string(),
        several => format!("{} tokens", several.len()),
    }
}
