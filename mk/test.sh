#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test.sh GOTESTSUM runs what a change can break, and ends with a summary of what
# failed and of what was skipped and why. What runs is in lane.sh.
set -euo pipefail

if [ $# = 1 ]; then
	exec "$1" --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- "$0"
fi

# All builds here, also those that tests do, share what make build has compiled.
export GOFLAGS="-trimpath ${GOFLAGS:-}" CGO_ENABLED=0
unset ZCBENCH_TEST_LONG

ZCBENCH_TEST_PROGRAMS=$(mktemp -d -t zcbench-test-XXXXXX) # of tests that several lanes run: mk/linked.sh
export ZCBENCH_TEST_PROGRAMS
trap 'trap "" TERM INT HUP; rm -r "$ZCBENCH_TEST_PROGRAMS"' EXIT # timeout signals twice

status=0
go run ./mk/lanes mk/lane.sh quiet || status=1
read -ra kernels <<<"${LAB_KERNELS:-sid trixie-backports}"
mapfile -t nics < <(printf '+nics:%s\n' "${kernels[@]}")
go run ./mk/lanes mk/lane.sh host vet,pure,others "${kernels[@]}" +lab "${nics[@]}" || status=1
exit $status
