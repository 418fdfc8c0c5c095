# make         builds bin/cmux
# make demo    runs cmux's main job in scratch repositories, no account, no network
# make demo-web  leaves a run and an organization with a room up, with their dashboards, until Enter or Ctrl+C
# make test    checks, and runs the tests that every change must pass
# make test-all  runs every test, and what make test runs once more under the race detector
# make dashboard  builds the page that the binary carries; make does it, where there is npm
# make web-test   runs the dashboard's tests
# make fuzz    fuzzes each target for FUZZTIME, those that match FUZZ; make test-all does for a moment
# make bench   runs the benchmarks and whole runs beside make, ninja and go-task
# make web-golden compares how the pages look with what is kept in web/e2e/golden
# make bench-web  measures the dashboard in Chromium, beside an empty page
# make dist    builds what people install into dist/: archives, packages, checksums
# make shape   prints the largest packages, types and circles of files
# make docs    rewrites the generated pages under docs/
# make pictures draws the README's pictures into docs/pictures/ from a real run
# make install puts bin/cmux into $(DESTDIR)$(PREFIX)/bin; PREFIX is /usr/local

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
PREFIX  ?= /usr/local

# The checkers' own dependencies stay out of cmux's go.mod. Errors may begin
# with a name, such as Claude Code's (ST1005).
LINT     = $(GO) tool -modfile=.ci/lint.mod

SHELL = /bin/bash

.PHONY: all build demo demo-web test test-all before-test check check-all fuzz bench docs shape pictures dist dist-check tools clean install dashboard web-check web-unit web-e2e web-test web-golden bench-web test-tools

all: dashboard build

# Not npm ci: it asks for the programs of other platforms too. The page needs Node to build, and cmux does not: without npm the binary has no
# dashboard, and says so.
WEB = web/node_modules/.package-lock.json
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm install --no-save --silent && touch node_modules/.package-lock.json

web/dist/index.html: $(WEB) web/index.html web/vite.config.ts $(shell find web/src web/public -type f)
	cd web && rm -rf dist/assets && npx --no-install vite build --logLevel warn

dashboard:
	@if command -v npm >/dev/null 2>&1; then $(MAKE) --no-print-directory web/dist/index.html || \
	  { test ! -e web/dist/index.html; echo "The dashboard could not be built: cmux is built without it."; }; \
	else echo "There is no npm: cmux is built without its dashboard."; fi

web-check: $(WEB)
	cd web && npm run --silent types -- --check && npx --no-install tsc && npm run --silent lint

web-unit: web-check
	cd web && npx --no-install vitest run

web-e2e: web/dist/index.html
	@.ci/tools chromium
	@.ci/agents claude
	cd web && CMUX_SHORT='$(SHORT)' npx --no-install playwright test

web-test: web-unit web-e2e

# Without cgo it needs no libc of the machine and starts faster, which every
# hook does.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/cmux ./cmd/cmux

# What cmux needs to run: installed only where it is missing.
tools:
	@.ci/tools tmux git

demo: tools dashboard build
	$(GO) build -trimpath -o bin/modeld ./agents/testkit/modeltest/modeld
	@claude --version >/dev/null 2>&1 || .ci/agents claude || echo "The demo runs without Claude Code."
	@examples/demo/run.sh "$(CURDIR)/bin/cmux" "$(CURDIR)/bin/modeld"

demo-web: tools dashboard build
	$(GO) build -trimpath -o bin/modeld ./agents/testkit/modeltest/modeld
	@claude --version >/dev/null 2>&1 || .ci/agents claude || echo "The demo runs without Claude Code."
	@examples/demo/run.sh --web "$(CURDIR)/bin/cmux" "$(CURDIR)/bin/modeld"

# What is compiled for vet and staticcheck is what the tests need: -race. Without
# the paths in it, another clone on the same machine need not compile it again.
#
# For macOS all is type-checked, tests and dependencies too, from source: vet
# would have to compile every dependency for it first, in two minutes of CPU. It
# is deadcode that loads it; what it finds dead there is not asked for. Vet's
# rules then miss the few files that are macOS's alone.
check:
	@fmt="$$(gofmt -l cmd dag docs signals worktree agents server examples web/*.go)"; test -z "$$fmt" || { echo "gofmt: $$fmt"; exit 1; }
	@scripts/words.sh
	$(GO) mod tidy -diff
	$(GO) vet -race -trimpath ./...
	@staticcheck="$$($(LINT) -n staticcheck)" && GOFLAGS="$$GOFLAGS -race -trimpath" "$$staticcheck" -checks inherit,-ST1005 ./...
	@deadcode="$$($(LINT) -n deadcode)" && GOOS=darwin GOARCH=arm64 "$$deadcode" -test -filter='^$$' ./...

check-all: check
	@dead="$$($(LINT) deadcode -test ./...)"; test -z "$$dead" || { echo "nothing calls: $$dead"; exit 1; }

