#!/usr/bin/env bash
# test-long.sh GOTESTSUM runs the tests that take minutes, which make test leaves
# out or makes short, and ends with a summary like that of test.sh.
#
#   1. on this machine
#   2. in the lab, on every kernel it has: kills, and all combinations of the data
#      paths' tests
#
# docs/hardening.md says what holds because of which test.
set -euo pipefail

if [ $# = 1 ]; then
	exec "$1" --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- "$0"
fi

status=0
here=$PWD
lab_kernels=${LAB_KERNELS:-sid trixie-backports}
export ZCBENCH_TEST_LONG=1

# Tests that look at that variable, by package.
long=(
	'./bench TestDeriveCorruptions'
	'./cmd/zcbench TestIntegrationRestoresAtOnce|TestIntegrationKills|TestIntegrationTwoHundredRuns'
	'./counter TestCPUTruth'
	'./endpoint TestFloodBesideARun|TestAllModesMovePayload|TestModesLeaveNothingBehind'
	'./host TestScriptsRefuseStrangers|TestIntegrationSSHShells|TestIntegrationSSHLinkLost|TestStoppedController'
	'./power TestHostile.*'
	'./stream TestSlowStrangerIsClosed'
	'./results TestJournalCutAnywhere|TestResumeCutAnywhere|TestJournalCorruptions'
)
for l in "${long[@]}"; do
	read -r package tests <<<"$l"
	go test -tags giouring -ldflags=-checklinkname=0 -json -count=1 -timeout 30m -run "^($tests)\$" "$package" || status=1
done

export CGO_ENABLED=0 ZCBENCH_LAB_TEST=1
if why=$(sh mk/lab-need.sh $LAB_PACKAGES 2>/dev/null) && [ -n "$why" ]; then
	echo "SKIPPED: the tests that run in the lab: $why" >&2
	exit $status
fi
for kernel in $lab_kernels; do
	lab=(go test -tags giouring -ldflags=-checklinkname=0 -json -count=1 -p 1 -timeout 60m
		-exec "$here/bin/zcbench lab exec --kernel $kernel --timeout 60m --env ZCBENCH_TEST_LONG=1 --env ZCBENCH_LEASE_KILLS=20 --env ZCBENCH_LEASE_SEED=${SEED:-1} --")
	"${lab[@]}" -run '^TestLabKill$' ./lease || status=1
	"${lab[@]}" -run '^TestLab' ./zc/zcrx ./zc/devmem || status=1
done
exit $status
