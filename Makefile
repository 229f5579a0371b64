# run    everything on this machine; the first time it installs and builds what is missing
# test   all checks
# bench  the benchmark harness: ratios, in one run each
# drill  kills things, cuts networks, sets clocks, stops the database, and prints what was expected beside what
#        came of it; faults behind the real nginx and HAProxy
# fuzz   the readers of logs on made-up lines: make fuzz SECONDS=600, make fuzz FORMAT=haproxy
# fmt    formats everything

# Compiling needs no database (see scripts/queries), whatever DATABASE_URL says.
export SQLX_OFFLINE := true
export CARGO_TERM_PROGRESS_WHEN ?= auto
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Extra arguments: make run ARGS="--listen 127.0.0.1:9000"
ARGS ?=
# How long to fuzz, and which reader; FORMAT=all takes them all in one run.
SECONDS ?= 120
FORMAT ?= all

.PHONY: run test bench drill fuzz fmt queries binary ui rust web browser
.DEFAULT_GOAL := run

run:
	scripts/setup run
	$(MAKE) --no-print-directory binary
	$(TARGET)/debug/quorate up $(ARGS)

test:
	scripts/setup test
	$(MAKE) --no-print-directory ui rust web browser

rust:
	cargo fmt --check
	cargo clippy --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --no-deps --document-private-items --quiet
	scripts/queries check
	# The fuzz target includes sources of its own choice: it must not fall behind them.
	cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir $(TARGET)/fuzz
	cargo nextest run

web: web/node_modules/.installed
	cd web && npm run --silent lint && npm run --silent check && npm test --silent
	cd web && cp src/api/schema.d.ts node_modules/.schema.d.ts && npm run --silent gen > /dev/null
	cmp web/node_modules/.schema.d.ts web/src/api/schema.d.ts # differs: it was stale and is new now; commit it

browser: binary
	cd web && QUORATE_BIN=$(abspath $(TARGET))/debug/quorate npm run --silent e2e

bench:
	scripts/setup bench
	$(MAKE) --no-print-directory ui
	cargo build --release
	for what in ingest probe decide logs api; do $(TARGET)/release/quorate bench $$what || exit 1; done

drill:
	scripts/setup drill
	cargo nextest run --profile drill --run-ignored all

# The sanitizer needs what is not stable; the compiler is the usual one.
fuzz:
	cargo fuzz --version > /dev/null 2>&1 || cargo install cargo-fuzz --locked
	fuzz/seeds $(FORMAT)
	FORMAT=$(FORMAT) RUSTC_BOOTSTRAP=1 cargo fuzz run accesslog fuzz/corpus/$(FORMAT) -- -max_total_time=$(SECONDS) \
		-max_len=8192 -timeout=5 -rss_limit_mb=1024 -dict=fuzz/accesslog.dict -print_final_stats=1

fmt: web/node_modules/.installed
	cargo fmt
	cd web && npm run --silent fmt

# After a change to a statement or to the schema.
queries:
	scripts/queries update

binary: ui
	cargo build

ui: web/dist/index.html

web/dist/index.html: web/node_modules/.installed web/index.html web/vite.config.ts $(shell find web/src web/public -type f 2> /dev/null)
	cd web && npm run --silent build
	@touch $@

web/node_modules/.installed: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --no-update-notifier
	@touch $@
