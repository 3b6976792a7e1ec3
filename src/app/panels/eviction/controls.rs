//! What to evict: policy, budget, pins, positions.

use crate::app::command::Command;
use crate::app::eviction::{Choices, EvictionCommand, Mode, next_budget};
use crate::app::format;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::eviction::{PinChoice, PolicyName, Positions};
use crate::widgets::controls::{self, segmented};
use egui::{Align, DragValue, Layout, RichText, Slider, Ui};

/// Tokens that the honest detector looks at when nothing else is chosen.
const PREFIX_TOKENS: usize = 256;

/// Below this width the controls take three rows instead of two, in points.
const NARROW: f32 = 740.0;

/// Draws the controls.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let choices = &state.eviction.choices;
    if ui.available_width() < NARROW {
        narrow(ui, state, run, commands);
        return;
    }
    ui.horizontal(|ui| {
        policy(ui, choices, commands);
        ui.separator();
        positions(ui, choices, commands);
        if choices.has_recent() {
            ui.separator();
            recent(ui, choices, commands);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| mode(ui, state, commands));
    });
    ui.horizontal(|ui| {
        budget(ui, choices, run, 500.0, commands);
        ui.separator();
        pins(ui, state, run, 132.0, commands);
    });
}

fn narrow(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let choices = &state.eviction.choices;
    ui.spacing_mut().item_spacing.x = 5.0;
    ui.horizontal(|ui| {
        policy_menu(ui, choices, commands);
        positions(ui, choices, commands);
        if choices.has_recent() {
            recent(ui, choices, commands);
        }
    });
    ui.horizontal(|ui| budget(ui, choices, run, 270.0, commands));
    ui.horizontal(|ui| {
        pins(ui, state, run, 84.0, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| mode(ui, state, commands));
    });
}

fn push(commands: &mut Vec<Command>, command: EvictionCommand) {
    commands.push(Command::Eviction(command));
}

const POLICIES: [(PolicyName, &str, &str); 5] = [
    (
        PolicyName::Fifo,
        "Window",
        "The oldest key goes; with pins the oldest that is not pinned (StreamingLLM pins the first)",
    ),
    (PolicyName::H2o, "H2O", "The key with the lowest sum of attention so far goes, not the newest ones"),
    (PolicyName::Tova, "TOVA", "The key with the lowest weight in the current row goes"),
    (
        PolicyName::Lowest,
        "Lowest",
        "H2O without a recent window: the naive policy that the literature warns of",
    ),
    (PolicyName::Random, "Random", "A random key goes, not the newest ones"),
];

fn policy(ui: &mut Ui, choices: &Choices, commands: &mut Vec<Command>) {
    if let Some(policy) = segmented(ui, choices.policy, &POLICIES) {
        push(commands, EvictionCommand::SetPolicy(policy));
    }
}

fn policy_menu(ui: &mut Ui, choices: &Choices, commands: &mut Vec<Command>) {
    let now = POLICIES.iter().find(|(policy, ..)| *policy == choices.policy);
    let (name, tip) = now.map_or(("", ""), |&(_, name, tip)| (name, tip));
    let combo = egui::ComboBox::from_id_salt("policy").width(64.0).selected_text(name).show_ui(ui, |ui| {
        for (policy, name, tip) in POLICIES {
            if ui.selectable_label(policy == choices.policy, name).on_hover_text(tip).clicked() {
                push(commands, EvictionCommand::SetPolicy(policy));
            }
        }
    });
    controls::name(&combo.response, "Policy");
    combo.response.on_hover_text(tip);
}

fn positions(ui: &mut Ui, choices: &Choices, commands: &mut Vec<Command>) {
    let modes = [
        (Positions::Original, "Original", "Keys keep their positions in the text"),
        (Positions::Slot, "Slots", "Keys count their slots in the cache, gaps close up (StreamingLLM)"),
    ];
    if let Some(positions) = segmented(ui, choices.positions, &modes) {
        push(commands, EvictionCommand::SetPositions(positions));
    }
}

fn recent(ui: &mut Ui, choices: &Choices, commands: &mut Vec<Command>) {
    let weak = Palette::of(ui).weak;
    let mut recent = choices.recent.unwrap_or(choices.budget / 2).clamp(1, choices.budget);
    let caption = ui.label(RichText::new("recent").color(weak));
    let drag = ui
        .add(DragValue::new(&mut recent).range(1..=choices.budget))
        .labelled_by(caption.id)
        .on_hover_text("Newest keys that are safe, the current one included; half the budget at first");
    if drag.changed() {
        push(commands, EvictionCommand::SetRecent(Some(recent)));
    }
    if choices.policy == PolicyName::Random {
        let mut seed = choices.seed;
        let caption = ui.label(RichText::new("seed").color(weak));
        let drag = ui.add(DragValue::new(&mut seed).range(0..=9999)).labelled_by(caption.id);
        if drag.on_hover_text("The same seed evicts the same keys").changed() {
            push(commands, EvictionCommand::SetSeed(seed));
        }
    }
}

fn mode(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    // Right to left: the last comes first.
    let modes = [
        (Mode::Sweep, "Sweep", "Perplexity against budget"),
        (Mode::Curves, "Curves", "Perplexity along the text"),
    ];
    if let Some(mode) = segmented(ui, state.eviction.mode, &modes) {
        push(commands, EvictionCommand::SetMode(mode));
    }
}

