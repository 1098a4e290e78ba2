//! Compares two ways to write the same output, in many short alternating rounds.

use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 61;

/// Nanoseconds of one call.
#[inline(never)]
fn time<T>(inputs: &[T], call: &mut impl FnMut(&mut Vec<u8>, &T)) -> f64 {
    let mut out = Vec::with_capacity(1024);
    let begin = Instant::now();
    for input in inputs {
        out.clear();
        call(&mut out, input);
        black_box(out.as_slice());
    }
    begin.elapsed().as_nanos() as f64 / inputs.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints a line with the medians, unless the arguments name other cases.
pub(crate) fn compare<T>(
    (case, macro_, peer): (&str, &str, &str),
    inputs: &[T],
    mut ours: impl FnMut(&mut Vec<u8>, &T),
    mut theirs: impl FnMut(&mut Vec<u8>, &T),
) {
    if std::env::args()
        .skip(1)
        .any(|word| !word.starts_with('-') && word != case)
    {
        return;
    }
    for input in inputs {
        let (mut a, mut b) = (Vec::with_capacity(1024), Vec::with_capacity(1024));
        ours(&mut a, input);
        theirs(&mut b, input);
        assert_eq!(String::from_utf8_lossy(&a), String::from_utf8_lossy(&b), "{case}");
    }
    let (a, b): (Vec<_>, Vec<_>) = (0..ROUNDS)
        .map(|_| (time(inputs, &mut ours), time(inputs, &mut theirs)))
        .unzip();
    let (a, b) = (median(a), median(b));
    println!(
        r#"{{"case":"{case}","macro":"{macro_}","peer":"{peer}","unit":"ns","ours":{a:.2},"theirs":{b:.2},"ratio":{:.2}}}"#,
        b / a
    );
}
