//! Values after text replies.

use super::Error;
use crate::Parsed;

/// Reads a value of `length` bytes and the line end after it.
#[inline]
pub(super) fn parse(input: &[u8], length: u64) -> Parsed<Result<&[u8], Error>> {
    // A length beyond the address space exceeds any input.
    let Some((length, used)) = usize::try_from(length)
        .ok()
        .and_then(|l| Some((l, l.checked_add(2)?)))
    else {
        return Parsed::More(usize::MAX);
    };
    match input.get(..used) {
        Some(block) if block.ends_with(b"\r\n") => Parsed::Done(Ok(&block[..length]), used),
        Some(_) => Parsed::Done(
            Err(Error::BlockEnd {
                length: length as u64,
            }),
            used,
        ),
        None => Parsed::More(used),
    }
}