fn budget(ui: &mut Ui, choices: &Choices, run: &Run, room_for_others: f32, commands: &mut Vec<Command>) {
    let n = run.capture.len().max(1);
    let weak = Palette::of(ui).weak;
    let caption = ui.label(RichText::new("Budget").color(weak));
    let mut set = |budget: usize, sliding: bool| {
        push(commands, EvictionCommand::SetBudget { budget, sliding });
    };
    let step = |ui: &mut Ui, sign: &str, up: bool, name: &str| {
        let button = ui.add(egui::Button::new(sign).min_size(egui::vec2(20.0, 20.0)));
        controls::name(&button, name);
        let tip = format!("{name} ({} key)", if up { "]" } else { "[" });
        button.on_hover_text(tip).clicked().then(|| next_budget(choices.budget, up, n))
    };
    if let Some(budget) = step(ui, "−", false, "Smaller budget") {
        set(budget, false);
    }
    ui.spacing_mut().slider_width = (ui.available_width() - room_for_others + 90.0).clamp(90.0, 260.0);
    let mut budget = choices.budget.min(n);
    let slider = ui
        .add(Slider::new(&mut budget, 1..=n).logarithmic(true).show_value(false).trailing_fill(true))
        .labelled_by(caption.id)
        .on_hover_text("Keys that the cache may hold after each step; [ and ] step, arrows when focused");
    if slider.changed() || slider.drag_stopped() {
        set(budget, slider.dragged() && !slider.drag_stopped());
    }
    if let Some(budget) = step(ui, "+", true, "Larger budget") {
        set(budget, false);
    }
    let mut typed = choices.budget;
    let drag = ui.add(DragValue::new(&mut typed).range(1..=n.max(choices.budget)).suffix(" tokens"));
    controls::name(&drag, "Budget in tokens");
    if drag.on_hover_text("Budget in tokens: drag or type").changed() {
        set(typed, false);
    }
    let share = format::percent(choices.budget as f64 / n as f64);
    let tip = format!("{} of the prompt's {n} tokens", choices.budget);
    ui.label(RichText::new(format!("{share:>4}")).monospace().color(weak)).on_hover_text(tip);
}

fn pins(ui: &mut Ui, state: &AppState, run: &Run, width: f32, commands: &mut Vec<Command>) {
    let choices = &state.eviction.choices;
    let mut pinned = choices.pinned && choices.pins != PinChoice::None;
    let tip = "Show the run with pinned tokens beside the one without: pinned tokens are never evicted";
    if ui.checkbox(&mut pinned, "With pins").on_hover_text(tip).changed() {
        if choices.pins == PinChoice::None {
            push(commands, EvictionCommand::SetPins(PinChoice::Bos));
        } else {
            push(commands, EvictionCommand::SetPinned(pinned));
        }
    }
    let combo = egui::ComboBox::from_id_salt("pins")
        .width(width)
        .selected_text(choice_name(&choices.pins))
        .show_ui(ui, |ui| {
            for (choice, tip) in offered(choices, run) {
                let chosen = choices.pins == choice;
                if ui.selectable_label(chosen, choice_name(&choice)).on_hover_text(tip).clicked() {
                    push(commands, EvictionCommand::SetPins(choice));
                }
            }
        });
    controls::name(&combo.response, "Pins");
    combo.response.on_hover_text("What is pinned; or click tokens in the strip of retained keys");
    match &choices.pins {
        PinChoice::First(count) => {
            let set = number(ui, *count, 1..=run.capture.len(), "Number of pinned tokens");
            if let Some(count) = set {
                push(commands, EvictionCommand::SetPins(PinChoice::First(count)));
            }
        }
        PinChoice::DetectedPrefix(prefix) => {
            let set = number(ui, *prefix, 51..=run.capture.len().max(51), "Tokens that the detector sees");
            if let Some(prefix) = set {
                push(commands, EvictionCommand::SetPins(PinChoice::DetectedPrefix(prefix)));
            }
        }
        _ => {}
    }
}

fn number(ui: &mut Ui, value: usize, range: std::ops::RangeInclusive<usize>, name: &str) -> Option<usize> {
    let mut value = value;
    let drag = ui.add(DragValue::new(&mut value).range(range));
    controls::name(&drag, name);
    drag.on_hover_text(name).changed().then_some(value)
}

fn offered(choices: &Choices, run: &Run) -> Vec<(PinChoice, &'static str)> {
    let first = if let PinChoice::First(count) = choices.pins { count } else { 4 };
    let prefix = if let PinChoice::DetectedPrefix(prefix) = choices.pins {
        prefix
    } else {
        PREFIX_TOKENS.min(run.capture.len() / 2).max(51)
    };
    let mut offered = vec![
        (PinChoice::Bos, "The BOS token at index 0"),
        (PinChoice::First(first), "The first tokens, whatever they are (StreamingLLM)"),
        (PinChoice::Detected, "The sinks detected on the whole text: looks ahead"),
        (
            PinChoice::DetectedPrefix(prefix),
            "The sinks detected on the first tokens only; scored behind them, so nothing looks ahead",
        ),
    ];
    if let PinChoice::Tokens(tokens) = &choices.pins {
        offered.push((PinChoice::Tokens(tokens.clone()), "The tokens that you clicked"));
    }
    offered
}

fn choice_name(pins: &PinChoice) -> String {
    match pins {
        PinChoice::None => "none".to_owned(),
        PinChoice::Bos => "BOS".to_owned(),
        PinChoice::First(count) => format!("first {count}"),
        PinChoice::Detected => "detected sinks".to_owned(),
        PinChoice::DetectedPrefix(prefix) => format!("detected in first {prefix}"),
        PinChoice::Tokens(tokens) => format!("{} picked by hand", tokens.len()),
    }
}
