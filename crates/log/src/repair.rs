//! Repairing a log that is not open: what is damaged is cut out, and the rest stays at its offsets.
//!
//! Each damaged segment is written anew, with empty batches for the offsets whose records are lost, so that the log has no gaps.
//! The old file is kept beside it.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::batch::Builder;
use crate::checkpoint::{Checkpoint, Complete, Found, Recover};
use crate::error::{Doing, Error, Fault};
use crate::files::aside;
use crate::inspect::{OFFSETS_MAX, Piece, Walk, bases, verify};
use crate::log::lock;
use crate::segment::{file_name, index_paths};
use crate::storage::{self, File, Open, Storage};

/// Something that a repair changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The file.
    pub path: PathBuf,
    /// Where it was damaged.
    pub position: u64,
    /// Bytes that were cut out.
    pub bytes: u64,
    /// The fault.
    pub what: String,
    /// The copy of the old file, if records were in it.
    pub kept: Option<PathBuf>,
}

/// Offsets that one empty batch takes at most.
const SPAN_MAX: u64 = i32::MAX as u64;

/// A segment as it will be.
struct Plan {
    base: u64,
    /// Ranges of the old file and offsets without records, in order.
    parts: Vec<Part>,
    damage: Vec<(u64, u64, Fault)>,
    end: u64,
    /// Bytes of the file that are in use.
    bytes: u64,
    max_timestamp: i64,
}

enum Part {
    Bytes(u64, u64),
    Empty(u64, u64),
}

/// Repairs the log of a folder. Afterwards, [`verify`](crate::inspect::verify) finds no fault.
///
/// # Errors
/// The log is in use or of a newer version, or the system refuses.
pub fn repair(storage: &Arc<dyn Storage>, folder: &Path) -> Result<Vec<Repaired>, Error> {
    let found = verify(&**storage, folder)?;
    let held = lock(&**storage, folder)?;
    if found.faults.is_empty() {
        return Ok(Vec::new());
    }
    let checkpoint = match Checkpoint::read(&**storage, folder)? {
        Found::Intact(checkpoint) => Some(checkpoint),
        Found::Absent | Found::Damaged(_) => None,
    };
    let names = storage.list(folder).doing("list", folder)?;
    let bases = bases(&names);
    let mut plans = Vec::new();
    for &base in &bases {
        plans.push(plan(&**storage, &folder.join(file_name(base)), base)?);
    }
    close_gaps(folder, &mut plans, checkpoint.as_ref())?;
    // Indexes are removed, since they are rebuilt, and the checkpoint is written anew.
    let derived = found
        .faults
        .iter()
        .filter(|fault| fault.path.extension().is_none_or(|it| it != "log"));
    let mut repaired: Vec<Repaired> = derived
        .map(|fault| {
            let (path, what) = (fault.path.clone(), fault.what.clone());
            Repaired {
                path,
                position: fault.position,
                bytes: 0,
                what,
                kept: None,
            }
        })
        .collect();
    for plan in &plans {
        repaired.extend(carry_out(&**storage, folder, plan)?);
    }
    let known = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.start);
    let start = plans.first().map_or(known, |first| known.max(first.base));
    write_checkpoint(&**storage, folder, &plans, checkpoint.as_ref(), start)?;
    drop(held);
    Ok(repaired)
}

/// Decides what stays of a segment.
fn plan(storage: &dyn Storage, path: &Path, base: u64) -> Result<Plan, Error> {
    let file = storage.open(path, Open::Read).doing("open", path)?;
    let length = file.length().doing("measure", path)?;
    let mut plan = Plan {
        base,
        parts: Vec::new(),
        damage: Vec::new(),
        end: base,
        bytes: length,
        max_timestamp: i64::MIN,
    };
    let mut walk = Walk::new(&*file, Some(base), length);
    while let Some(piece) = walk.next().doing("read", path)? {
        match piece {
            Piece::Damage {
                position,
                bytes,
                fault,
            } => plan.damage.push((position, bytes, fault)),
            Piece::Batch { position, header } => {
                plan.fill(header.base_offset);
                plan.keep(position, position + header.bytes);
                plan.end = header.end_offset();
                plan.max_timestamp = plan.max_timestamp.max(header.max_timestamp);
            }
        }
    }
    plan.bytes = walk.end();
    Ok(plan)
}

impl Plan {
    fn fill(&mut self, until: u64) {
        if self.end < until {
            self.parts.push(Part::Empty(self.end, until));
            self.end = until;
        }
    }

    fn keep(&mut self, from: u64, to: u64) {
        match self.parts.last_mut() {
            Some(Part::Bytes(_, end)) if *end == from => *end = to,
            _ => self.parts.push(Part::Bytes(from, to)),
        }
    }

    fn changes(&self) -> bool {
        !self.damage.is_empty() || self.parts.iter().any(|part| matches!(part, Part::Empty(..)))
    }
}

