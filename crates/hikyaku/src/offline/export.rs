//! `hikyaku kv export`.

use std::io::{BufWriter, Write, stdout};

use kv::{Cursor, Value};

use super::error::Error;
use super::{Export, lines};

pub(super) fn run(asked: &Export) -> Result<(), Error> {
    let mut out = BufWriter::new(stdout());
    asked.folder.with(false, async |opened| {
        opened
            .visit(Cursor::Start, |entry| {
                let value = match entry.value() {
                    Value::File(range) => {
                        read(&range).map_err(|error| Error::Read(kv::StoreError::Io(error.kind())))?
                    }
                    _ => entry.bytes().to_vec(),
                };
                let line = lines::format(entry.key(), &value, entry.flags(), entry.expiry());
                writeln!(out, "{line}").map_err(Error::Output)?;
                Ok(true)
            })
            .await
    })?;
    out.flush().map_err(Error::Output)
}

fn read(range: &kv::FileRange) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut value = vec![0; usize::try_from(range.length).unwrap_or(usize::MAX)];
    range.file.read_exact_at(&mut value, range.offset)?;
    Ok(value)
}
