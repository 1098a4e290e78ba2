//! Many generated files, each built for one variant of the compilers' matrix and run.
//!
//! A *call* is counted where the harness counts it: one row of one site, formatted by the call under test and by the
//! library, and compared. Files × sites × rows calls make a campaign.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    emit,
    random::Random,
    site::Site,
    toolchain::{self, Toolchain},
};

/// One way to compile a file of sites.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) toolchain: Toolchain,
    pub(crate) flags: Vec<&'static str>,
    /// True if calls are specialized at all: not at -O0, nor where the driver stays out.
    pub(crate) folds: bool,
}

pub(crate) struct Campaign {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    pub(crate) variants: Vec<Variant>,
    /// Files a variant.
    pub(crate) files: usize,
    pub(crate) sites: usize,
    pub(crate) rows: usize,
}

/// The harness's counts, summed over files.
#[derive(Default, Debug, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    pub(crate) specialized: u64,
    pub(crate) promised: u64,
    pub(crate) unkept: u64,
    pub(crate) floats: u64,
    pub(crate) floats_kept: u64,
    pub(crate) mismatches: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.specialized += other.specialized;
        self.promised += other.promised;
        self.unkept += other.unkept;
        self.floats += other.floats;
        self.floats_kept += other.floats_kept;
        self.mismatches += other.mismatches;
    }

    /// Reads the harness's last line: names and numbers in turn.
    fn parse(line: &str) -> Option<Self> {
        let mut count = Self::default();
        let words = line.split_whitespace().collect::<Vec<_>>();
        for pair in words.chunks_exact(2) {
            let value = pair[1].parse().ok()?;
            match pair[0] {
                "calls" => count.calls = value,
                "specialized" => count.specialized = value,
                "promised" => count.promised = value,
                "unkept" => count.unkept = value,
                "floats" => count.floats = value,
                "floats_kept" => count.floats_kept = value,
                "mismatches" => count.mismatches = value,
                _ => return None,
            }
        }
        (count.calls > 0).then_some(count)
    }
}

/// The totals, and reports of everything that went wrong (empty when nothing did).
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) total: Count,
    /// Of the variants that fold only.
    pub(crate) folding: Count,
    pub(crate) faults: String,
    /// Calls of the library where it was promised that there is none.
    pub(crate) unkept: String,
}

/// A file's counts and the promises it found broken; or an error.
type JobResult = Result<(Count, String), String>;

