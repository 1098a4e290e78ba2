//! The modules of one crate, and which of them imports which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use super::source::Source;

/// Re-exports that one path may go through.
const REEXPORTS_MAX: usize = 8;

/// The path of a module from the root of its crate, which is empty itself.
pub(crate) type Module = Vec<String>;

/// For each module, those that it imports, each with the path that one of its imports writes.
type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// Modules that import each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// All modules that reach each other.
    pub(crate) members: BTreeSet<String>,
    /// One of the shortest ways around, with the import behind each arrow.
    pub(crate) text: String,
}

/// The modules of one crate.
pub(crate) struct Modules(BTreeMap<Module, Source>);

impl Modules {
    /// Reads a crate from the file of its root.
    pub(crate) fn read(root: &Path) -> Modules {
        let folder = root.parent().expect("a file lies in a folder");
        let mut modules = BTreeMap::new();
        let mut unread = vec![(Module::new(), root.to_owned(), folder.to_owned())];
        while let Some((module, file, folder)) = unread.pop() {
            let text =
                fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let source = Source::parse(&text);
            for child in &source.children {
                let below = folder.join(child);
                let path = [module.as_slice(), slice::from_ref(child)].concat();
                unread.push((path, file_of(&below), below));
            }
            modules.insert(module, source);
        }
        Modules(modules)
    }

    /// A crate of these modules, each with its path and its text.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Modules {
        let module = |path: &str| path.split_terminator("::").map(str::to_owned).collect();
        let parsed = |&(path, text): &(&str, &str)| (module(path), Source::parse(text));
        Modules(files.iter().map(parsed).collect())
    }

    /// The circles among the modules of each folder, one for all that hang together.
    ///
    /// A module counts as one with those below it, which may share its items: so only siblings form circles.
    pub(crate) fn circles(&self) -> Vec<Circle> {
        let arrows = self.arrows();
        let mut circles = Vec::new();
        for arrows in arrows.values() {
            let mut left: BTreeSet<&String> = arrows.keys().collect();
            while let Some(first) = left.pop_first() {
                let Some(circle) = shortest_circle(arrows, first) else {
                    continue;
                };
                let is_member =
                    |other: &&String| reaches(arrows, first, other) && reaches(arrows, other, first);
                let members: BTreeSet<String> = arrows.keys().filter(is_member).cloned().collect();
                left.retain(|other| !members.contains(*other));
                let text = describe(arrows, &circle);
                circles.push(Circle { members, text });
            }
        }
        circles
    }

    /// The arrows among siblings, by the module that they are in.
    fn arrows(&self) -> BTreeMap<Module, Arrows> {
        let mut all: BTreeMap<Module, Arrows> = BTreeMap::new();
        for (from, source) in &self.0 {
            let imports = source.imports.iter().map(|import| &import.path);
            for path in imports.chain(&source.paths) {
                let Some(to) = self.resolve(from, path, REEXPORTS_MAX) else {
                    continue;
                };
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                let (Some(sibling), Some(other)) = (from.get(common), to.get(common)) else {
                    continue;
                };
                let arrows = all.entry(from[..common].to_vec()).or_default();
                let text = format!("{} names {}", from.join("::"), path.join("::"));
                arrows
                    .entry(sibling.clone())
                    .or_default()
                    .entry(other.clone())
                    .or_insert(text);
            }
        }
        all
    }

    /// The module that defines what a path names; `None` if it is of another crate.
    fn resolve(&self, from: &[String], path: &[String], reexports: usize) -> Option<Module> {
        let mut module = match path.first()?.as_str() {
            "crate" => Module::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            child => self.child(from, child)?,
        };
        for (index, name) in path.iter().enumerate().skip(1) {
            if name == "super" {
                module.pop();
            } else if let Some(child) = self.child(&module, name) {
                module = child;
            } else {
                let through = self.reexport(&module, name).filter(|_| reexports > 0);
                let Some(import) = through else {
                    return Some(module);
                };
                let target = [import, &path[index + 1..]].concat();
                return self.resolve(&module, &target, reexports - 1);
            }
        }
        Some(module)
    }

    fn child(&self, module: &[String], name: &str) -> Option<Module> {
        let child = [module, &[name.to_owned()]].concat();
        self.0.contains_key(&child).then_some(child)
    }

    /// The path that a name in a module stands for.
    fn reexport(&self, module: &[String], name: &str) -> Option<&[String]> {
        let imports = &self.0.get(module)?.imports;
        let import = imports.iter().find(|import| import.name == name)?;
        Some(&import.path)
    }
}

/// The file of a module: beside its folder, or in it.
fn file_of(folder: &Path) -> PathBuf {
    let beside = folder.with_extension("rs");
    if beside.exists() {
        beside
    } else {
        folder.join("mod.rs")
    }
}

/// The nearest way from a module back to itself: the modules on it, the first one once.
fn shortest_circle(arrows: &Arrows, first: &String) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![first.clone()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in arrows.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            if next == first {
                return Some(way);
            }
            if seen.insert(next) {
                ways.push_back([way.as_slice(), slice::from_ref(next)].concat());
            }
        }
    }
    None
}

fn reaches(arrows: &Arrows, from: &String, to: &String) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut left = vec![from];
    while let Some(module) = left.pop() {
        for next in arrows.get(module).into_iter().flat_map(BTreeMap::keys) {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                left.push(next);
            }
        }
    }
    false
}

/// `a -> b -> a (a::x names crate::b::Y; b names crate::a)`.
fn describe(arrows: &Arrows, circle: &[String]) -> String {
    let next = circle.iter().cycle().skip(1);
    let reasons: Vec<&str> = circle
        .iter()
        .zip(next)
        .map(|(from, to)| arrows[from][to].as_str())
        .collect();
    format!(
        "{} -> {} ({})",
        circle.join(" -> "),
        circle[0],
        reasons.join("; ")
    )
}
