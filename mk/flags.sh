# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# flags.sh is read by what runs tests: the flags of go test, and what this machine has apart.
plain=(-vet=off)
engines=(-tags giouring -ldflags=-checklinkname=0 -vet=off) # both io_uring engines, as make build makes them

everything=(./... ./tools/...) # the packages of both modules: go.work

# module is the path of the one in this folder, which is where that of tools/ begins, too.
module() { GOWORK=off go list -m; }

# marked KIND prints what package internal/kind marks: tools/kinds. All lanes of a run share one
# answer.
marked() {
	if [ -n "${ZCBENCH_TEST_KINDS-}" ]; then
		cat "$ZCBENCH_TEST_KINDS/$1"
	else
		go run ./tools/kinds "$1"
	fi
}

# pattern KIND is a pattern of the names of the tests with a mark.
pattern() {
	local all
	all=$(marked "$1") || return 1
	echo "^($(cut -d' ' -f2 <<<"$all" | sort -u | paste -sd'|'))\$"
}

# These run in the lab, or are programs that a test there starts.
in_lab='^TestLab|^TestKilledReceiver$|^TestUpperInLab$|^TestNodesInLab$|^TestFlowLayoutsInLab$|^TestTwoPortsInLab$|^TestNetemInLab$|^TestVgemInLab$|^TestHandsOver$|^TestKilledMemory$|^TestPktgenInLab$|^TestThenWriteInLab$'
