# The entry point to every task: building, testing, measuring, installing. `make help` lists the targets.

CARGO    ?= cargo
PREFIX   ?= /usr/local
DESTDIR  ?=
MEMCACHED ?=
FUZZ_SECONDS ?= 60
NOSHELL_FUZZ ?= 50000:2

TARGET   := $(or $(CARGO_TARGET_DIR),target)
AARCH64  := $(abspath $(TARGET))/aarch64-unknown-linux-gnu/noshell
HIKYAKU  := $(TARGET)/release/hikyaku
QRINTF   := $(TARGET)/release/qrintf-cc
ROOT     := $(DESTDIR)$(PREFIX)

# tools/noshell has its own Makefile, which gets absolute paths.
NOSHELL  := $(MAKE) --no-print-directory -C tools/noshell OUT=$(abspath $(TARGET))/release \
            PREFIX=$(PREFIX) DESTDIR=$(abspath $(DESTDIR))

# Installs Debian packages. The package lists are fetched first, since a new machine has none.
APT_INSTALL := sh -c 'as_root=$$([ "$$(id -u)" -eq 0 ] || echo sudo); $$as_root apt-get -q update >/dev/null && \
               $$as_root apt-get -q -y install --no-install-recommends "$$@" >/dev/null' apt

# Benchmarks need a peer; Debian's memcached is installed if none is named or installed.
HAVE_MEMCACHED := @test -n "$(MEMCACHED)" || command -v memcached >/dev/null || $(APT_INSTALL) memcached

HAVE_FMT := @test -e /usr/include/fmt/compile.h || $(APT_INSTALL) libfmt-dev

# Fuzzing needs unstable compiler flags: those of nightly, or of this compiler with RUSTC_BOOTSTRAP.
FUZZ := $(if $(findstring nightly,$(shell rustup toolchain list 2>/dev/null)),$(CARGO) +nightly fuzz,RUSTC_BOOTSTRAP=1 $(CARGO) fuzz)

.DEFAULT_GOAL := build
.PHONY: run build compiler libnoshell test test-packages test-programs check-digits lint fmt bench bench-kv bench-curves bench-appends bench-compaction bench-qrintf bench-spawn bench-streams bench-log bench-restart fuzz instructions doc install uninstall clean help fuzz-long test-fresh test-long test-aarch64

run: build ## build and start the daemon with its defaults (ARGS="--memcached 127.0.0.1:0" adds flags)
	$(HIKYAKU) serve $(ARGS)

build: libnoshell ## build target/release/hikyaku, hikyaku-bench, qrintf-cc and libnoshell
	$(CARGO) build --release --locked -p hikyaku -p hikyaku-bench -p hikyaku-qrintf

# Cargo links with the C compiler, and some crates have C in them.
compiler:
	@command -v cc >/dev/null || $(APT_INSTALL) build-essential

libnoshell: compiler ## build target/release/libnoshell.so and libnoshell.a
	$(NOSHELL)

test: compiler ## install prerequisites, check format, lints and docs, and run all tests
	$(MAKE) --no-print-directory -j2 test-packages test-programs
	$(CARGO) test --locked --workspace --no-fail-fast

# Installing waits for the network and compiling does not, so `make test` does both at once.
test-packages:
	tests/install

test-programs: lint
	$(CARGO) build --locked -p hikyaku -p hikyaku-bench
	$(CARGO) test --locked --workspace --no-run --quiet

test-fresh: ## run `make run` and `make test` on a bare Debian 12 in a temporary folder, as root (half an hour)
	tests/fresh

check-digits: ## check the digits of qrintf.h and format: every 32-bit number, 100 million doubles (half an hour)
	tools/qrintf/check/long
	$(CARGO) test --release --locked -p hikyaku-format --test exhaustive -- --include-ignored

fuzz-long: ## compare a million random printf calls (QRINTF_FUZZ_SEED=N) and 50,000 commands (NOSHELL_FUZZ=COUNT:SEED) with libc's
	tests/install
	$(CARGO) test --locked -p hikyaku-qrintf --test proof a_million_calls -- --ignored --nocapture
	NOSHELL_FUZZ=$(NOSHELL_FUZZ) $(CARGO) test --locked -p hikyaku-noshell --test fuzz

