//! One call of each shape.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use format::append;

#[test]
fn a_call_of_each_shape() {
    let mut out = Vec::new();
    let (a, b, c, d) = (1u8, 22u8, 133u8, 255u8);
    append!(out, "{}.{}.{}.{}", a, b, c, d);
    append!(out, " {a} {x:08x} {0:>5}|{2:.*}|{}", 7, 3, -1.5f64, x = 255);
    append!(out, " {type}", type = "keyword");
    let mut text = String::new();
    append!(text, concat!("a", 1, '{', '{', "}}", "{}"), 5,);
    append!(&mut text, "{:?} {:?}", Some(4), "x");
    append!(text, "{}{}", text.len(), 10u64.pow(19));
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "1.22.133.255 1 000000ff     7|-1.5000000|3 keyword"
    );
    assert_eq!(text, "a1{}5Some(4) \"x\"1610000000000000000000");
}