/// Lets each segment end where the next begins, and the last one not before what was durable.
fn close_gaps(folder: &Path, plans: &mut [Plan], checkpoint: Option<&Checkpoint>) -> Result<(), Error> {
    let point = checkpoint.map_or(0, |checkpoint| checkpoint.recover.offset);
    let mut next = plans.last().map_or(0, |last| last.end).max(point);
    for plan in plans.iter_mut().rev() {
        // A larger gap cannot come from a lost segment, and filling it would take many batches. An overlap has no remedy.
        if plan.end > next || next - plan.end > OFFSETS_MAX {
            let path = folder.join(file_name(plan.base));
            let reason = format!(
                "it ends at offset {}, and what follows begins at {next}",
                plan.end
            );
            return Err(Error::Foreign { path, reason });
        }
        plan.fill(next);
        next = plan.base;
    }
    Ok(())
}

/// Writes a segment anew, if it changes, and keeps the old file.
fn carry_out(storage: &dyn Storage, folder: &Path, plan: &Plan) -> Result<Vec<Repaired>, Error> {
    let path = folder.join(file_name(plan.base));
    for index in index_paths(&path) {
        // It is rebuilt, and may not have been there.
        let _ = storage.remove(&index);
    }
    if !plan.changes() {
        let file = storage.open(&path, Open::Write).doing("open", &path)?;
        if file.length().doing("measure", &path)? > plan.bytes {
            file.set_length(plan.bytes).doing("cut", &path)?;
        }
        file.sync().doing("sync", &path)?;
        return Ok(Vec::new());
    }
    let old = storage.open(&path, Open::Read).doing("open", &path)?;
    let temporary = storage::temporary(&path);
    let new = storage
        .open(&temporary, Open::Replace)
        .doing("create", &temporary)?;
    write(&*old, &*new, plan).doing("write", &temporary)?;
    new.sync().doing("sync", &temporary)?;
    let kept = aside(storage, folder, &path)?;
    storage.rename(&path, &kept).doing("rename", &path)?;
    storage.rename(&temporary, &path).doing("rename", &temporary)?;
    storage.sync_folder(folder).doing("sync the folder", folder)?;
    let one = |position: u64, bytes: u64, what: String| Repaired {
        path: path.clone(),
        position,
        bytes,
        what,
        kept: Some(kept.clone()),
    };
    let mut repaired: Vec<Repaired> = plan
        .damage
        .iter()
        .map(|(position, bytes, fault)| one(*position, *bytes, fault.to_string()))
        .collect();
    for part in &plan.parts {
        if let Part::Empty(from, to) = part {
            let what = format!("the records from offset {from} up to {to} are lost");
            repaired.push(one(0, 0, what));
        }
    }
    Ok(repaired)
}

fn write(old: &dyn File, new: &dyn File, plan: &Plan) -> std::io::Result<()> {
    const COPY_BYTES: u64 = 1 << 20;
    let mut position = 0;
    let mut buffer = vec![0; COPY_BYTES as usize];
    let mut builder = Builder::new();
    for part in &plan.parts {
        match *part {
            Part::Bytes(mut from, to) => {
                while from < to {
                    let most = (to - from).min(COPY_BYTES) as usize;
                    let count = storage::read_full(old, &mut buffer[..most], from)?;
                    if count < most {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                    storage::write_full(new, &mut [IoSlice::new(&buffer[..most])], position)?;
                    (from, position) = (from + most as u64, position + most as u64);
                }
            }
            Part::Empty(mut from, to) => {
                while from < to {
                    let until = to.min(from + SPAN_MAX);
                    builder.begin_at(from, 0);
                    builder.span(until);
                    let bytes = builder.finish().bytes();
                    storage::write_full(new, &mut [IoSlice::new(bytes)], position)?;
                    position += bytes.len() as u64;
                    from = until;
                }
            }
        }
    }
    Ok(())
}

fn write_checkpoint(
    storage: &dyn Storage,
    folder: &Path,
    plans: &[Plan],
    old: Option<&Checkpoint>,
    start: u64,
) -> Result<(), Error> {
    let mut checkpoint = Checkpoint {
        start,
        ..Checkpoint::default()
    };
    for plan in plans {
        let path = folder.join(file_name(plan.base));
        let file = storage.open(&path, Open::Read).doing("open", &path)?;
        let bytes = file.length().doing("measure", &path)?;
        let before = old.and_then(|old| old.segments.iter().find(|one| one.base == plan.base));
        // A new generation invalidates indexes that were built on the old content.
        let generation = before.map_or(0, |one| one.generation) + u32::from(plan.changes());
        let max_timestamp = plan.max_timestamp;
        checkpoint.segments.push(Complete {
            base: plan.base,
            generation,
            bytes,
            max_timestamp,
        });
        checkpoint.recover = Recover {
            base: plan.base,
            position: bytes,
            offset: plan.end,
        };
    }
    // The last one is active.
    checkpoint.segments.pop();
    if plans.is_empty() {
        checkpoint.recover = old.map_or_else(Recover::default, |old| Recover {
            base: old.recover.offset,
            position: 0,
            offset: old.recover.offset,
        });
        checkpoint.start = checkpoint.start.max(checkpoint.recover.offset);
    }
    checkpoint.write(storage, folder)
}
