# SPDX-License-Identifier: MIT
# zcbench: `make demo` measures, `make test` tests, `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
OUT     ?= out/demo
CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zcbench
TOOLS   := $(CACHE)/tools
VERSION := $(shell mk/version.sh 2>/dev/null || echo devel)
LDFLAGS := -s -w -X github.com/zcbench/zcbench/internal/version.tool=$(VERSION)

# The engine giouring reaches into package syscall, which the linker of Go 1.23
# and later allows only so. A plain go build is without it.
ENGINES := -tags giouring
LDFLAGS += -checklinkname=0
BUILD   := $(ENGINES) -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# golangci-lint and the like: mk/tools/go.mod has their versions, go.sum beside it their checksums.
# They are installed, not run by go tool, so that there is one folder whose owner is checked.
version     = $(shell awk '$$1 == "$1" && NF > 1 { print $$2 }' mk/tools/go.mod)
GOLANGCI    := $(TOOLS)/golangci-lint-$(call version,github.com/golangci/golangci-lint/v2)
GOVULNCHECK := $(TOOLS)/govulncheck-$(call version,golang.org/x/vuln)

PROGRAMS := zcbench zcrecv zcsend zcnvml zcgpu

# The packages of both modules: go.work.
ALL := ./... ./tools/...

# aside DIR keeps results that are there already: they are the user's.
aside = if [ -e '$1' ]; then old="$1-$$(date -r '$1' +%Y%m%d-%H%M%S)"; mv -T '$1' "$$old"; echo "earlier results moved to $$old"; fi

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/zcbench, bin/zcrecv and bin/zcsend (static, both io_uring engines), and bin/zcnvml and bin/zcgpu, which load vendors' libraries
	CGO_ENABLED=0 $(GO) build $(BUILD) -o bin/ $(PROGRAMS:%=./cmd/%)

.PHONY: demo
demo: build ## find out which way of receiving TCP to use, between two namespaces (root; 100 seconds), results in out/demo
	@$(call aside,$(OUT))
	bin/zcbench demo --out '$(OUT)'

.PHONY: man
man: build ## write the manual pages to out/man
	mkdir -p out/man
	bin/zcbench man out/man
	for p in zcrecv zcsend; do bin/$$p --man >out/man/$$p.1; done

# lab-looked says in the environment of a command why the lab cannot be had, and builds it where it
# can: the tests say what failed.
lab-looked = why=$$(sh mk/lab-need.sh $(LAB_PACKAGES)); [ -n "$$why" ] || bin/zcbench lab build --kernel all >/dev/null || true; \
	ZCBENCH_LAB_LOOKED=1 ZCBENCH_LAB_WHY="$$why"

.PHONY: test
test: deps-test build ## run the tests that every change needs (root; 9 minutes, 14 at first); ends with what failed, and what was skipped and why
	@$(lab-looked) mk/test.sh

.PHONY: test-long
test-long: deps-test deps-long build $(NFPM) $(GOLANGCI) ## run all tests, the long ones too, with the race detector (root; one to two hours): docs/testing.md
	@mk/trusted.sh '$(TOOLS)'
	@$(lab-looked) ZCBENCH_TEST_LINT='$(GOLANGCI)' mk/test-long.sh

.PHONY: test-busy
test-busy: deps-test build ## run the tests of make test ROUNDS (3) times beside busy loops (root; an hour), or those of PACKAGES alone
	@$(lab-looked) mk/test-busy.sh '$(or $(ROUNDS),3)'

.PHONY: bench-probes
bench-probes: build ## measure what probes cost a flow, by interleaved runs and by ns x events / CPU time; fails beyond their budgets (root; four minutes)
	@$(call aside,out/probe-cost)
	bin/zcbench matrix experiments/probe-cost.yaml --out out/probe-cost || [ $$? = 1 ] # invalid runs are left out
	mk/probe-overhead.sh out/probe-cost/overhead.json
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench '^BenchmarkCost$$' ./bpf
	$(GO) run ./tools/probed --overhead out/probe-cost/overhead.json --budget latency=2,syscalls=1,drops=1,tcp=0.5,profile=1 out/probe-cost

.PHONY: bench-report
bench-report: ## check that reports of 10,000 runs take at most 2 s of CPU time, best of 5 (a minute; 1 GB below /tmp)
	mk/bench-report.sh

