#!/usr/bin/env bash
# test.sh GOTESTSUM runs every test this machine can run and ends with a summary
# of what failed and what was skipped and why.
#
# All but the first are tests of programs with both io_uring engines, as make build
# builds them; what is about a ring runs with each.
#
#   0. a plain build: the tests of what is in it
#   1. all packages on this machine, with the race detector
#   2. the soft NIC's and the data paths' tests in the lab, on every kernel it has
#
# Packages run one after another: several of them load both ends of a flow, and
# measure.
set -euo pipefail

if [ $# = 1 ]; then
	exec "$1" --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- "$0"
fi

status=0
here=$PWD
lab_kernels=${LAB_KERNELS:-sid trixie-backports}
lab_packages="./lab/softnictest ./bpf ./uring ./nic ./dmabuf ./lease ./zc/zcrx ./zc/devmem ./zc/tcpmmap"

# These run in the lab, below, or are programs that a test there starts.
in_lab='^TestLab|^TestKilledReceiver$'

# These do not: the kernel's selftests have a target of their own, the guest has
# the soft NIC and neither veth nor flock(1), and one test wants namespaces whose last reference is
# its own. Linux 7.3.4 now and then keeps one of a namespace that many tests
# have used, with every socket in it destroyed and the soft NIC at rest.
not_in_lab='^TestSelftest|^TestKilledReceiver$|^TestIntegrationVeth|^TestGenerated$|^TestIntegrationCost$|^TestLockHeldByStranger$'
own_boot='^TestNamespacesAndModuleComeAndGo$'

# These are of journals and lock files, and ask nothing of the kernel that this one
# does not answer: emulated they take longer than all else of their package.
host_only='^TestJournal|^TestCreateBesideFinish$|^TestLockBesideSweep$'

# What a program with both engines is built with.
engines=(-tags giouring -ldflags=-checklinkname=0)

# 0. A plain build has the native engine alone.
go vet ./... >&2 || status=1
CGO_ENABLED=0 go test -json -count=1 -run '^TestEngines$|^TestScript$/^engines$' ./uring ./cmd/zcbench || status=1

# 1. This machine. Building first lets -p 1 order only the running.
mapfile -t packages < <(go list ./... | grep -v '/lab$\|/lab/softnictest$')
export CGO_ENABLED=1
go vet "${engines[@]:0:2}" ./... >&2 || status=1
go test "${engines[@]}" -race -run '^$' "${packages[@]}" >/dev/null || status=1
go test "${engines[@]}" -json -race -count=1 -p 1 -timeout 20m -skip "$in_lab" "${packages[@]}" || status=1

# 2. The lab: its own tests, then those that run in it. Both need static
# binaries. The kernel's own selftest programs have a target of their own
# (make lab-selftests): building them takes hundreds of megabytes.
export CGO_ENABLED=0 ZCBENCH_LAB_TEST=1
ZCBENCH_LAB_WHY=$(sh mk/lab-need.sh $LAB_PACKAGES 2>/dev/null)
export ZCBENCH_LAB_WHY
go test -json -count=1 -timeout 15m ./lab || status=1
go test -json -count=1 -timeout 10m -run '^TestLab' ./cmd/zcbench || status=1 # a BMC: needs a machine of its own
if [ -n "$ZCBENCH_LAB_WHY" ]; then
	echo "SKIPPED: the tests that run in the lab: $ZCBENCH_LAB_WHY" >&2
	exit $status
fi
for kernel in $lab_kernels; do
	if ! said=$("$here/bin/zcbench" lab build --kernel "$kernel" 2>&1); then
		echo "FAILED: the lab could not be built for $kernel: $said" >&2
		status=1
		continue
	fi
	lab=(go test "${engines[@]}" -json -count=1 -p 1 -timeout 15m -exec "$here/bin/zcbench lab exec --kernel $kernel --timeout 10m --")
	"${lab[@]}" -skip "$not_in_lab|$host_only|$own_boot" $lab_packages || status=1
	"${lab[@]}" -run "$own_boot" ./lab/softnictest || status=1
done
exit $status
