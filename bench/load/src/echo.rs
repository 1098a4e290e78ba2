//! Load for the servers that measure an event loop alone: a request is one line, a reply has a fixed length.

use crate::client::{self, Stage, Taken, Workload};
use crate::tally::Tally;
use crate::{Drive, Error, Report, phases, units};
use serde::Serialize;
use std::sync::Arc;

/// Put load on servers that answer each line with a fixed number of bytes
#[derive(clap::Args, Debug, Clone, Serialize)]
pub struct Options {
    /// How load is applied.
    #[command(flatten)]
    #[serde(flatten)]
    pub drive: Drive,
    /// Request length, including the newline
    #[arg(long, default_value = "64", value_name = "BYTES", value_parser = units::size)]
    pub request_size: usize,
    /// Reply length
    #[arg(long, default_value = "400", value_name = "BYTES", value_parser = units::size)]
    pub reply_size: usize,
    /// Print JSON
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

/// Runs the load that `options` describe.
pub fn run(options: Options) -> Result<Report, Error> {
    if options.request_size == 0 || options.reply_size == 0 {
        let problem = "must be at least 1".into();
        return Err(Error::Option {
            option: "--request-size, --reply-size",
            problem,
        });
    }
    let plan = options.drive.plan(false)?;
    let mut line = vec![b'x'; options.request_size - 1];
    line.push(b'\n');
    let lines = Lines {
        write: line.repeat(options.drive.depth).into(),
        options: options.clone(),
    };
    let measured = phases::run(&plan, &lines)?;
    Ok(Report::new(&options, plan.threads, &measured))
}

/// The lines of one write. All writes are the same.
struct Lines {
    write: Arc<[u8]>,
    options: Options,
}

impl Workload for Lines {
    type Client = Client;

    fn client(&self, _server: usize, _index: usize, _count: usize) -> Client {
        let (write, depth) = (self.write.clone(), self.options.drive.depth);
        Client {
            write,
            depth,
            reply_size: self.options.reply_size,
            partial: 0,
        }
    }
}

/// Counts bytes.
struct Client {
    write: Arc<[u8]>,
    depth: usize,
    reply_size: usize,
    /// The number of bytes of an incomplete reply.
    partial: usize,
}

impl client::Client for Client {
    fn enter(&mut self, _stage: Stage) {}

    fn request(&mut self, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(&self.write);
        self.depth
    }

    fn reply(&mut self, input: &[u8], _tally: &mut Tally) -> Result<Taken, String> {
        let bytes = self.partial + input.len();
        self.partial = bytes % self.reply_size;
        Ok(Taken {
            bytes: input.len(),
            requests: bytes / self.reply_size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client as _;

    #[test]
    fn replies_are_counted_across_reads() {
        let mut client = Client {
            write: (*b"x\nx\n").into(),
            depth: 2,
            reply_size: 10,
            partial: 0,
        };
        let (mut out, mut tally) = (Vec::new(), Tally::new());
        assert_eq!(client.request(&mut out), 2);
        let requests =
            [9, 2, 29].map(|bytes| client.reply(&vec![0; bytes], &mut tally).expect("bytes").requests);
        assert_eq!((requests, client.partial), ([0, 1, 3], 0));
    }
}