# No result is taken from the cache: it does not know what a test builds, nor whose
# clone it was that passed. check has vetted already, and without debugger's tables
# the tests link in half the time. Five packages at a time: most tests wait more than
# they work.
GO_TEST = $(GO) test -trimpath -count=1 -vet=off -ldflags=-w -p 5 -parallel 3 -timeout 40m
# These start real programs, or themselves as cmux, thousands of times, and each start
# costs several times as much with the race detector: it looks at them in test-all, where
# they run a second time, without what is dear. The longest come first.
PROGRAMS = ./agents/kinds/claude ./cmd/cmux ./agents/runs/attempt ./examples ./agents/runs/runner ./agents/kinds/codex ./agents/kinds/acp ./agents/control ./agents/kinds/guard ./agents/kinds/kimi ./agents/testkit/scripted ./agents/runs/wrapper ./agents/org/recovery
LONG = ./agents/testkit/chaos ./worktree ./server/store ./examples/storm
OTHERS = $(LONG) $$($(GO) list ./... | grep -vxF $(LONG:./%=-e cmux/%) $(PROGRAMS:./%=-e cmux/%))
RACES = $(CURDIR)/bin/races
# What tests need: installed only where it is missing.
test-tools:
	@.ci/tools zsh dash chromium
	@.ci/agents

# Beside the checks, which have the processor to themselves, is done what waits for the
# network or has one thread. Lines with MAKE stand alone: make -n runs them.
before-test: tools
	@rm -rf $(RACES) bin/web-failed; mkdir -p $(RACES)
	@{ $(MAKE) --no-print-directory test-tools; $(MAKE) --no-print-directory web-unit || touch bin/web-failed; } >bin/web.log 2>&1 & \
	beside=$$!; trap 'kill $$beside; wait; exit 130' INT TERM; \
	$(MAKE) --no-print-directory $(CHECK); code=$$?; wait; cat bin/web.log; exit $$code
	@$(MAKE) --no-print-directory test-tools
	@$(MAKE) --no-print-directory web-e2e || touch bin/web-failed

# What the race detector finds in programs that a test starts nobody would read: it
# goes to files.
after-test = echo "slowest packages (seconds from start to end, several at a time):"; \
	awk '$$1 ~ /^(ok|FAIL)$$/ && $$3 ~ /s$$/ { printf "%8.1f  %s\n", $$3, $$2 }' bin/test.log | sort -rn | head -n 8; \
	cat $(RACES)/* 2>/dev/null && { echo "the race detector found this"; exit 1; }; \
	test ! -e bin/web-failed || { echo "the tests of the dashboard failed, above"; exit 1; }; exit $$code
racing = GORACE="atexit_sleep_ms=10 log_path=$(RACES)/race" $(GO_TEST) -race

test:
	@$(MAKE) --no-print-directory before-test CHECK=check SHORT=1
	@set -o pipefail; code=0; others="$(OTHERS)" || exit 1; \
	{ $(GO_TEST) -short $(PROGRAMS); plain=$$?; $(racing) -short $$others && exit $$plain; } 2>&1 | tee bin/test.log || code=$$?; $(after-test)

test-all:
	@$(MAKE) --no-print-directory before-test CHECK=check-all
	@$(MAKE) --no-print-directory web-golden || touch bin/web-failed
	@set -o pipefail; code=0; others="$(OTHERS)" || exit 1; \
	{ $(GO_TEST) $(PROGRAMS); plain=$$?; $(racing) $$others; race=$$?; $(racing) -short $(PROGRAMS) && exit $$((plain + race)); } 2>&1 | tee bin/test.log || code=$$?; $(after-test)

FUZZTIME ?= 1m
fuzz:
	@scripts/fuzz.sh '$(FUZZTIME)' '$(FUZZ)'

web-golden: $(WEB) web/dist/index.html
	@.ci/tools chromium
	cd web && npx --no-install playwright test --config golden.config.ts

bench-web: $(WEB) web/dist/index.html
	@.ci/tools chromium
	cd web && npx --no-install playwright test --config bench.config.ts

bench: tools
	@.ci/tools ninja make
	@.ci/agents
	$(GO) run ./agents/runs/runner/benchruns

shape:
	@$(GO) test ./cmd/cmux -run TestShape -count=1 -shape

docs:
	$(GO) test ./cmd/cmux ./dag ./agents/kinds ./agents/records/event ./agents/kinds/guard ./agents/org/standing ./server/api ./server/watch -run 'Docs|Reference' -update

pictures: tools build $(WEB) web/dist/index.html
	@.ci/tools chromium
	@.ci/agents claude
	@scripts/pictures.sh "$(CURDIR)/bin/cmux" docs/pictures
	cd web && CMUX_PICTURES=docs/pictures npx --no-install playwright test e2e/demo.spec.ts

# What people install, and the proof that two builds of one commit are equal.
dist:
	scripts/dist.sh dist

dist-check:
	scripts/dist-check.sh

install: build
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 bin/cmux '$(DESTDIR)$(PREFIX)/bin/cmux'

clean:
	rm -rf bin dist
