//! One step of rustls at a time: what it wants next, and doing that.

use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};

use crate::Error;
use crate::rest::Rest;

/// The state of rustls after a step.
pub(super) enum Next {
    /// Another step.
    Step,
    /// The peer has sent its `close_notify`; another step.
    PeerClosed,
    /// More input, or nothing.
    Input,
}

/// Does what rustls wants next when there is input; returns how many bytes of it are consumed.
pub(super) fn step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    outgoing: &mut Rest,
    sink: &mut dyn FnMut(&[u8]),
) -> (usize, Result<Next, Error>) {
    let mut discard = status.discard;
    let next = match status.state {
        Err(error) => Err(error.into()),
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            let mut result = Ok(Next::Step);
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => {
                        discard += record.discard;
                        sink(record.payload);
                    }
                    Err(error) => result = Err(error.into()),
                }
            }
            result
        }
        Ok(ConnectionState::EncodeTlsData(data)) => encode(data, outgoing).map(|()| Next::Step),
        Ok(ConnectionState::TransmitTlsData(data)) => {
            // `outgoing` keeps it, in order, until the kernel accepts it.
            data.done();
            Ok(Next::Step)
        }
        Ok(ConnectionState::PeerClosed) => Ok(Next::PeerClosed),
        // Waiting for the peer, ready to write, or closed. Early data is never accepted.
        Ok(_) => Ok(Next::Input),
    };
    (discard, next)
}

/// Appends a message of TLS's own to the output.
fn encode<Side>(mut data: EncodeTlsData<'_, Side>, outgoing: &mut Rest) -> Result<(), Error> {
    let mut message = Vec::new();
    loop {
        match data.encode(&mut message) {
            Ok(written) => {
                outgoing.append(&message[..written], 0);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(size)) => message.resize(size.required_size, 0),
            Err(error) => return Err(rustls::Error::General(error.to_string()).into()),
        }
    }
}

/// The result of one step towards writing.
pub(super) struct Written {
    pub(super) bytes: usize,
    pub(super) peer_closed: bool,
    /// True if the bytes that were to be written are.
    pub(super) done: bool,
}

/// Does what rustls wants before application data, or writes that.
pub(super) fn write_step<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    plain: Option<&[u8]>,
    output: &mut [u8],
) -> Result<Written, Error> {
    let failed = |error: String| Error::from(rustls::Error::General(error));
    // The input contains no complete message, so nothing of it can be consumed.
    debug_assert_eq!(status.discard, 0);
    let (bytes, peer_closed, done) = match (status.state?, plain) {
        (ConnectionState::WriteTraffic(mut traffic), Some(plain)) => (
            traffic
                .encrypt(plain, output)
                .map_err(|error| failed(error.to_string()))?,
            false,
            true,
        ),
        (ConnectionState::WriteTraffic(mut traffic), None) => (
            traffic
                .queue_close_notify(output)
                .map_err(|error| failed(error.to_string()))?,
            false,
            true,
        ),
        (ConnectionState::EncodeTlsData(mut data), _) => (
            data.encode(output).map_err(|error| failed(error.to_string()))?,
            false,
            false,
        ),
        (ConnectionState::TransmitTlsData(data), _) => {
            data.done();
            (0, false, false)
        }
        (ConnectionState::PeerClosed, _) => (0, true, false),
        // Nothing may follow a `close_notify` already sent.
        (ConnectionState::Closed, None) => (0, true, true),
        (state, _) => return Err(failed(format!("cannot write in state {state:?}"))),
    };
    Ok(Written {
        bytes,
        peer_closed,
        done,
    })
}
