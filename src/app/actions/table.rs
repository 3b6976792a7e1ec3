//! The table of actions.

use super::{Action, Listens, Place, alt, command, command_shift, plain, shift};
use crate::app::command::{Command, PickKind};
use crate::app::eviction::{EvictionCommand, Mode as EvictionMode, next_budget};
use crate::app::files::FilesCommand;
use crate::app::guide::GuideCommand;
use crate::app::hub::HubCommand;
use crate::app::layout::{LayoutCommand, Side};
use crate::app::panels::attention::{AttentionCommand, Hiding, Mode};
use crate::app::prompt::{PromptKind, Sample};
use crate::app::shelf::RunsCommand;
use crate::app::shortcuts::{EXPORT, OPEN, RUN, SAVE};
use crate::app::state::AppState;
use crate::app::tokens::{CopyTokens, LowerPlot, TokensCommand};
use crate::app::view::{HeadId, LayerChoice, SinksPage, StripColour, Tab};
use crate::eviction::PinChoice;
use crate::model::source::ModelRef;
use egui::{Key, KeyboardShortcut};

type Keys = &'static [KeyboardShortcut];
type Make = fn(&AppState) -> Option<Command>;

const fn row(place: Place, words: &'static str, keys: Keys, listens: Listens, command: Make) -> Action {
    Action { words, place, keys, listens, command }
}

use Listens::{Always, Reading, Unfocused, Writing};
use Place::{Eviction, Heads, Run, Tokens, View, Window};

