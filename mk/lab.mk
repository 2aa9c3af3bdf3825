# SPDX-License-Identifier: MIT
# The lab: a VM with the soft NIC. Included by the main Makefile.
#
#   make lab            fetch kernels and toolchain into the user's cache, build the soft NIC
#   make lab-demo       all from a fresh clone: packages, build, the default kernel, then zcbench lab demo
#   make test-lab       run the soft NIC's tests in the VM, on every kernel the lab knows
#   make lab-selftests  build the kernel's own selftests, programs and Python, and run them on the soft NIC, on every kernel
#   make lease-kills    kill -9 at 50 random moments of runs in the lab, on every kernel: everything must be restored
#   make lab-boots      boot N times in a row (N=20): none may hang or complain
#
# Where the lab cannot be had, each says why and what to do, and skips: a
# machine without it can still build and test everything else.

LAB_KERNELS ?= sid trixie-backports
LAB_PACKAGES = qemu-system-x86 apt dpkg util-linux debian-archive-keyring
LAB_TIMEOUT ?= 5m
# See mk/lane.sh.
LAB_OWN_BOOT = ^TestNamespacesAndModuleComeAndGo$$
N ?= 20

# lab_why prints why the lab cannot be had here, or nothing. It installs what is
# missing where it may: as root on Debian or Ubuntu.
define lab_why
$$(sh mk/lab-need.sh $(LAB_PACKAGES))
endef

export LAB_KERNELS LAB_PACKAGES

.PHONY: lab lab-demo test-lab lab-selftests lab-boots lease-kills

lab: build ## fetch and build what the lab (VM with the soft NIC) needs
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make lab: $$why"; exit 0; fi; \
	bin/zcbench lab build --kernel all

# Who asks for the demo wants to see it: without the lab this fails.
LAB_DEMO_OUT ?= out/lab-demo
lab-demo: build ## show zero-copy receive in the lab, with proof, from a fresh clone (DEMO='--all': every TCP mode), results in out/lab-demo
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "make lab-demo: $$why" >&2; exit 1; fi
	@$(call aside,$(LAB_DEMO_OUT))
	bin/zcbench lab build >/dev/null
	bin/zcbench lab demo --out '$(LAB_DEMO_OUT)' $(DEMO)

test-lab: lab ## run the soft NIC's tests in the VM
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make test-lab: $$why"; exit 0; fi; \
	CGO_ENABLED=0 ZCBENCH_LAB_TEST=1 go test -count=1 -run TestIntegration ./lab || exit 1; \
	for k in $(LAB_KERNELS); do \
		echo "== lab tests on $$k"; \
		CGO_ENABLED=0 go test -count=1 -skip '$(LAB_OWN_BOOT)' -exec "$(CURDIR)/bin/zcbench lab exec --kernel $$k --timeout $(LAB_TIMEOUT) --" ./lab/softnictest || exit 1; \
		CGO_ENABLED=0 go test -count=1 -run '$(LAB_OWN_BOOT)' -exec "$(CURDIR)/bin/zcbench lab exec --kernel $$k --timeout $(LAB_TIMEOUT) --" ./lab/softnictest || exit 1; \
	done

lab-selftests: lab ## run the kernel's driver selftests on the soft NIC, on every kernel, results in out/selftests
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make lab-selftests: $$why"; exit 0; fi; \
	dir=$$(bin/zcbench lab selftests --build) || exit 1; \
	CGO_ENABLED=0 go test -count=1 -v -run TestSelftest -exec "$(CURDIR)/bin/zcbench lab exec --file $$dir/iou-zcrx --file $$dir/ncdevmem --env ZCBENCH_LAB_SELFTESTS=$$dir --timeout $(LAB_TIMEOUT) --" ./lab/softnictest || exit 1; \
	for k in $(LAB_KERNELS); do \
		echo "== the kernel's Python tests on $$k"; \
		bin/zcbench lab selftests --kernel $$k --out out/selftests/$$k || bad=1; \
	done; exit $${bad:-0}

lease-kills: lab ## kill -9 runs in the lab, on every kernel, at 50 random moments (SEED=1): every setting must be restored
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make lease-kills: $$why"; exit 0; fi; \
	for k in $(LAB_KERNELS); do \
		echo "== $$k"; \
		CGO_ENABLED=0 ZCBENCH_LEASE_KILLS=50 ZCBENCH_LEASE_SEED=$(or $(SEED),1) go test -v -count=1 -timeout 60m -run 'TestLabKill' \
			-exec "$(CURDIR)/bin/zcbench lab exec --kernel $$k --timeout 60m --" ./machine/lease || exit 1; \
	done

lab-boots: lab ## boot the lab N=20 times in a row
	@why="$(lab_why)"; if [ -n "$$why" ]; then echo "SKIPPED: make lab-boots: $$why"; exit 0; fi; \
	i=0; while [ $$i -lt $(N) ]; do i=$$((i+1)); s=$$(date +%s); \
		bin/zcbench lab exec --own-boot --timeout 60s -- zcbench --help >/dev/null || { echo "boot $$i failed"; exit 1; }; \
		echo "boot $$i: $$(($$(date +%s)-s)) s"; done
