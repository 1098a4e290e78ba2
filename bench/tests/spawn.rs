//! The table as one runs it: a short measurement of every row, and what is said of those that cannot be measured.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn spawn(options: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hikyaku-bench"))
        .arg("spawn")
        .args(options)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {said}");
    output
}

fn json(options: &[&str]) -> Value {
    let output = spawn(&[options, &["--json"]].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const SHORT: &[&str] = &["--rounds", "2", "--count", "5", "--budget-ms", "50"];

#[test]
fn every_row_has_figures_or_a_reason() {
    let report = json(&[SHORT, &["--parents", "0,4MiB"]].concat());
    let parents = report["parents"].as_array().expect("parents");
    assert_eq!(parents.len(), 2);
    assert_eq!(parents[1]["touched_bytes"], 4 << 20);
    for row in parents
        .iter()
        .flat_map(|parent| parent["rows"].as_array().expect("rows"))
    {
        let measured = row["cpu_us"].as_f64().is_some_and(|cpu| cpu > 0.0);
        let reason = row["reason"].as_str().is_some_and(|reason| !reason.is_empty());
        assert!(measured != reason, "{row}");
        if measured {
            let share = row["parent_us"].as_f64().expect("the parent's share");
            assert!(share <= row["cpu_us"].as_f64().expect("CPU") + 0.001, "{row}");
            assert!(
                row["blocked_p50_us"].as_f64() <= row["blocked_p99_us"].as_f64(),
                "{row}"
            );
            assert_eq!(row["rounds"].as_array().map(Vec::len), Some(2), "{row}");
        }
    }
}

#[test]
fn rows_without_prerequisites_are_measured() {
    let keys = "vfork,fork,posix-spawn,posix-spawn-pipe,posix-spawn-split,fork-pipe,fork-split,system,popen,std-status,\
                std-output,std-pre-exec,system-shell";
    let report = json(&[SHORT, &["--parents", "0", "--rows", keys]].concat());
    let rows = report["parents"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), keys.split(',').count());
    for row in rows {
        assert!(row["cpu_us"].is_f64(), "{row}");
        assert!(row["against_vfork"].is_f64(), "{row}");
    }
}

#[test]
fn the_table_is_written_as_csv_and_svg() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (csv, svg) = (folder.join("spawn.csv"), folder.join("spawn.svg"));
    let files = [
        "--csv",
        csv.to_str().expect("UTF-8"),
        "--svg",
        svg.to_str().expect("UTF-8"),
    ];
    let rows = [
        "--parents",
        "0",
        "--rows",
        "vfork,system,popen-preloaded",
        "--noshell",
        "/nonexistent.so",
    ];
    let output = spawn(&[SHORT, &rows, &files].concat());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("system(\"T\")") && text.contains("tick"), "{text}");
    assert!(
        text.contains("not measured: /nonexistent.so: No such file"),
        "{text}"
    );

    let csv = fs::read_to_string(csv).expect("the CSV");
    let lines: Vec<_> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(
        lines[0].starts_with("touched_bytes,row,what,article,cpu_us,"),
        "{csv}"
    );
    assert!(
        lines[1].starts_with("0,vfork,\"vfork + execve, bare\",\"vfork() + exec()"),
        "{csv}"
    );
    assert!(
        lines[2].ends_with(",,,,,,,,/nonexistent.so: No such file or directory (os error 2)"),
        "{csv}"
    );

    let svg = fs::read_to_string(svg).expect("the SVG");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(
        svg.matches("height=\"7\"").count(),
        2,
        "a bar for each row that was measured"
    );
}

#[test]
fn wrong_rows_and_sizes_are_refused() {
    for (option, value, hint) in [
        ("--rows", "frok", "posix-spawn"),
        ("--parents", "2GB", "2GiB"),
        ("--count", "0", "1.."),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_hikyaku-bench"))
            .args(["spawn", option, value])
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(hint), "{option}: {said}");
    }
}

#[test]
fn progress_is_shown_on_request() {
    let options = [SHORT, &["--parents", "0", "--rows", "vfork"]].concat();
    let quiet = spawn(&options);
    assert_eq!(
        String::from_utf8_lossy(&quiet.stderr),
        "",
        "standard error is no terminal"
    );
    let told = spawn(&[&options[..], &["--progress"]].concat());
    let told = String::from_utf8_lossy(&told.stderr);
    assert!(told.contains("starting parents with 0 touched"), "{told}");
}
