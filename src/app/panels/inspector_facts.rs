//! What is known about a token, beside what is known about a locked one.

use crate::analysis::ProfileKind;
use crate::app::format;
use crate::app::run::{Run, TokenFacts};
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::widgets::controls::fact;
use egui::{Align2, FontId, Sense, Ui, pos2, vec2};

/// One line: what, how much, the same in fewer characters, what it means.
struct Fact {
    caption: &'static str,
    value: String,
    short: String,
    tip: String,
}

/// Draws the facts about a token, and where a selection is locked those about its last token beside them.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, index: usize) {
    let facts = facts(run, index, run.focus.as_ref());
    match state.tokens.locked.last().copied().filter(|&locked| locked < run.capture.len()) {
        Some(locked) => {
            let beside = self::facts(run, locked, state.tokens.locked_facts.as_ref());
            two(ui, "", "selected", "locked", "The token selected last, and the last of the locked ones");
            let name = |token: usize| format::shorten(&run.capture.tokens.tokens[token].label(), 10);
            two(ui, "Token", &name(index), &name(locked), "Whitespace is made visible");
            for fact in &facts {
                let other = beside.iter().find(|other| other.caption == fact.caption);
                let other = other.map_or("–", |other| other.short.as_str());
                two(ui, fact.caption, &fact.short, other, &fact.tip);
            }
        }
        None => {
            for Fact { caption, value, tip, .. } in facts {
                fact(ui, caption, &value, &tip);
            }
        }
    }
}

/// A caption and two values.
fn two(ui: &mut Ui, caption: &str, value: &str, locked: &str, tip: &str) {
    const CAPTION: f32 = 72.0;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 17.0), Sense::hover());
    let palette = Palette::of(ui);
    let middle = CAPTION + (rect.width() - CAPTION) / 2.0;
    let columns = [(0.0, CAPTION), (CAPTION, middle - 4.0), (middle, rect.width())];
    for ((left, right), text) in columns.into_iter().zip([caption, value, locked]) {
        let (at, align, font, color) = if left == 0.0 {
            (rect.left(), Align2::LEFT_CENTER, FontId::proportional(12.0), palette.weak)
        } else {
            (rect.left() + right, Align2::RIGHT_CENTER, FontId::monospace(11.0), palette.text)
        };
        let column = egui::Rect::from_x_y_ranges(rect.left() + left..=rect.left() + right, rect.y_range());
        ui.painter_at(column).text(pos2(at, rect.center().y), align, text, font, color);
    }
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::ListItem, true, caption);
        info.current_text_value = Some(format!("{value}, locked {locked}"));
        info
    });
    response.on_hover_text(tip);
}

fn facts(run: &Run, index: usize, focus: Option<&TokenFacts>) -> Vec<Fact> {
    let analysis = &run.analysis;
    let token = &run.capture.tokens.tokens[index];
    let class = analysis.classes[index];
    let mut facts = Vec::new();
    let mut add = |caption, value: String, tip: &str| {
        facts.push(Fact { caption, short: value.clone(), value, tip: tip.to_owned() });
    };
    add("Index", index.to_string(), "Position in the prompt, from 0");
    add("Token id", token.id.to_string(), "Id in the model's vocabulary");
    add("Class", class.name().to_owned(), class.meaning());
    add(
        "z",
        format::z(analysis.detection.z[index]),
        "Distance from the median token in robust standard deviations of the logarithm",
    );
    let far = analysis.far_lift[index]
        .map_or_else(|| "n/a".to_owned(), |v| format!("{} ×", format::significant(v)));
    add(
        ProfileKind::FarLift.name(),
        far,
        "Attention from far queries against uniform attention; n/a for the last keys",
    );
    add(
        "α",
        format::profile_value(ProfileKind::Alpha, analysis.alpha[index]),
        "Mean weight that a query which can see this key gives it",
    );
    let share = analysis.share[index].map_or_else(|| "n/a".to_owned(), format::percent);
    add("Share", share, "Share of all attention");
    let rate = format::percent(analysis.sink_rate[index]);
    facts.push(Fact {
        caption: "Sink rate",
        value: format!("{rate} at n = {}", run.capture.len()),
        short: rate,
        tip: "Share of heads with α > 0.3; it falls with the number of tokens".to_owned(),
    });
    add_norms(&mut facts, focus.filter(|facts| facts.index == index));
    if let Some(nll) = index.checked_sub(1).and_then(|row| run.capture.nll_nats.get(row)) {
        facts.push(Fact {
            caption: "NLL",
            value: format!("{nll:.2} nats"),
            short: format!("{nll:.2} nats"),
            tip: "Negative log-likelihood of this token, given those before it".to_owned(),
        });
    }
    facts
}

fn add_norms(facts: &mut Vec<Fact>, focus: Option<&TokenFacts>) {
    let Some(c) = focus.and_then(|facts| facts.corroboration.as_ref()) else { return };
    let mut add = |caption, value: String, short: String, tip: &str| {
        facts.push(Fact { caption, value, short, tip: tip.to_owned() });
    };
    let birth = c.birth_layer.map_or_else(|| "–".to_owned(), |layer| format!("layer {layer}"));
    add("Born in", birth.clone(), birth, "First layer whose far-lift over all heads exceeds 5");
    let times = |ratio: f64| format!("{} ×", format::significant(ratio));
    let massive = if c.massive { "\nMassive activation" } else { "" };
    add(
        "Hidden norm",
        format!("{} (layer {})", times(c.hidden_norm_ratio), c.hidden_norm_layer),
        times(c.hidden_norm_ratio),
        &format!("Against the median token, where it is largest{massive}"),
    );
    let key = times(c.key_norm_ratio);
    add("Key norm", key.clone(), key, "Against the median token; small at sinks");
    let value = times(c.value_norm_ratio);
    let tip = "Against the median token; near 0 where attending here is a head's way to do nothing";
    add("Value norm", value.clone(), value, tip);
}