/// Everything that can be done at any time, in the order of the sheet.
pub const ACTIONS: &[Action] = &[
    row(Run, "Run the prompt", &[RUN], Always, |s| s.can_run().then_some(Command::Run)),
    row(Run, "Cancel the running job", &[plain(Key::Escape)], Writing, |s| {
        s.job.as_ref().is_some_and(|job| !job.cancelling).then_some(Command::Cancel)
    }),
    row(Run, "Open a GGUF file…", &[OPEN], Writing, |_| Some(Command::Pick(PickKind::ModelFile))),
    row(Run, "Open a model folder…", &[], Writing, |_| Some(Command::Pick(PickKind::ModelFolder))),
    row(Run, "Open a prompt file…", &[command_shift(Key::O)], Writing, |_| {
        Some(Command::Pick(PickKind::PromptFile))
    }),
    row(Run, "Open from the Hub…", &[], Writing, |_| Some(Command::Hub(HubCommand::Show(true)))),
    row(Run, "Open by a typed path…", &[], Writing, |_| Some(Command::ShowPathField(true))),
    row(Run, "Open the default model", &[], Writing, |_| Some(Command::OpenModel(ModelRef::Default))),
    row(Run, "Write plain text", &[], Writing, |s| {
        (s.prompt.kind != PromptKind::Text).then_some(Command::SetPromptKind(PromptKind::Text))
    }),
    row(Run, "Write a chat", &[], Writing, |s| {
        (s.prompt.kind != PromptKind::Chat).then_some(Command::SetPromptKind(PromptKind::Chat))
    }),
    row(Run, "Use the sample chat", &[], Writing, |s| {
        s.can_run().then_some(Command::LoadSample(Sample::Chat))
    }),
    row(Run, "Use the long sample text", &[], Writing, |s| {
        s.can_run().then_some(Command::LoadSample(Sample::Text))
    }),
    row(Run, "Save the session", &[SAVE], Writing, |s| files(s, FilesCommand::Save)),
    row(Run, "Save the session as…", &[], Writing, |s| files(s, FilesCommand::ShowSave(true))),
    row(Run, "Open a session…", &[], Writing, |_| Some(Command::Pick(PickKind::Session))),
    row(Run, "Close all runs but this one", &[], Writing, |s| {
        s.run.as_ref().map(|_| Command::Runs(RunsCommand::CloseOthers))
    }),
    row(View, "Export this view…", &[EXPORT], Writing, |s| files(s, FilesCommand::ShowExport(true))),
    row(View, "Copy this view as a command", &[], Writing, |s| files(s, FilesCommand::CopyCommand)),
    row(View, "Show attention", &[command(Key::Num1)], Writing, |s| tab(s, Tab::Attention)),
    row(View, "Show sinks", &[command(Key::Num2)], Writing, |s| tab(s, Tab::Sinks)),
    row(View, "Show eviction", &[command(Key::Num3)], Writing, |s| tab(s, Tab::Eviction)),
    row(View, "Show maps of sinks", &[], Writing, |s| sinks_page(s, SinksPage::Maps)),
    row(View, "Show peak and tail", &[], Writing, |s| sinks_page(s, SinksPage::Peak)),
    row(View, "Show norms by layer", &[], Writing, |s| sinks_page(s, SinksPage::Norms)),
    row(View, "Show sinks of the other runs", &[], Writing, |s| sinks_page(s, SinksPage::Runs)),
    row(View, "Plot the mass profile", &[], Writing, |s| lower_plot(s, LowerPlot::Mass)),
    row(View, "Plot the selected tokens", &[], Writing, |s| lower_plot(s, LowerPlot::Selection)),
    row(View, "Colour tokens by mass", &[], Writing, |s| strip(s, StripColour::Mass)),
    row(View, "Colour tokens by incoming attention", &[], Writing, |s| strip(s, StripColour::Incoming)),
    row(View, "Colour tokens by outgoing attention", &[], Writing, |s| strip(s, StripColour::Outgoing)),
    row(View, "Average the profile over all layers", &[], Writing, |s| {
        (s.run.is_some() && s.view.layers != LayerChoice::All).then_some(Command::SetLayers(LayerChoice::All))
    }),
    row(View, "Average the profile over the focused layer", &[], Writing, |s| {
        let focused = LayerChoice::Range(s.view.focus.layer, s.view.focus.layer);
        (s.run.is_some() && s.view.layers != focused).then_some(Command::SetLayers(focused))
    }),
    row(Tokens, "Next token", &[plain(Key::ArrowRight)], Unfocused, |s| walk(s, 1)),
    row(Tokens, "Previous token", &[plain(Key::ArrowLeft)], Unfocused, |s| walk(s, -1)),
    row(Tokens, "First token", &[plain(Key::Home)], Unfocused, |s| walk(s, isize::MIN / 2)),
    row(Tokens, "Last token", &[plain(Key::End)], Unfocused, |s| walk(s, isize::MAX / 2)),
    row(Tokens, "Next sink", &[plain(Key::S)], Reading, |s| next_sink(s, true)),
    row(Tokens, "Previous sink", &[shift(Key::S)], Reading, |s| next_sink(s, false)),
    row(Tokens, "Find tokens…", &[command(Key::F)], Writing, |s| {
        s.run.as_ref().map(|_| Command::Guide(GuideCommand::FindTokens))
    }),
    row(Tokens, "Next token found", &[plain(Key::F3)], Writing, |s| found(s, 1)),
    row(Tokens, "Previous token found", &[shift(Key::F3)], Writing, |s| found(s, -1)),
    row(Tokens, "Selection before", &[alt(Key::ArrowLeft)], Reading, |s| {
        s.tokens.history.can_go_back().then_some(Command::Tokens(TokensCommand::Back))
    }),
    row(Tokens, "Selection after", &[alt(Key::ArrowRight)], Reading, |s| {
        s.tokens.history.can_go_forward().then_some(Command::Tokens(TokensCommand::Forward))
    }),
    row(Tokens, "Lock the selection to compare with", &[], Writing, |s| {
        s.view.selected.map(|_| Command::Tokens(TokensCommand::Lock))
    }),
    row(Tokens, "Let go of the locked selection", &[], Writing, |s| {
        (!s.tokens.locked.is_empty()).then_some(Command::Tokens(TokensCommand::Unlock))
    }),
    row(Tokens, "Copy text of the selected tokens", &[], Writing, |s| {
        s.view.selected.map(|_| Command::Tokens(TokensCommand::Copy(CopyTokens::Text)))
    }),
    row(Tokens, "Copy all tokens as a table", &[], Writing, |s| {
        s.run.as_ref().map(|_| Command::Tokens(TokensCommand::Copy(CopyTokens::All)))
    }),
    row(Tokens, "Select no token", &[plain(Key::Escape)], Reading, |s| {
        s.view.selected.map(|_| Command::ClearSelection)
    }),
    row(Heads, "Next head", &[plain(Key::H)], Reading, |s| head(s, 0, 1)),
    row(Heads, "Previous head", &[shift(Key::H)], Reading, |s| head(s, 0, -1)),
    row(Heads, "Next layer", &[plain(Key::L)], Reading, |s| head(s, 1, 0)),
    row(Heads, "Previous layer", &[shift(Key::L)], Reading, |s| head(s, -1, 0)),
    row(Heads, "Show one pattern", &[], Writing, |s| mode(s, Mode::Pattern)),
    row(Heads, "Show a difference", &[], Writing, |s| mode(s, Mode::Difference)),
    row(Heads, "Show lines between tokens", &[], Writing, |s| mode(s, Mode::Lines)),
    row(Heads, "Show the whole pattern", &[], Writing, |s| on_attention(s, AttentionCommand::Fit)),
    row(Heads, "Hide sinks", &[], Writing, |s| {
        (s.attention.hiding() == Hiding::Shown)
            .then(|| on_attention(s, AttentionCommand::SetHiding(Hiding::AsTheyAre)))
            .flatten()
    }),
    row(Heads, "Show hidden sinks", &[], Writing, |s| {
        (s.attention.hiding() != Hiding::Shown)
            .then(|| on_attention(s, AttentionCommand::SetHiding(Hiding::Shown)))
            .flatten()
    }),
    row(Eviction, "Smaller budget", &[plain(Key::OpenBracket)], Reading, |s| budget(s, false)),
    row(Eviction, "Larger budget", &[plain(Key::CloseBracket)], Reading, |s| budget(s, true)),
    row(Eviction, "Pin the selected token, or let it go", &[plain(Key::P)], Reading, |s| {
        let token = s.view.selected.filter(|_| s.run.is_some() && s.view.tab == Tab::Eviction)?;
        Some(Command::Eviction(EvictionCommand::TogglePin(token)))
    }),
    row(Eviction, "Pin BOS", &[], Writing, |s| pins(s, PinChoice::Bos)),
    row(Eviction, "Pin the first 4 tokens", &[], Writing, |s| pins(s, PinChoice::First(4))),
    row(Eviction, "Pin the detected sinks", &[], Writing, |s| pins(s, PinChoice::Detected)),
    row(Eviction, "Pin nothing", &[], Writing, |s| pins(s, PinChoice::None)),
    row(Eviction, "Show curves over the text", &[], Writing, |s| eviction_mode(s, EvictionMode::Curves)),
    row(Eviction, "Show perplexity by budget", &[], Writing, |s| eviction_mode(s, EvictionMode::Sweep)),
    row(Window, "Commands…", &[command(Key::K)], Always, |s| {
        Some(Command::Guide(GuideCommand::ShowPalette(s.guide.palette.is_none())))
    }),
    row(Window, "Keys…", &[plain(Key::Questionmark)], Reading, |_| {
        Some(Command::Guide(GuideCommand::ShowSheet(true)))
    }),
    row(Window, "Take the tour", &[], Writing, |s| {
        s.run.as_ref().map(|_| Command::Guide(GuideCommand::StartTour))
    }),
    row(Window, "Undo", &[command(Key::Z)], Reading, |s| s.undo.can_undo().then_some(Command::Undo)),
    row(Window, "Redo", &[command_shift(Key::Z), command(Key::Y)], Reading, |s| {
        s.undo.can_redo().then_some(Command::Redo)
    }),
    row(Window, "Prompt panel", &[command(Key::B)], Writing, |s| panel(s, Side::Prompt)),
    row(Window, "Inspector panel", &[command(Key::I)], Writing, |s| panel(s, Side::Inspector)),
    row(Window, "Token strip", &[command(Key::T)], Writing, |s| panel(s, Side::Strip)),
    row(Window, "Plot under the views", &[command(Key::J)], Writing, |s| panel(s, Side::Profile)),
    row(Window, "Panels as they were at first", &[], Writing, |_| {
        Some(Command::Layout(LayoutCommand::Reset))
    }),
    row(Window, "Larger text and controls", &[command(Key::Plus), command(Key::Equals)], Always, |s| {
        Some(Command::Layout(LayoutCommand::Zoom(s.settings.layout.zoom_step(1))))
    }),
    row(Window, "Smaller text and controls", &[command(Key::Minus)], Always, |s| {
        Some(Command::Layout(LayoutCommand::Zoom(s.settings.layout.zoom_step(-1))))
    }),
    row(Window, "Text and controls at 100 %", &[command(Key::Num0)], Always, |_| {
        Some(Command::Layout(LayoutCommand::Zoom(1.0)))
    }),
];

