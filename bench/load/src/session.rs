//! What is said on one connection, without the connection: requests are appended to a buffer, replies read from one.

use crate::tally::Tally;

/// What a session is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Store this connection's share of the keys; after that there is nothing more to say.
    Fill,
    /// The load itself, without end.
    Run,
}

/// What a session took of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Bytes that need not be shown again.
    pub(crate) bytes: usize,
    /// Requests whose reply is complete with them.
    pub(crate) requests: usize,
}

/// One connection's side of the conversation.
pub(crate) trait Session: Send {
    /// Enters a stage; called only while nothing is outstanding.
    fn enter(&mut self, stage: Stage);

    /// Appends the requests of one write; returns how many, 0 when there is nothing left to say.
    fn request(&mut self, out: &mut Vec<u8>) -> usize;

    /// Reads replies from the front of `input` as far as it goes. What is not taken is shown again with more behind it.
    /// An error says that this is no reply of the protocol.
    fn reply(&mut self, input: &[u8], tally: &mut Tally) -> Result<Taken, String>;
}

/// Makes the sessions of a run.
pub(crate) trait Workload: Sync {
    /// What one connection says.
    type Session: Session;

    /// The session of connection `seat` of `seats`. The same seat says the same to every server.
    fn session(&self, seat: usize, seats: usize) -> Self::Session;
}
