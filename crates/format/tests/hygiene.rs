//! The macros work in every scope: without the standard prelude, among names that shadow others, and among traits that add
//! methods to every type.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings)]

extern crate std;

/// Names that an expansion could confuse with its own.
#[allow(non_camel_case_types, dead_code, unused_macros, unused_macro_rules)]
mod shadowed {
    struct Result;
    struct Option;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct Vec;
    struct String;
    struct Layout;
    struct FnOnce;
    struct u8;
    struct u16;
    struct u32;
    struct u64;
    struct usize;
    struct i32;
    struct f64;
    struct str;
    struct bool;
    mod core {}
    mod alloc {}
    mod format {}
    macro_rules! mine {
        ($($name:ident)*) => {$(
            macro_rules! $name {
                ($d:tt) => { compile_error!("a macro of the caller's") };
            }
        )*};
    }
    mine!(panic assert format_args concat append c __call);

    /// Methods that a caller's trait may add to every type.
    trait Everything {
        fn plain(&self) {}
        fn precise(&self) {}
        fn with_zeros(&self) {}
        fn laid_out(&self) {}
        fn cursor(&self) {}
        fn output(&self) {}
        fn text(&self) {}
        fn lead(&self) {}
        fn arguments(&self) {}
        fn done(&self) {}
        fn close(&self) {}
        fn open(&self) {}
        fn width_given(&self) {}
    }
    impl<T: ?::core::marker::Sized> Everything for T {}

    pub(crate) fn write(out: &mut ::std::vec::Vec<::core::primitive::u8>) {
        let (display, debug, opened, outcome) = (1, 2, 3, 4);
        let (__out, __format, __opened, __argument_0, __argument_1) = (5, 6, 7, 8, 9);
        ::format::append!(
            out,
            "{} {:?} {display}{debug}{opened:02}{outcome:>2} {__out}{__format:x}{__opened:.1}{__argument_0}{__argument_1} {0:e}",
            1.5,
            "a",
        );
        ::format::append!(
            *out,
            " {:>5.1} {:*^6} {x:05.1}{:p}",
            1.5,
            true,
            ::core::ptr::null::<u8>(),
            x = 2.5
        );
        ::format::c!(
            out,
            " %3d %-3s|%c %x %.1f %g %*d",
            5,
            "x",
            'c',
            255,
            1.5,
            2.5,
            3,
            __opened
        );
    }
}

#[test]
fn among_shadowing_names() {
    let mut out = std::vec::Vec::new();
    shadowed::write(&mut out);
    let text = std::string::String::from_utf8_lossy(&out);
    assert_eq!(
        text,
        "1.5 \"a\" 1203 4 56789 1.5e0   1.5 *true* 002.50x0   5 x  |c ff 1.5 2.5   7"
    );
}

#[test]
fn raw_names_are_captured() {
    let (r#type, r#match) = (1, 2);
    let mut out = std::string::String::new();
    format::append!(out, "{type} {match:02} {type:w$}", w = 3);
    assert_eq!(out, "1 02   1");
}

#[test]
fn the_captured_self_is_the_methods() {
    struct Point(i32);
    impl core::fmt::Display for Point {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            write!(f, "<{}>", self.0)
        }
    }
    impl Point {
        fn written(&self) -> std::string::String {
            let mut out = std::string::String::new();
            format::append!(out, "{self}");
            out
        }
    }
    assert_eq!(Point(3).written(), "<3>");
}

#[test]
fn futures_that_format_can_be_sent() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    async fn number() -> u8 {
        3
    }
    let future = sent(async {
        let mut out = std::vec::Vec::new();
        format::append!(out, "{} {}", number().await, "x");
        number().await;
        out
    });
    drop(future);
}
