//! Progress on stderr: a bar on a terminal, lines elsewhere.

use crate::progress::{Progress, ProgressUnit, Reporter};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, PoisonError};

/// Reports to stderr.
#[derive(Debug, Default)]
pub struct TerminalReporter {
    /// The bar of the present stage.
    current: Mutex<Option<(String, ProgressBar)>>,
}

impl TerminalReporter {
    /// Removes the bar.
    pub fn finish(&self) {
        if let Some((_, bar)) = self.current.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}

impl Reporter for TerminalReporter {
    fn progress(&self, progress: Progress) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_none_or(|(stage, _)| *stage != progress.stage) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            *current = Some((progress.stage.clone(), bar(&progress)));
        }
        if let Some((_, bar)) = current.as_ref() {
            bar.set_position(progress.done);
        }
    }

    fn notice(&self, line: &str) {
        let line = crate::text::one_line(line);
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.as_ref() {
            Some((_, bar)) if !bar.is_hidden() => bar.suspend(|| eprintln!("{line}")),
            _ => eprintln!("{line}"),
        }
    }
}

fn bar(progress: &Progress) -> ProgressBar {
    let counts = match progress.unit {
        ProgressUnit::Bytes => "{bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)",
        ProgressUnit::Tensors => "{pos}/{len} tensors ({eta} left)",
        ProgressUnit::Layers => "{pos}/{len} layers ({eta} left)",
        ProgressUnit::Rows => "{pos}/{len} rows ({eta} left)",
    };
    let template = format!("{{msg}} {{wide_bar:.cyan/blue}} {counts}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(progress.total, ProgressDrawTarget::stderr());
    bar.set_style(style);
    bar.set_message(progress.stage.clone());
    bar
}
