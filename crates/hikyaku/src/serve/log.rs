//! Structured logs on standard error: for humans on a terminal, JSON elsewhere.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::{Log, LogFormat};

/// From now on, what is logged is written. The error says which level or module cannot be understood.
pub(crate) fn start(log: &Log) -> Result<(), String> {
    let filter = filter(&log.level)?;
    let registry = tracing_subscriber::registry().with(filter);
    let terminal = stderr().is_terminal();
    let json = log.format == LogFormat::Json || (log.format == LogFormat::Auto && !terminal);
    let layer = tracing_subscriber::fmt::layer().with_writer(stderr);
    let started = if json {
        registry
            .with(
                layer
                    .json()
                    .flatten_event(true)
                    .with_current_span(false)
                    .with_span_list(false),
            )
            .try_init()
    } else {
        registry
            .with(layer.with_target(false).with_ansi(terminal))
            .try_init()
    };
    started.map_err(|error| format!("logs cannot be started: {error}"))
}

/// The filter of the log. A word alone must be a level: the library would take a misspelt one for a module and log nothing.
fn filter(levels: &str) -> Result<EnvFilter, String> {
    let right = "write error, warn, info, debug or trace, or MODULE=LEVEL";
    let words = levels.split(',').map(str::trim);
    let mut alone = words.filter(|word| !word.contains(['=', '[']));
    if let Some(word) = alone.find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(format!("--log: {word:?} is not a level; {right}"));
    }
    EnvFilter::builder()
        .parse(levels)
        .map_err(|error| format!("--log: {levels:?} is not a level ({error}); {right}"))
}