impl Campaign {
    /// Runs every file. What failed, or called the library where it should not, stays in the scratch folder.
    pub(crate) fn run(&self) -> Outcome {
        let folder = toolchain::scratch(&format!("{}-{}", self.name, self.seed));
        let harnesses = self.harnesses(&folder);
        let outcome = Mutex::new(Outcome::default());
        let next = AtomicUsize::new(0);
        let jobs = self.variants.len() * self.files;
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(jobs) {
                scope.spawn(|| {
                    loop {
                        let job = next.fetch_add(1, Ordering::Relaxed);
                        if job >= jobs {
                            return;
                        }
                        let variant = &self.variants[job % self.variants.len()];
                        let result = self.job(&folder, &harnesses, variant, job);
                        outcome
                            .lock()
                            .expect("no thread panics with it")
                            .take(variant, result);
                    }
                });
            }
        });
        let outcome = outcome.into_inner().expect("no thread panics with it");
        if outcome.faults.is_empty() && outcome.unkept.is_empty() {
            fs::remove_dir_all(&folder).expect("the scratch folder is ours");
        }
        outcome
    }

    /// The harness's objects, a folder for each toolchain.
    fn harnesses(&self, folder: &Path) -> Vec<(&'static str, PathBuf)> {
        let mut built: Vec<(&'static str, PathBuf)> = Vec::new();
        for Variant { toolchain, .. } in &self.variants {
            if built.iter().any(|(name, _)| *name == toolchain.name) {
                continue;
            }
            let objects = folder.join(toolchain.name);
            fs::create_dir_all(&objects).expect("a folder for objects");
            for part in ["harness", "hook"] {
                let source = toolchain::sources().join(format!("{part}.c"));
                let object = objects.join(format!("{part}.o"));
                toolchain::succeed(
                    toolchain
                        .plain()
                        .args(["-O1", "-c", "-o"])
                        .arg(object)
                        // Compilers of C++ too: sites in C++ are held by the same harness.
                        .arg("-xc")
                        .arg(source),
                );
            }
            built.push((toolchain.name, objects));
        }
        built
    }

    fn job(&self, folder: &Path, harnesses: &[(&str, PathBuf)], variant: &Variant, job: usize) -> JobResult {
        let mut random = Random::new(
            self.seed
                .wrapping_add(job as u64)
                .wrapping_mul(0x2545_f491_4f6c_dd1d),
        );
        let sites = (0..self.sites)
            .map(|number| Site::random(&mut random, number, self.rows))
            .collect::<Vec<_>>();
        let suffix = if variant.toolchain.name.ends_with("++") {
            "cc"
        } else {
            "c"
        };
        let source = folder.join(format!("sites-{job}-{}.{suffix}", variant.toolchain.name));
        fs::write(&source, emit::file(&sites, &mut random)).expect("the scratch folder takes files");
        let objects = &harnesses
            .iter()
            .find(|(name, _)| *name == variant.toolchain.name)
            .expect("built for all")
            .1;
        let program = source.with_extension("");
        let object = source.with_extension("o");
        let mut compile = variant.toolchain.specialized();
        compile
            .arg("-w")
            .args(&variant.flags)
            .arg("-I")
            .arg(toolchain::sources());
        compile.arg("-c").arg("-o").arg(&object).arg(&source);
        let mut link = variant.toolchain.plain();
        link.args(variant.flags.iter().filter(|flag| flag.starts_with("-fsanitize")));
        link.arg("-o")
            .arg(&program)
            .arg(&object)
            .arg(objects.join("harness.o"))
            .arg(objects.join("hook.o"));
        link.args(wraps(variant.toolchain.fortifies));
        let mut run = variant.toolchain.run(&program);
        // Its own reading of formats takes a string with a precision for one with a terminator.
        run.env("ASAN_OPTIONS", "check_printf=0");
        let told = format!("{compile:?}\n");
        checked(&mut compile).map_err(|fault| told.clone() + &fault)?;
        checked(&mut link).map_err(|fault| told.clone() + &fault)?;
        let output = run.output().map_err(|error| format!("{run:?}: {error}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let count = String::from_utf8_lossy(&output.stdout)
            .lines()
            .last()
            .and_then(Count::parse);
        match count {
            Some(count) if output.status.success() => {
                let unkept = variant.folds && count.unkept > 0;
                if !unkept {
                    for made in [&program, &object, &source] {
                        fs::remove_file(made).map_err(|error| format!("{}: {error}", made.display()))?;
                    }
                }
                Ok((
                    count,
                    if unkept {
                        format!("{told}{errors}")
                    } else {
                        String::new()
                    },
                ))
            }
            _ => Err(format!(
                "{told}  {}: {}\n{errors}",
                program.display(),
                output.status
            )),
        }
    }
}

impl Outcome {
    fn take(&mut self, variant: &Variant, result: JobResult) {
        match result {
            Ok((count, unkept)) => {
                self.unkept.push_str(&unkept);
                self.total.add(count);
                if variant.folds {
                    self.folding.add(count);
                }
            }
            Err(fault) => {
                self.faults.push_str(&fault);
                self.faults.push('\n');
            }
        }
    }
}

/// The names whose calls `hook.c` counts.
fn wraps(fortifies: bool) -> Vec<String> {
    let mut flags = toolchain::FAMILY
        .map(|name| format!("-Wl,--wrap={name}"))
        .to_vec();
    if fortifies {
        flags.extend(toolchain::FAMILY.map(|name| format!("-Wl,--wrap=__{name}_chk")));
    }
    flags
}

fn checked(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}