.PHONY: bench-fleet
bench-fleet: ## hold zcbench fleet of 1,000 folders of 36 runs to 10 s on two CPUs and 1 GB (some minutes; 2 GB below /dev/shm)
	mk/bench-fleet.sh

.PHONY: bench
bench: deps-bench build ## compare speed and CPU with iperf3 over the same veth pair, interleaved (root; some minutes)
	$(GO) run ./tools/versus

.PHONY: lint
lint: $(GOLANGCI) ## gofmt, go vet, golangci-lint with the import rule (first build: 5 minutes)
	@mk/trusted.sh '$(TOOLS)'
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet $(ALL)
	$(GO) vet $(ENGINES) $(ALL)
	GOARCH=arm64 $(GO) vet $(ENGINES) $(ALL)
	'$(GOLANGCI)' run $(ALL)
	'$(GOLANGCI)' run --build-tags giouring $(ALL)

.PHONY: vuln
vuln: $(GOVULNCHECK) ## check linked and called code for known vulnerabilities; fails if the database cannot be reached
	@mk/trusted.sh '$(TOOLS)'
	mk/vuln.sh '$(GOVULNCHECK)'

.PHONY: gallery
gallery: ## draw docs/hardware.md of the runs in results/hardware and the figures in results/reference
	$(GO) test ./results/gallery -run '^TestPage$$' -update

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s) each
	mk/fuzz.sh '$(or $(FUZZTIME),10s)'

.PHONY: clean
clean: ## remove what was built; results in out/ stay
	rm -f $(PROGRAMS:%=bin/%) $(foreach a,amd64 arm64,bin/agents/linux-$a/zcbench bin/agents/linux-$a/zcnvml bin/agents/linux-$a/zcgpu) bin/agents/SHA256SUMS
	for d in bin/agents/linux-amd64 bin/agents/linux-arm64 bin/agents bin; do [ ! -d $$d ] || rmdir --ignore-fail-on-non-empty $$d; done

include mk/lab.mk
include mk/field.mk
include mk/package.mk

# Tools and packages: installed once, then everything works offline.

$(GOLANGCI):    PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(GOVULNCHECK): PACKAGE := golang.org/x/vuln/cmd/govulncheck
$(GOLANGCI) $(GOVULNCHECK) $(NFPM):
	@mk/trusted.sh '$(TOOLS)'
	umask 022; mkdir -p '$(TOOLS)'; GOBIN='$(TOOLS)' GOWORK=off $(GO) -C mk/tools install $(PACKAGE)
	@mv '$(TOOLS)/$(notdir $(PACKAGE))' '$@'

.PHONY: deps-test deps-long deps-bench
deps-test:
	@mk/apt.sh gcc:gcc libc6-dev:/usr/include/stdlib.h openssh-server:/usr/sbin/sshd openssh-client:ssh iproute2:ip iputils-ping:ping gnuplot-nox:gnuplot snmpd:/usr/sbin/snmpd busybox-static:busybox mksh:mksh
	@mk/apt.sh clang-14:clang-14 llvm-14:llvm-strip-14 || echo "no clang-14 here: the test that generates the eBPF objects anew will be skipped"
	@mk/apt.sh fish:fish tcsh:tcsh || echo "no fish or tcsh here: those that log in with them are not tested"
deps-long:
	@mk/apt.sh zsh:zsh ksh93u+m:ksh || echo "no zsh or ksh here: those that log in with them are not tested"
	@mk/apt.sh linux-perf:perf || echo "no perf here: the test that holds profiles against it will be skipped"
	@mk/apt.sh lintian:lintian rpm:rpm mmdebstrap:mmdebstrap qemu-user-static:qemu-aarch64-static || echo "the tests of packages that need one of these will be skipped"
	@mk/apt.sh chromium:chromium || echo "no Chromium here: the tests that look at reports in a browser will be skipped"
	@mk/apt.sh munge:munged slurmctld:slurmctld slurmd:slurmd slurm-client:srun || echo "no Slurm here: its tests will be skipped"
	@mk/apt.sh podman:podman runc:runc || echo "no podman here: its test will be skipped"
deps-bench:
	@mk/apt.sh iperf3:iperf3
