#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-long.sh GOTESTSUM runs all that test.sh runs, and what is too long for it: on
# this machine with the race detector, floods, kills, all combinations, hundreds of
# rounds; in the lab flows of 1 GiB, both io_uring engines over everything, 10 kills with each
# driver that is imitated and 20 with none, and 20 boots. Some of it is on one of the lab's kernels
# at a time, and on the other one the next day. It ends with a summary like test.sh's.
set -euo pipefail

if [ $# = 1 ]; then
	exec "$1" --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- "$0"
fi

# All builds here, also those that tests do, share what make build has compiled.
export GOFLAGS="-trimpath ${GOFLAGS:-}" CGO_ENABLED=0
ZCBENCH_TEST_PROGRAMS=$(mktemp -d -t zcbench-test-XXXXXX) # of tests that several lanes run: mk/linked.sh
export ZCBENCH_TEST_PROGRAMS
trap 'trap "" TERM INT HUP; rm -r "$ZCBENCH_TEST_PROGRAMS"' EXIT # timeout signals twice

status=0
# Lane others comes before host: tests there look for minutes at all mounts of the machine.
export ZCBENCH_TEST_LONG=1 ZCBENCH_LEASE_KILLS=${ZCBENCH_LEASE_KILLS:-10}
export ZCBENCH_TEST_HALF=${ZCBENCH_TEST_HALF:-$(($(date +%s) / 86400 % 2))} # lane.sh says of what
echo "of what runs on one of the lab's kernels, this is half $ZCBENCH_TEST_HALF (ZCBENCH_TEST_HALF, 0 or 1)" >&2
[ -z "${SEED-}" ] || export ZCBENCH_LEASE_SEED=$SEED # else each kernel and driver has moments of its own
go run ./mk/lanes mk/lane.sh quiet || status=1
read -ra kernels <<<"${LAB_KERNELS:-sid trixie-backports}"
mapfile -t nics < <(printf '+nics:%s\n' "${kernels[@]}")
go run ./mk/lanes mk/lane.sh others,host vet,pure,lab "${kernels[@]}" "${nics[@]}" || status=1
exit $status