test-long: ## slow tests: build eleven programs with qrintf-cc and test them, start 100,000 processes, kill 1,000 daemons, stop 20 stores anywhere
	tests/install-long
	$(CARGO) test --locked -p hikyaku-qrintf --test proof -- programs:: corpus:: --include-ignored --nocapture --test-threads 1
	SPAWN_COUNT=100000 $(CARGO) test --locked -p hikyaku-spawn --test alone hygiene_thousands
	NOSHELL_CALLS=100000 $(CARGO) test --locked -p hikyaku-noshell --test threads
	$(CARGO) test --release --locked -p hikyaku-kv --test store -- --ignored --nocapture
	$(CARGO) test --release --locked -p hikyaku-kv --lib hash::faults -- --ignored --nocapture
	$(CARGO) build --release --locked -p hikyaku
	HIKYAKU=$(abspath $(HIKYAKU)) $(CARGO) test --locked -p hikyaku-tests --test kills -- --ignored --nocapture

test-aarch64: ## build spawn, libnoshell and hikyaku-bench for aarch64, and test the first two in an emulator, which has no clone3
	@command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null || \
	    $(APT_INSTALL) qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	rustup target add aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	    $(CARGO) build --locked -p hikyaku-bench --target aarch64-unknown-linux-gnu
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc SPAWN_EMULATED=1 \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
	    $(CARGO) test --locked -p hikyaku-spawn --target aarch64-unknown-linux-gnu --lib \
	        --test basics --test capture --test options
	$(MAKE) --no-print-directory -C tools/noshell CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar OUT=$(AARCH64)
	aarch64-linux-gnu-gcc -Itools/noshell/include -o $(AARCH64)/spawn tools/noshell/examples/spawn.c $(AARCH64)/libnoshell.a
	qemu-aarch64 -L /usr/aarch64-linux-gnu $(AARCH64)/spawn | grep -x 'EVERY OTHER DESCRIPTOR IS CLOSED'

lint: ## run cargo fmt --check, clippy and rustdoc; warnings are errors
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet

fmt: ## format the sources
	$(CARGO) fmt --all

bench: build ## run all benchmarks: memcached (MEMCACHED=PATH), event loops, printf, process creation
	$(HAVE_MEMCACHED)
	$(HAVE_FMT)
	bench/run --hikyaku $(HIKYAKU) $(if $(MEMCACHED),--memcached $(MEMCACHED))
	bench/qrintf/run --qrintf-cc $(QRINTF)
	bench/spawn --hikyaku $(HIKYAKU)

bench-kv: build ## compare hikyaku with memcached, Redis and Tokyo Tyrant (MEMCACHED=PATH, TYRANT=PATH; Debian's by default)
	$(HAVE_MEMCACHED)
	@command -v redis-server >/dev/null && test -e /usr/include/tchdb.h || $(APT_INSTALL) redis-server libtokyocabinet-dev
	$(CARGO) build --release --locked -p hikyaku-kv --example lookup_cost
	bench/kv --hikyaku $(HIKYAKU) $(if $(MEMCACHED),--memcached $(MEMCACHED))
	bench/stores --hikyaku $(HIKYAKU) $(if $(MEMCACHED),--memcached $(MEMCACHED)) $(if $(TYRANT),--tyrant $(TYRANT))

bench-curves: build ## the same over 10,000 to 10 million keys and 10 to 10,000 connections (ten minutes)
	$(HAVE_MEMCACHED)
	bench/curves --hikyaku $(HIKYAKU) $(if $(MEMCACHED),--memcached $(MEMCACHED))

bench-appends: build ## compare how long another client waits beside appends and prepends to a value of 100 MiB (a minute)
	$(HAVE_MEMCACHED)
	bench/appends --hikyaku $(HIKYAKU) $(if $(MEMCACHED),--memcached $(MEMCACHED))

bench-compaction: build ## measure what compaction of a hash store leaves on the disk, and the tail of GETs meanwhile (five minutes)
	bench/compaction --hikyaku $(HIKYAKU)

bench-qrintf: build ## compare qrintf-cc with glibc and {fmt}, and format::append! with write! (a few minutes)
	$(HAVE_FMT)
	bench/qrintf/run --qrintf-cc $(QRINTF)

