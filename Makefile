# make            build every program, and gum, into bin/
# make demo       the main job from end to end, in a temporary directory
# make check      the whole gate; each step is a target of its own:
#                 fmt vet staticcheck tidy cross shell man test
# make race       tests and programs under the race detector
# make crash      programs killed at each system call that changes a file (Linux, strace)
# make tui        the interactive flow, in tmux
# make elsewhere  a room on one host and participants on another, in network namespaces (Linux, root, nft, curl)
# make browser    two people in Chromium and a shell program in a room (npm, chromium); SCREENSHOTS=dir keeps pictures
# make pictures   the pictures of README.md, from a real run in tmux
# make agents     real agent programs (npm) in a room, with no network but loopback; AGENTS="codex opencode"
# make peers      MCP programs that nobody here wrote, on ours (Linux, npm)
# make mcpb       a bundle of substrate-mcp, and its server.json
# make fuzz       each fuzz test for FUZZTIME
# make bench      measurements
# make install    PREFIX, DESTDIR; FORCE=1 replaces a substrate that is not ours
# make uninstall, make clean
#
# Go, make and a shell are enough for all but race (a C compiler) and crash (strace). A step of check that
# needs more says what it needs, and in CI (CI is set) fails for want of it.

.POSIX:
.SUFFIXES:
# The gate runs in the order it is written, whatever -j says.
.NOTPARALLEL:

GO = go
PREFIX = /usr/local
DESTDIR =
FUZZTIME = 30s
# Added to every go test, for example TESTFLAGS=-v.
TESTFLAGS =
SHFMT_STYLE = -i 2 -ci
# The tags that keep long tests out of make test.
TAGS = agents,bench,browser,crash,elsewhere,peers,tui

bindir = $(DESTDIR)$(PREFIX)/bin
libexecdir = $(DESTDIR)$(PREFIX)/libexec/substrate
mandir = $(DESTDIR)$(PREFIX)/share/man

# How make install knows that a substrate is ours: scripts/substrate has this line.
MARKER = This substrate is github.com/substrate-tools/substrate.

.PHONY: build programs demo check fmt vet staticcheck tidy cross shell man test
.PHONY: race crash power fuzz bench install uninstall clean
.PHONY: agents

build: programs bin/gum

# The same flags as in cmd/script_test.go, so that neither undoes the other's work.
programs:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

# The go command may leave an up-to-date file as it is, hence touch.
bin/gum: go.mod
	$(GO) build -trimpath -ldflags '-s -w' -o $@ github.com/charmbracelet/gum
	@touch $@

bin/tools/staticcheck: scripts/tools/go.mod
	$(GO) build -C scripts/tools -trimpath -o ../../$@ honnef.co/go/tools/cmd/staticcheck
	@touch $@

bin/tools/shfmt: scripts/tools/go.mod
	$(GO) build -C scripts/tools -trimpath -o ../../$@ mvdan.cc/sh/v3/cmd/shfmt
	@touch $@

bin/tools/freeze: scripts/tools/go.mod
	$(GO) build -C scripts/tools -trimpath -o ../../$@ github.com/charmbracelet/freeze
	@touch $@

demo: programs
	scripts/demo

check: fmt vet staticcheck tidy cross shell man test
	@echo "check: passed"
	@for tool in mandoc shellcheck strace; do \
	  command -v $$tool >/dev/null 2>&1 && continue; \
	  case $$tool in \
	    mandoc) what="the pages" ;; \
	    shellcheck) what="the scripts, by shellcheck" ;; \
	    strace) what="crashes (make crash)" ;; \
	  esac; \
	  echo "check: not checked: $$what: no $$tool; install it: apt-get install $$tool"; \
	done

fmt:
	@out=$$(gofmt -l .) || exit 1; \
	[ -z "$$out" ] || { echo "fmt: gofmt would change:" $$out >&2; exit 1; }

# The long tests hide behind their tags; they are read all the same.
vet:
	$(GO) vet ./...
	$(GO) vet -tags $(TAGS) ./cmd

staticcheck: bin/tools/staticcheck
	bin/tools/staticcheck -tags $(TAGS) ./...

tidy:
	$(GO) mod tidy -diff
	$(GO) -C scripts/tools mod tidy -diff

cross:
	GOOS=darwin $(GO) build -o /dev/null ./...
	GOOS=windows $(GO) build -o /dev/null ./...