fn tab(state: &AppState, tab: Tab) -> Option<Command> {
    (state.run.is_some() && state.view.tab != tab).then_some(Command::ShowTab(tab))
}

fn strip(state: &AppState, colour: StripColour) -> Option<Command> {
    (state.run.is_some() && state.view.strip != colour).then_some(Command::SetStripColour(colour))
}

fn files(state: &AppState, command: FilesCommand) -> Option<Command> {
    state.run.as_ref().map(|_| Command::Files(command))
}

fn sinks_page(state: &AppState, page: SinksPage) -> Option<Command> {
    let there = state.view.tab == Tab::Sinks && state.view.sinks_page == page;
    (state.run.is_some() && !there).then_some(Command::ShowSinksPage(page))
}

fn lower_plot(state: &AppState, plot: LowerPlot) -> Option<Command> {
    (state.run.is_some() && state.tokens.plot != plot)
        .then_some(Command::Tokens(TokensCommand::ShowPlot(plot)))
}

fn found(state: &AppState, by: isize) -> Option<Command> {
    (!state.tokens.search.hits.is_empty()).then_some(Command::Tokens(TokensCommand::Step(by)))
}

fn walk(state: &AppState, by: isize) -> Option<Command> {
    state.run.as_ref().map(|_| Command::MoveSelection(by))
}

