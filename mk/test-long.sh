#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-long.sh runs all that test.sh runs, and what is too long for it: on
# this machine with the race detector, floods, kills, all combinations, hundreds of
# rounds; in the lab flows of 1 GiB, both io_uring engines over everything, 10 kills with each
# driver that is imitated and 20 with none, and 20 boots. Some of it is on one of the lab's kernels
# at a time, and on the other one the next day. It ends with a summary like test.sh's.
set -euo pipefail
. mk/run.sh

export ZCBENCH_TEST_LONG=1 ZCBENCH_LEASE_KILLS=${ZCBENCH_LEASE_KILLS:-10}
export ZCBENCH_TEST_HALF=${ZCBENCH_TEST_HALF:-$(($(date +%s) / 86400 % 2))} # lane.sh says of what
echo "of what runs on one of the lab's kernels, this is half $ZCBENCH_TEST_HALF (ZCBENCH_TEST_HALF, 0 or 1)" >&2
[ -z "${SEED-}" ] || export ZCBENCH_LEASE_SEED=$SEED # else each kernel and driver has moments of its own
read -ra kernels <<<"${LAB_KERNELS:-sid trixie-backports}"
mapfile -t nics < <(printf '+nics:%s\n' "${kernels[@]}")
mapfile -t timed < <(printf 'timed:%s\n' "${kernels[@]}")
lanes -name test-long mk/lane.sh host vet,pure,lab,fuzz "${kernels[@]}" "${nics[@]}" -- timed "${timed[@]}"
