//! Actions that depend on what is there: recents, colours, orders, policies, and what a number may mean.

use super::Place;
use crate::analysis::ProfileKind;
use crate::app::command::Command;
use crate::app::eviction::EvictionCommand;
use crate::app::panels::attention::{AttentionCommand, HeadOrder, Mode, Subtrahend};
use crate::app::panels::runs;
use crate::app::state::AppState;
use crate::app::view::{HeadId, Tab};
use crate::capture::AlignBy;
use crate::color::{ColorMap, ScaleKind};
use crate::eviction::PolicyName;

/// An action that has no row in the table.
pub(super) type More = (Place, String, Command);

/// All that make sense now.
pub(super) fn more(state: &AppState, query: &str) -> Vec<More> {
    let mut all = numbers(state, query.trim());
    if state.run.is_some() {
        all.extend(
            ProfileKind::ALL
                .iter()
                .filter(|kind| **kind != state.view.profile)
                .map(|&kind| (Place::View, format!("Profile: {}", kind.name()), Command::SetProfile(kind))),
        );
        match state.view.tab {
            Tab::Attention => all.extend(attention(state)),
            Tab::Eviction => all.extend(policies(state)),
            Tab::Sinks => {}
        }
    }
    for recent in &state.settings.recents {
        all.push((Place::Run, format!("Open {}", recent.label()), Command::OpenModel(recent.model())));
    }
    for (theme, name) in [
        (egui::ThemePreference::Dark, "Dark theme"),
        (egui::ThemePreference::Light, "Light theme"),
        (egui::ThemePreference::System, "Theme of the system"),
    ] {
        if state.settings.theme != theme {
            all.push((Place::Window, name.to_owned(), Command::SetTheme(theme)));
        }
    }
    all
}

fn attention(state: &AppState) -> impl Iterator<Item = More> {
    let now = state.attention.scale().kind;
    let row = |name: String, command| (Place::Heads, name, Command::Attention(command));
    let scales = ScaleKind::ALL.into_iter().filter(move |kind| *kind != now);
    let scales = scales
        .map(move |kind| row(format!("Colour scale: {}", kind.name()), AttentionCommand::SetScale(kind)));
    let maps = ColorMap::ALL
        .into_iter()
        .map(move |map| row(format!("Colours: {}", map.name()), AttentionCommand::SetMap(map)));
    let orders = HeadOrder::ALL
        .into_iter()
        .map(move |order| row(format!("Heads by {}", order.name()), AttentionCommand::SetOrder(order)));
    let differs = state.attention.mode() == Mode::Difference;
    let others = state.shelf.captures().into_iter().enumerate().filter(move |_| differs);
    let HeadId { layer, head } = state.view.focus;
    let runs = others.filter(|(_, other)| other.has_patterns()).map(move |(place, other)| {
        let subtrahend = Subtrahend { run: Some(other.id), layer, head, by: AlignBy::Tokens };
        let words = format!("Subtract run {}", runs::lettered_line(place, other));
        row(words, AttentionCommand::Subtract(subtrahend))
    });
    scales.chain(maps).chain(orders).chain(runs)
}

fn policies(state: &AppState) -> impl Iterator<Item = More> {
    let now = state.eviction.choices.policy;
    let all = [
        (PolicyName::Fifo, "window"),
        (PolicyName::H2o, "H2O"),
        (PolicyName::Tova, "TOVA"),
        (PolicyName::Lowest, "lowest attention"),
        (PolicyName::Random, "random"),
    ];
    all.into_iter().filter(move |(policy, _)| *policy != now).map(|(policy, name)| {
        (Place::Eviction, format!("Policy: {name}"), Command::Eviction(EvictionCommand::SetPolicy(policy)))
    })
}

/// What a typed number may mean: a token, a head as `layer:head`, a budget.
fn numbers(state: &AppState, query: &str) -> Vec<More> {
    let Some(run) = &state.run else { return Vec::new() };
    let spec = &run.capture.model.spec;
    let n = run.capture.len();
    let mut all = Vec::new();
    if let Some((layer, head)) = query.split_once([':', '.', ',', ' ']) {
        if let (Ok(layer), Ok(head)) = (layer.trim().parse(), head.trim().parse())
            && layer < spec.layers
            && head < spec.heads
        {
            let words = format!("Focus layer {layer}, head {head}   {query}");
            all.push((Place::Heads, words, Command::FocusHead(HeadId { layer, head })));
        }
    } else if let Ok(number) = query.parse::<usize>() {
        if number < n && state.view.selected != Some(number) {
            let label = run.capture.tokens.tokens[number].label();
            all.push((
                Place::Tokens,
                format!("Select token {number}  {label}"),
                Command::SelectToken(number),
            ));
        }
        if (1..=n).contains(&number) && state.view.tab == Tab::Eviction {
            let command = EvictionCommand::SetBudget { budget: number, sliding: false };
            all.push((
                Place::Eviction,
                format!("Set the budget to {number} tokens"),
                Command::Eviction(command),
            ));
        }
    }
    all
}