bench-spawn: build ## compare spawn and libnoshell with vfork, posix_spawn, std, and libc's system and popen
	bench/spawn --hikyaku $(HIKYAKU)

bench-streams: ## compare the examples tunnel, multiplex and push with HAProxy, a plain echo and a bare loop of send
	@command -v haproxy >/dev/null || apt-get -q -y install --no-install-recommends haproxy >/dev/null
	bench/streams

bench-log: ## compare appends to the log with write(2) of the same bytes
	$(CARGO) build --release --locked -p hikyaku-log --example append_rate
	bench/log --program $(TARGET)/release/examples/append_rate

bench-restart: build ## measure starts on hash stores of 1 and 10 million items, after stops and kills (four minutes)
	bench/restart --hikyaku $(HIKYAKU)

instructions: build ## count the instructions of the hot paths; fail if any grew by 3 % (UPDATE=1 records them)
	@command -v valgrind >/dev/null && command -v python3 >/dev/null && command -v openssl >/dev/null || \
	    $(APT_INSTALL) valgrind python3 openssl
	$(CARGO) build --release --locked -p hikyaku-instructions
	bench/instructions/run $(if $(UPDATE),--update)

fuzz: ## run each fuzz target for a minute (FUZZ_SECONDS=60)
	@command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz --locked
	cd fuzz && for target in $$($(FUZZ) list); do \
	    echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
	    mkdir -p corpus/$$target && \
	    $(FUZZ) run --fuzz-dir . $$target corpus/$$target seeds/$$target -- \
	        -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

doc: ## build the API documentation under target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

install: build ## install under DESTDIR and PREFIX (/usr/local)
	install -D -m 755 $(HIKYAKU) $(ROOT)/bin/hikyaku
	install -D -m 755 $(HIKYAKU)-bench $(ROOT)/bin/hikyaku-bench
	install -D -m 755 $(QRINTF) $(ROOT)/bin/qrintf-cc
	install -d $(ROOT)/lib/qrintf/include
	install -m 644 tools/qrintf/include/*.h $(ROOT)/lib/qrintf/include/
	install -d $(ROOT)/share/man/man1
	install -m 644 tools/qrintf/man/qrintf-cc.1 $(ROOT)/share/man/man1/
	$(HIKYAKU) man --directory $(ROOT)/share/man/man1
	install -d $(ROOT)/share/bash-completion/completions $(ROOT)/share/zsh/site-functions $(ROOT)/share/fish/vendor_completions.d
	$(HIKYAKU) completions bash > $(ROOT)/share/bash-completion/completions/hikyaku
	$(HIKYAKU) completions zsh > $(ROOT)/share/zsh/site-functions/_hikyaku
	$(HIKYAKU) completions fish > $(ROOT)/share/fish/vendor_completions.d/hikyaku.fish
	install -d $(ROOT)/share/doc/hikyaku/docs/guide $(ROOT)/share/doc/hikyaku/docs/decisions
	install -m 644 README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE-* $(ROOT)/share/doc/hikyaku/
	install -m 644 docs/guide/*.md $(ROOT)/share/doc/hikyaku/docs/guide/
	install -m 644 docs/decisions/*.md $(ROOT)/share/doc/hikyaku/docs/decisions/
	$(NOSHELL) install
	install -m 644 packaging/hikyaku.toml $(ROOT)/share/doc/hikyaku/
	sed 's#/usr/local/#$(PREFIX)/#g' packaging/hikyaku.service > $(ROOT)/share/doc/hikyaku/hikyaku.service

uninstall: ## remove the installed files
	rm -f $(ROOT)/bin/hikyaku $(ROOT)/bin/hikyaku-bench $(ROOT)/share/man/man1/hikyaku.1 $(ROOT)/share/man/man1/hikyaku-*.1
	rm -f $(ROOT)/bin/qrintf-cc $(ROOT)/share/man/man1/qrintf-cc.1
	rm -rf $(ROOT)/lib/qrintf
	rm -f $(ROOT)/share/bash-completion/completions/hikyaku $(ROOT)/share/zsh/site-functions/_hikyaku
	rm -f $(ROOT)/share/fish/vendor_completions.d/hikyaku.fish
	$(NOSHELL) uninstall
	rm -rf $(ROOT)/share/doc/hikyaku

clean: ## remove all build results
	$(CARGO) clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
