//! The measured parent: this program in a hidden mode. It spawns on command and reads its clocks.

use super::host::{Answer, Sample};
use super::methods::{self, Context};
use super::sys;
use crate::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Answers the coordinator until the standard input ends.
pub(super) fn serve(child: &Path, touched: u64, noshell: Option<&Path>, zygotes: usize) -> Result<(), Error> {
    let (commands, mut answers) = sys::take_standard_streams().map_err(Error::Protocol)?;
    // Zygotes start before the memory is touched, as they would in a server.
    let context = Context::new(child, noshell, zygotes);
    let touched = sys::touch(touched as usize);
    for line in BufReader::new(commands).lines() {
        let line = line.map_err(Error::Protocol)?;
        let found = match (&context, &touched) {
            (Ok(context), Ok(())) => measure(context, &line),
            (Err(reason), _) => Err(reason.clone()),
            (_, Err(error)) => Err(format!("no memory to touch: {error}")),
        };
        let answer = found.map_or_else(Answer::Failed, Answer::Found);
        let text = serde_json::to_string(&answer).map_err(|error| Error::Protocol(error.into()))?;
        writeln!(answers, "{text}").map_err(Error::Protocol)?;
    }
    Ok(())
}

/// Executes a command line: a row, a count and a time in milliseconds.
fn measure(context: &Context, line: &str) -> Result<Sample, String> {
    let mut words = line.split_whitespace();
    let mut next = || words.next().ok_or_else(|| format!("{line:?} asks for nothing"));
    let method = methods::find(next()?)?;
    let count: usize = next()?.parse().map_err(|error| format!("{line:?}: {error}"))?;
    let budget: u64 = next()?.parse().map_err(|error| format!("{line:?}: {error}"))?;
    method(context)?;
    let mut blocked = Vec::with_capacity(count);
    let before = sys::usage();
    let end = Instant::now() + Duration::from_millis(budget);
    while blocked.len() < count && (blocked.is_empty() || Instant::now() < end) {
        blocked.push(method(context)?.as_nanos() as u64);
    }
    context.settle();
    let after = sys::usage();
    let own = after.own - before.own;
    Ok(Sample {
        spawns: blocked.len() as u32,
        cpu_ns: (own + after.children - before.children).as_nanos() as u64,
        own_ns: own.as_nanos() as u64,
        blocked_ns: blocked,
    })
}
