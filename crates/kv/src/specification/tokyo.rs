//! Names of Tokyo Cabinet's databases: `*`, `PATH.tch` and `PATH.tcb`, with their tuning after number signs.

use super::{Kind, Specification, bad, once, path_within, size};
use crate::{Compression, Error, Notice};

/// The kinds, each with its name, the tuning that it takes, and the list for messages. Most of it means nothing here.
const KINDS: [(Kind, &str, &[&str], &str); 3] = [
    (
        Kind::Memory,
        "Tokyo Cabinet memory",
        &["capsiz", "bnum", "capnum", "mode"],
        "capsiz, bnum, capnum, mode",
    ),
    (
        Kind::Hash,
        "Tokyo Cabinet hash",
        &["apow", "bnum", "dfunit", "fpow", "mode", "opts", "rcnum", "xmsiz"],
        "apow, bnum, dfunit, fpow, mode, opts, rcnum, xmsiz",
    ),
    (
        Kind::Tree,
        "Tokyo Cabinet tree",
        &[
            "apow", "bnum", "dfunit", "fpow", "lcnum", "lmemb", "mode", "ncnum", "nmemb", "opts", "xmsiz",
        ],
        "apow, bnum, dfunit, fpow, lcnum, lmemb, mode, ncnum, nmemb, opts, xmsiz",
    ),
];

/// The specification that a name of Tokyo Cabinet's means, if it is one.
pub(super) fn parse(uri: &str) -> Result<Option<Specification>, Error> {
    let (name, tuning) = uri.split_at(uri.find('#').unwrap_or(uri.len()));
    let is_uri = ["hash:", "tree:"].iter().any(|scheme| name.starts_with(scheme));
    let (kind, path) = match name {
        "*" => (Kind::Memory, None),
        path if path.ends_with(".tch") && !is_uri => (Kind::Hash, Some(path_within(uri, path)?)),
        path if path.ends_with(".tcb") && !is_uri => (Kind::Tree, Some(path_within(uri, path)?)),
        _ => return Ok(None),
    };
    let mut specification = Specification::new(kind, path);
    let mut given = Vec::new();
    for pair in tuning.split('#').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| Error::Malformed {
            uri: uri.to_owned(),
            reason: "every name needs a value: #name=value",
        })?;
        once(&mut given, name)?;
        specification.tune(name, value)?;
    }
    Ok(Some(specification))
}

impl Specification {
    fn tune(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let (_, kind, names, known) = KINDS[self.kind as usize];
        if !names.contains(&name) {
            return Err(Error::UnknownKey {
                key: name.to_owned(),
                kind,
                known,
            });
        }
        match (self.kind, name) {
            (Kind::Memory, "capsiz") => self.values.capacity = size(name, value)?,
            (Kind::Tree, "opts") if value.chars().any(|letter| !"ldbt".contains(letter)) => {
                return Err(bad(name, value, "it has the letters l, d, b and t".to_owned()));
            }
            // The other letters are a larger format and kinds of compression that are not here.
            (Kind::Tree, "opts") if value.contains('d') => self.values.compression = Compression::Deflate,
            _ => self.notices.push(Notice::Ignored {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
        }
        Ok(())
    }
}
