//! `hikyaku log dump`: a line per batch.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use log::inspect::{Piece, pieces};
use log::storage::Disk;
use serde_json::json;

use super::Error;
use super::targets::{self, Target};

pub(super) fn run(path: &Path, json: bool) -> Result<ExitCode, Error> {
    let mut out = BufWriter::new(io::stdout().lock());
    for target in targets::find(path)? {
        for file in segments(&target)? {
            if !json {
                writeln!(out, "{}", file.display())?;
            }
            let mut result = Ok(());
            pieces(&Disk, &file, |piece| {
                if result.is_ok() {
                    result = if json {
                        as_json(&mut out, &file, &piece)
                    } else {
                        as_text(&mut out, &piece)
                    };
                }
            })?;
            result?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The files of a target, in order.
fn segments(target: &Target) -> Result<Vec<PathBuf>, Error> {
    let folder = match target {
        Target::Segment(file) => return Ok(vec![file.clone()]),
        Target::Log(folder) => folder,
    };
    let explain = |source| Error::Path {
        path: folder.clone(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(explain)?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "log"))
        .collect();
    files.sort();
    Ok(files)
}

fn as_text(out: &mut impl Write, piece: &Piece) -> io::Result<()> {
    match piece {
        Piece::Batch { header, .. } => {
            writeln!(
                out,
                "offset {} records {} bytes {} crc ok",
                header.base_offset, header.count, header.bytes
            )
        }
        Piece::Damage {
            position,
            bytes,
            fault,
        } => {
            writeln!(out, "damaged: {bytes} bytes at {position}: {fault}")
        }
    }
}

fn as_json(out: &mut impl Write, file: &Path, piece: &Piece) -> io::Result<()> {
    let file = file.to_string_lossy();
    let line = match piece {
        Piece::Batch { position, header } => json!({
            "file": file,
            "position": position,
            "offset": header.base_offset,
            "end_offset": header.end_offset(),
            "records": header.count,
            "bytes": header.bytes,
            "crc": format!("{:08x}", header.crc),
            "crc_ok": true,
            "attributes": header.attributes.0,
            "compression": format!("{:?}", header.attributes.compression()).to_lowercase(),
            "base_timestamp": header.base_timestamp,
            "max_timestamp": header.max_timestamp,
            "leader_epoch": header.leader_epoch,
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
        }),
        Piece::Damage {
            position,
            bytes,
            fault,
        } => json!({
            "file": file,
            "position": position,
            "bytes": bytes,
            "crc_ok": false,
            "fault": fault.to_string(),
        }),
    };
    writeln!(out, "{line}")
}
