//! Measures the compile time and the code size of a call: `cargo bench -p hikyaku-format --bench sites`.
//!
//! Compiles crates of 200 functions at `-O3`, with `append!` and with `write!` in turn. Each function has one call of 4 to 8
//! values with a text of its own. Prints one JSON object per line: milliseconds of the compiler's CPU time per call above
//! an empty function, and bytes of code and constants, as `size` counts them. The functions of `append!` itself, which a
//! program contains once, do not count.
#![allow(unsafe_code, reason = "getrusage is C's")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const SITES: usize = 200;
const ROUNDS: usize = 7;

/// A call's parameters, format and values.
struct Shape {
    name: &'static str,
    parameters: &'static str,
    format: &'static str,
    values: &'static str,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "ipv4, 4 values",
        parameters: "a: [u8; 4]",
        format: "{}.{}.{}.{}",
        values: "a[0], a[1], a[2], a[3]",
    },
    Shape {
        name: "VALUE line, 4 values",
        parameters: "key: &str, flags: u32, length: u64, unique: u64",
        format: "VALUE {} {} {} {}\\r\\n",
        values: "key, flags, length, unique",
    },
    Shape {
        name: "request, 6 values",
        parameters: "method: &str, path: &str, status: u16, bytes: u64, seconds: f64, id: u32",
        format: "{} {} {} {} {:.3} {:08x}\\n",
        values: "method, path, status, bytes, seconds, id",
    },
    Shape {
        name: "log line, 8 values",
        parameters: "host: &str, t: [u8; 3], method: &str, path: &str, status: u16, bytes: u64",
        format: "{} - [{:02}:{:02}:{:02}] \\\"{} {}\\\" {} {}\\n",
        values: "host, t[0], t[1], t[2], method, path, status, bytes",
    },
];

/// How the functions of a crate write.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Append,
    Write,
    Not,
}

/// Calls of all shapes in turn, or of one.
fn source(way: Way, shapes: &[Shape]) -> String {
    let mut source = String::from("#![allow(unused)]\nuse std::io::Write as _;\n");
    for (site, shape) in shapes.iter().cycle().take(SITES).enumerate() {
        let Shape {
            parameters,
            format,
            values,
            ..
        } = shape;
        let call = match way {
            Way::Append => format!("format::append!(out, \"{site} {format}\", {values});"),
            Way::Write => format!("write!(out, \"{site} {format}\", {values}).unwrap();"),
            Way::Not => String::new(),
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            source,
            "#[inline(never)] pub fn site_{site}(out: &mut Vec<u8>, {parameters}) {{ {call} }}"
        );
    }
    source
}

/// The library that this program was built with lies beside it.
fn directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().unwrap_or(Path::new(".")).to_owned()
}

fn library() -> PathBuf {
    let entries = std::fs::read_dir(directory()).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("libformat-") && name.ends_with(".rlib")
        })
        .max_by_key(|entry| entry.metadata().and_then(|metadata| metadata.modified()).ok())
        .map(|entry| entry.path())
        .unwrap_or_default()
}

/// CPU time of all ended children, in seconds.
fn children() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the function fills the structure, whatever it returns for this constant.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Compiles a crate and returns the CPU time.
fn compile(source: &Path, object: &Path) -> f64 {
    let before = children();
    let status = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=obj",
            "-Copt-level=3",
        ])
        .args(["-Ccodegen-units=1", "-Cembed-bitcode=no", "-o"])
        .arg(object)
        .arg("--extern")
        .arg(format!("format={}", library().display()))
        .arg("-L")
        .arg(format!("dependency={}", directory().display()))
        .arg(source)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "rustc failed");
    children() - before
}

/// Bytes of code and constants of an object, without unwinding tables.
fn text_size(object: &Path) -> f64 {
    let output = Command::new("size")
        .arg("-A")
        .arg(object)
        .output()
        .expect("size, of binutils");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let sections = report.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let counts = name.starts_with(".text") || name.starts_with(".rodata");
        counts.then(|| words.next()?.parse::<f64>().ok()).flatten()
    });
    sections.sum()
}

/// The median CPU time per call in milliseconds, and its bytes, for each way.
fn measure(folder: &Path, shapes: &[Shape]) -> [(f64, f64); 2] {
    let ways = [Way::Append, Way::Write, Way::Not];
    let mut times = [const { Vec::new() }; 3];
    let mut sizes = [0.0; 3];
    let object = folder.join("sites.o");
    for _ in 0..ROUNDS {
        for (at, way) in ways.iter().enumerate() {
            let path = folder.join("sites.rs");
            std::fs::write(&path, source(*way, shapes)).expect("a folder that can be written to");
            times[at].push(compile(&path, &object));
            sizes[at] = text_size(&object);
        }
    }
    let median = |times: &Vec<f64>| {
        let mut times = times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    [0, 1].map(|at| {
        let milliseconds = (median(&times[at]) - median(&times[2])) * 1e3 / SITES as f64;
        (milliseconds, (sizes[at] - sizes[2]) / SITES as f64)
    })
}

fn print(case: &str, unit: &str, ours: f64, theirs: f64) {
    println!(
        r#"{{"case":"{case}","macro":"append!","peer":"write!","unit":"{unit}","ours":{ours:.2},"theirs":{theirs:.2},"ratio":{:.2}}}"#,
        theirs / ours
    );
}

fn main() {
    let folder = std::env::temp_dir().join(format!("hikyaku-format-sites-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let [ours, theirs] = measure(&folder, &SHAPES);
    print("a call, of 4 to 8 values", "ms", ours.0, theirs.0);
    print("a call, of 4 to 8 values", "bytes", ours.1, theirs.1);
    for shape in SHAPES.chunks(1) {
        let name = format!("a call: {}", shape[0].name);
        let [ours, theirs] = [Way::Append, Way::Write].map(|way| size_of_one(&folder, way, shape));
        print(&name, "bytes", ours, theirs);
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Bytes of a call of one shape.
fn size_of_one(folder: &Path, way: Way, shape: &[Shape]) -> f64 {
    let (path, object) = (folder.join("one.rs"), folder.join("one.o"));
    let size = |way| {
        std::fs::write(&path, source(way, shape)).expect("a folder that can be written to");
        compile(&path, &object);
        text_size(&object)
    };
    (size(way) - size(Way::Not)) / SITES as f64
}