# Every file in scripts is a shell script; .ci/run is one too, for bash.
shell: bin/tools/shfmt
	@for f in scripts/* scripts/recipes/* scripts/tui/* .ci/run; do \
	  case $$f in *.service | *.plist) continue ;; esac; \
	  [ -f "$$f" ] || continue; \
	  case $$(head -n 1 "$$f") in \
	    '#!/bin/sh') sh -n "$$f" || exit 1 ;; \
	    '#!/usr/bin/env bash') bash -n "$$f" || exit 1 ;; \
	    *) echo "shell: $$f begins with neither #!/bin/sh nor #!/usr/bin/env bash" >&2; exit 1 ;; \
	  esac; \
	  bin/tools/shfmt $(SHFMT_STYLE) -d "$$f" || exit 1; \
	  if command -v shellcheck >/dev/null 2>&1; then shellcheck "$$f" || exit 1; fi; \
	done; \
	command -v shellcheck >/dev/null 2>&1 || { \
	  echo "shell: cannot run shellcheck: it is not here; install it: apt-get install shellcheck" >&2; \
	  [ -z "$$CI" ]; \
	}

man: programs
	scripts/check-man

test:
	$(GO) test $(TESTFLAGS) ./...

race:
	$(GO) test $(TESTFLAGS) -race ./lib/... ./cmd

# A pattern that matches nothing is a success to go test, not to us.
crash:
	@command -v strace >/dev/null 2>&1 || { \
	  echo "crash: no strace; install it: apt-get install strace" >&2; exit 1; }
	@$(GO) test -tags crash -list '^TestCrash' ./cmd | grep -q '^TestCrash' || { \
	  echo "crash: no test TestCrash... in cmd under the build tag crash" >&2; exit 1; }
	$(GO) test $(TESTFLAGS) -v -tags crash -run '^TestCrash' -skip '^TestCrashPower' -count 1 -timeout 25m ./cmd

# A hundred power cuts on a file system of our own, which takes root to mount.
power:
	@[ "$$(id -u)" = 0 ] && [ -e /dev/loop-control ] || { \
	  echo "power: cannot cut the power: it takes root and loop devices to mount a file system" >&2; \
	  exit 1; }
	$(GO) test $(TESTFLAGS) -v -tags crash -run '^TestCrashPower' -count 1 -timeout 15m ./cmd

# go test fuzzes one target of one package at a time. It sometimes ends with "context deadline exceeded" when
# its time is over, having found nothing: such a run is repeated, twice at most.
fuzz:
	@mkdir -p bin; list=$$($(GO) test -list '^Fuzz' ./lib/...) || { echo "$$list" >&2; exit 1; }; \
	list=$$(echo "$$list" | awk ' \
	  /^Fuzz/ { name[++n] = $$1 } \
	  /^ok/ { for (i = 1; i <= n; i++) print $$2, name[i]; n = 0 }'); \
	[ -n "$$list" ] || { echo "fuzz: no fuzz tests in lib" >&2; exit 1; }; \
	echo "$$list" | while read -r pkg name; do \
	  echo "fuzz: $$name in $$pkg for $(FUZZTIME)"; \
	  run() { \
	    $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg" \
	      </dev/null >bin/fuzz.log 2>&1; r=$$?; cat bin/fuzz.log; return $$r; }; \
	  for try in 1 2 3; do \
	    run && break; \
	    ! grep -q 'Failing input' bin/fuzz.log && grep -q 'deadline exceeded' bin/fuzz.log && [ $$try != 3 ] || exit 1; \
	  done; \
	done

bench: programs
	scripts/bench

# substrate itself goes last: whether or not it may be put there, everything else is.
install:
	@[ -x bin/substrate-post ] && [ -x bin/gum ] || { echo "install: not built yet: run make first" >&2; exit 1; }
	@grep -q '$(MARKER)' scripts/substrate || { \
	  echo "install: scripts/substrate has lost its marker line: $(MARKER)" >&2; exit 1; }
	mkdir -p $(bindir) $(libexecdir)
	for d in cmd/*/; do install -m 755 "bin/$$(basename "$$d")" $(bindir)/ || exit 1; done
	for f in scripts/substrate-*; do [ ! -f "$$f" ] || install -m 755 "$$f" $(bindir)/ || exit 1; done
	install -m 755 bin/gum $(libexecdir)/gum
	mkdir -p $(libexecdir)/recipes && cp -p scripts/recipes/* $(libexecdir)/recipes/
	mkdir -p $(libexecdir)/tui && install -m 644 scripts/tui/* $(libexecdir)/tui/
	for f in man/*.[1-9]; do \
	  [ -e "$$f" ] || continue; \
	  d=$(mandir)/man$${f##*.}; mkdir -p "$$d" && install -m 644 "$$f" "$$d/" || exit 1; \
	done
	@for other in "$(bindir)/substrate" "$$(command -v substrate)"; do \
	  [ -n "$$other" ] && [ -e "$$other" ] || continue; \
	  grep -q '$(MARKER)' "$$other" && continue; \
	  [ "$(FORCE)" != 1 ] || continue; \
	  echo "install: $$other is another program: substrate is not installed, all else is;" \
	    "to put ours at $(bindir)/substrate: make install FORCE=1" >&2; \
	  exit 0; \
	done; \
	echo install -m 755 scripts/substrate $(bindir)/substrate; \
	install -m 755 scripts/substrate $(bindir)/substrate

uninstall:
	for d in cmd/*/; do rm -f $(bindir)/"$$(basename "$$d")"; done
	for f in scripts/substrate-*; do rm -f $(bindir)/"$$(basename "$$f")"; done
	for f in man/*.[1-9]; do rm -f $(mandir)/man$${f##*.}/"$$(basename "$$f")"; done
	rm -f $(libexecdir)/gum
	for f in scripts/recipes/*; do rm -f $(libexecdir)/recipes/"$$(basename "$$f")"; done
	for f in scripts/tui/*; do rm -f $(libexecdir)/tui/"$$(basename "$$f")"; done
	rmdir $(libexecdir)/recipes $(libexecdir)/tui 2>/dev/null || true
	rmdir $(libexecdir) 2>/dev/null || true
	@if [ ! -e $(bindir)/substrate ]; then :; \
	elif grep -q '$(MARKER)' $(bindir)/substrate; then echo rm $(bindir)/substrate; rm $(bindir)/substrate; \
	else echo "uninstall: $(bindir)/substrate is another program: left there" >&2; fi

clean:
	rm -rf bin

# Installs what it needs outside the tree; see scripts/agents.
AGENTS = codex opencode
agents:
	GO="$(GO)" scripts/agents $(AGENTS)

# MCP peers that nobody here wrote, pinned in testdata/peers: the conformance suite and the inspector, on their own
# node. npm runs none of their install scripts. npm ci would refuse a lock that lacks a package for Windows, which
# not every registry has.
testdata/peers/node_modules/.package-lock.json: testdata/peers/package-lock.json
	@command -v npm >/dev/null 2>&1 || { \
	  echo "peers: no npm; install it: apt-get install npm" >&2; exit 1; }
	cd testdata/peers && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: peers mcpb
peers: testdata/peers/node_modules/.package-lock.json
	$(GO) test $(TESTFLAGS) -v -tags peers -run '^TestPeers' -count 1 -timeout 15m ./cmd

# A bundle of substrate-mcp for MCP clients that install such, and server.json for the registry.
mcpb:
	scripts/mcpb

.PHONY: tui elsewhere browser pictures
tui: build
	@command -v tmux >/dev/null 2>&1 || { echo "tui: no tmux; install it: apt-get install tmux" >&2; exit 1; }
	$(GO) test $(TESTFLAGS) -v -tags tui -run '^TestTUI' -count 1 -timeout 10m ./cmd

elsewhere:
	@[ "$$(id -u)" = 0 ] || { \
	  echo "elsewhere: cannot make two hosts: it takes root to make network namespaces" >&2; exit 1; }
	@for tool in ip nft curl; do command -v $$tool >/dev/null 2>&1 || { \
	  echo "elsewhere: no $$tool; install it: apt-get install iproute2 nftables curl" >&2; exit 1; }; done
	$(GO) test $(TESTFLAGS) -v -tags elsewhere -run '^TestElsewhere' -count 1 -timeout 10m ./cmd

testdata/peers/browser/node_modules/.package-lock.json: testdata/peers/browser/package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo "browser: no npm; install it: apt-get install npm" >&2; exit 1; }
	cd testdata/peers/browser && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

browser: testdata/peers/node_modules/.package-lock.json testdata/peers/browser/node_modules/.package-lock.json
	@command -v chromium >/dev/null 2>&1 || { \
	  echo "browser: no chromium; install it: apt-get install chromium" >&2; exit 1; }
	$(GO) test $(TESTFLAGS) -v -tags browser -run '^TestBrowser' -count 1 -timeout 10m ./cmd

pictures: build bin/tools/freeze
	scripts/pictures