/// The sink after or before the selected token, round the ends.
fn next_sink(state: &AppState, up: bool) -> Option<Command> {
    let sinks = &state.run.as_ref()?.analysis.detection.flagged;
    let next = match state.view.selected {
        Some(from) if up => sinks.iter().find(|&&sink| sink > from).or(sinks.first()),
        Some(from) => sinks.iter().rev().find(|&&sink| sink < from).or(sinks.last()),
        None if up => sinks.first(),
        None => sinks.last(),
    };
    next.filter(|&&sink| state.view.selected != Some(sink)).map(|&sink| Command::SelectToken(sink))
}

fn head(state: &AppState, layers: isize, heads: isize) -> Option<Command> {
    let spec = &state.run.as_ref()?.capture.model.spec;
    let HeadId { layer, head } = state.view.focus;
    let moved = HeadId {
        layer: layer.saturating_add_signed(layers).min(spec.layers.saturating_sub(1)),
        head: head.saturating_add_signed(heads).min(spec.heads.saturating_sub(1)),
    };
    (moved != state.view.focus).then_some(Command::FocusHead(moved))
}

fn on_attention(state: &AppState, command: AttentionCommand) -> Option<Command> {
    (state.run.is_some() && state.view.tab == Tab::Attention).then_some(Command::Attention(command))
}

fn mode(state: &AppState, mode: Mode) -> Option<Command> {
    on_attention(state, AttentionCommand::SetMode(mode)).filter(|_| state.attention.mode() != mode)
}

fn on_eviction(state: &AppState, command: EvictionCommand) -> Option<Command> {
    (state.run.is_some() && state.view.tab == Tab::Eviction).then_some(Command::Eviction(command))
}

fn budget(state: &AppState, up: bool) -> Option<Command> {
    let now = state.eviction.choices.budget;
    let budget = next_budget(now, up, state.run.as_ref()?.capture.len());
    on_eviction(state, EvictionCommand::SetBudget { budget, sliding: false }).filter(|_| budget != now)
}

fn pins(state: &AppState, pins: PinChoice) -> Option<Command> {
    let there = state.eviction.choices.pins == pins;
    on_eviction(state, EvictionCommand::SetPins(pins)).filter(|_| !there)
}

fn eviction_mode(state: &AppState, mode: EvictionMode) -> Option<Command> {
    on_eviction(state, EvictionCommand::SetMode(mode)).filter(|_| state.eviction.mode != mode)
}

#[expect(clippy::unnecessary_wraps, reason = "rows give an option")]
fn panel(state: &AppState, side: Side) -> Option<Command> {
    let is_open = state.settings.layout.is_open(side);
    Some(Command::Layout(LayoutCommand::Show(side, !is_open)))
}
