//! Small real projects under each build system: the same configuration, and a program that works.

use std::process::Command;

use crate::sandbox::{DRIVER, Sandbox, run, text};

/// What `gcc` is called as without the driver, and ways to put the driver before it.
const WAYS: [&str; 3] = ["gcc", "DRIVER gcc", "ccache DRIVER gcc"];

fn way(sandbox: &Sandbox, way: &str, command: &mut Command) {
    command
        .env("CC", way.replace("DRIVER", DRIVER))
        .env("CCACHE_DIR", sandbox.path("cache"));
}

/// Runs what was built below `build` and removes it; the configuration it was built with.
fn built(sandbox: &Sandbox) -> String {
    let output = run(&mut Command::new(sandbox.path("build/program")));
    assert_eq!(text(&output), "1.2.x\n");
    let configuration = sandbox.read("build/config.h");
    std::fs::remove_dir_all(sandbox.path("build")).unwrap();
    configuration
}

#[test]
fn autoconf_finds_the_same() {
    let sandbox = Sandbox::with_source();
    sandbox.write(
        "configure.ac",
        r#"AC_INIT([example], [1])
AC_CONFIG_SRCDIR([a.c])
AC_CONFIG_HEADERS([config.h])
AC_USE_SYSTEM_EXTENSIONS
AC_PROG_CC
AC_C_INLINE
AC_C_BIGENDIAN
AC_C_RESTRICT
AC_SYS_LARGEFILE
AC_CHECK_HEADERS([stdio.h stdlib.h unistd.h printf.h stdio_ext.h no_such_header.h])
AC_CHECK_FUNCS([printf sprintf snprintf fprintf dprintf vsnprintf asprintf no_such_function])
AC_CHECK_DECLS([snprintf, sprintf, dprintf, asprintf, no_such_function], [], [], [[#include <stdio.h>]])
AC_CHECK_SIZEOF([long])
AC_CHECK_TYPES([ssize_t, fpos_t], [], [], [[#include <stdio.h>]])
AC_CACHE_CHECK([whether snprintf returns what C99 says], [ex_cv_c99],
  [AC_RUN_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>
#include <string.h>]], [[char t[4]; int n = snprintf(t, sizeof t, "%d", 12345);
      return n != 5 || strcmp(t, "123") != 0 || snprintf(NULL, 0, "%s", "abc") != 3;]])],
    [ex_cv_c99=yes], [ex_cv_c99=no], [ex_cv_c99=unknown])])
AS_IF([test $ex_cv_c99 = yes], [AC_DEFINE([HAVE_C99_SNPRINTF], [1], [C99 snprintf])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"#,
    );
    sandbox.write(
        "Makefile.in",
        "program: a.c\n\t@CC@ @CFLAGS@ -include config.h a.c -o program\n",
    );
    run(&mut sandbox.command("autoheader", ""));
    run(&mut sandbox.command("autoconf", ""));
    let mut found = Vec::new();
    for name in WAYS {
        let mut configure = sandbox.command("./configure", "--quiet");
        way(&sandbox, name, &mut configure);
        assert_eq!(text(&run(&mut configure)), "", "{name}");
        run(&mut sandbox.command("make", "-s -B program"));
        assert_eq!(text(&run(&mut Command::new(sandbox.path("program")))), "1.2.x\n");
        found.push(sandbox.read("config.h"));
    }
    assert!(found[0].contains("#define HAVE_C99_SNPRINTF 1") && found[0].contains("#define HAVE_ASPRINTF 1"));
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn cmake_finds_the_same() {
    let sandbox = Sandbox::with_source();
    sandbox.write(
        "CMakeLists.txt",
        r##"cmake_minimum_required(VERSION 3.16)
project(example C)
include(CheckFunctionExists)
include(CheckSymbolExists)
include(CheckCSourceRuns)
include(CheckTypeSize)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
foreach(name snprintf sprintf printf dprintf asprintf no_such_function)
  string(TOUPPER ${name} upper)
  check_function_exists(${name} HAVE_${upper})
  check_symbol_exists(${name} stdio.h DECLARES_${upper})
endforeach()
check_type_size(long LONG)
set(CMAKE_REQUIRED_FLAGS -O2)
check_c_source_runs("#include <stdio.h>
int main(void) { return snprintf(NULL, 0, \"%05d\", 7) != 5; }" C99_SNPRINTF)
configure_file(config.h.in config.h)
add_executable(program a.c)
target_include_directories(program PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
"##,
    );
    let mut names = String::from(
        r##"#define SIZEOF_LONG @LONG@
#cmakedefine C99_SNPRINTF
#define IMPLICIT "@CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES@"
#define COMPILER "@CMAKE_C_COMPILER_ID@ @CMAKE_C_COMPILER_VERSION@"
"##,
    );
    for name in [
        "SNPRINTF",
        "SPRINTF",
        "PRINTF",
        "DPRINTF",
        "ASPRINTF",
        "NO_SUCH_FUNCTION",
    ] {
        names.push_str(&format!(
            "#cmakedefine HAVE_{name}\n#cmakedefine DECLARES_{name}\n"
        ));
    }
    sandbox.write("config.h.in", &names);
    let mut found = Vec::new();
    // As CC with the compiler behind it, as the compiler itself, and as a launcher, which gets the compiler's path.
    let launcher = format!("-DCMAKE_C_COMPILER=gcc -DCMAKE_C_COMPILER_LAUNCHER={DRIVER}");
    for (cc, options) in [
        ("gcc", ""),
        ("DRIVER gcc", ""),
        ("DRIVER", ""),
        ("gcc", &launcher),
    ] {
        let mut configure = sandbox.command(
            "cmake",
            &format!("-S . -B build -DCMAKE_BUILD_TYPE=Release {options}"),
        );
        way(&sandbox, cc, &mut configure);
        run(configure.env("QRINTF_CC", "gcc"));
        run(sandbox.command("cmake", "--build build").env("QRINTF_CC", "gcc"));
        found.push(built(&sandbox));
    }
    assert!(found[0].contains("#define C99_SNPRINTF") && found[0].contains("#define DECLARES_ASPRINTF"));
    for other in &found[1..] {
        assert_eq!(found[0], *other);
    }
}

#[test]
fn meson_finds_the_same() {
    let sandbox = Sandbox::with_source();
    sandbox.write(
        "meson.build",
        r#"project('example', 'c', default_options: ['buildtype=release', 'warning_level=3', 'werror=true'])
cc = meson.get_compiler('c')
config = configuration_data()
foreach name : ['snprintf', 'sprintf', 'printf', 'dprintf', 'asprintf', 'no_such_function']
  config.set('HAVE_' + name.to_upper(), cc.has_function(name, prefix: '#include <stdio.h>', args: '-D_GNU_SOURCE'))
  config.set('DECLARES_' + name.to_upper(), cc.has_header_symbol('stdio.h', name, args: '-D_GNU_SOURCE'))
endforeach
config.set('SIZEOF_LONG', cc.sizeof('long'))
config.set_quoted('COMPILER', cc.get_id() + ' ' + cc.version())
result = cc.run('''#include <stdio.h>
int main(void) { return snprintf(NULL, 0, "%05d", 7) != 5; }''', args: '-O2')
config.set('C99_SNPRINTF', result.returncode() == 0)
configure_file(output: 'config.h', configuration: config)
executable('program', 'a.c')
"#,
    );
    let mut found = Vec::new();
    for name in WAYS {
        let mut setup = sandbox.command("meson", "setup build");
        way(&sandbox, name, &mut setup);
        run(&mut setup);
        run(&mut sandbox.command("ninja", "-C build"));
        found.push(built(&sandbox));
    }
    assert!(found[0].contains("#define C99_SNPRINTF") && found[0].contains("#define DECLARES_ASPRINTF"));
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}
