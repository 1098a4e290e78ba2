//! The corpus of commands, as `tests/corpus/README.md` describes it.

use std::fs;
use std::path::Path;

/// Where a command must be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Direct,
    Shell,
    Either,
}

/// A command, and where it came from.
#[derive(Clone, Debug)]
pub struct Entry {
    pub command: Vec<u8>,
    pub route: Route,
    pub place: String,
}

/// The whole corpus, in an order that does not change.
pub fn all() -> Vec<Entry> {
    let folder = super::package().join("tests/corpus");
    [
        ("direct", Route::Direct),
        ("shell", Route::Shell),
        ("either", Route::Either),
    ]
    .iter()
    .flat_map(|(name, route)| of_folder(&folder.join(name), *route))
    .collect()
}

fn of_folder(folder: &Path, route: Route) -> Vec<Entry> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().flat_map(|file| of_file(file, route)).collect()
}

fn of_file(file: &Path, route: Route) -> Vec<Entry> {
    let name = file.file_name().unwrap().display().to_string();
    let content = fs::read_to_string(file).unwrap();
    content
        .split_terminator('\n')
        .enumerate()
        .filter(|(_, line)| !line.starts_with("##"))
        .map(|(index, line)| Entry {
            command: decode(line),
            route,
            place: format!("{name}:{}", index + 1),
        })
        .collect()
}

/// A line of the corpus as the bytes that it stands for.
fn decode(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '␊' => bytes.push(b'\n'),
            '␉' => bytes.push(b'\t'),
            '‹' => {
                let (inside, after) = rest.split_once('›').expect("‹ has its ›");
                bytes.extend(
                    inside
                        .split(' ')
                        .map(|hex| u8::from_str_radix(hex, 16).expect("hex")),
                );
                rest = after;
            }
            _ => bytes.extend(c.to_string().bytes()),
        }
    }
    bytes
}

/// A command as it can be shown.
pub fn shown(command: &[u8]) -> String {
    command.escape_ascii().to_string()
}
