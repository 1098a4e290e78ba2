//! The protocol of one connection, without I/O: a client appends requests to a buffer and reads replies from one.

use crate::tally::Tally;

/// The kind of requests that a client writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Store this connection's share of the keys; after that the client has no more requests.
    Fill,
    /// The load itself, without an end.
    Run,
}

/// The input that a client used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The number of used bytes.
    pub(crate) bytes: usize,
    /// The number of requests that these bytes answer.
    pub(crate) requests: usize,
}

/// The client's side of one connection.
pub(crate) trait Client: Send {
    /// Enters a stage. Called only without outstanding requests.
    fn enter(&mut self, stage: Stage);

    /// Appends the requests of one write and returns their number; 0 at the end of the stage.
    fn request(&mut self, out: &mut Vec<u8>) -> usize;

    /// Reads replies from the front of `input` as far as they are complete. The caller passes unused bytes again, followed
    /// by more. The error describes a malformed reply.
    fn reply(&mut self, input: &[u8], tally: &mut Tally) -> Result<Taken, String>;
}

/// Makes the clients of a run.
pub(crate) trait Workload: Sync {
    /// The client of one connection.
    type Client: Client;

    /// The client of connection `index` of `count` to server number `server`, 0 being the subject. The same index makes the
    /// same requests of every server.
    fn client(&self, server: usize, index: usize, count: usize) -> Self::Client;
}
