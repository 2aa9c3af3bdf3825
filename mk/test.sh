#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test.sh runs the tests that find what a change broke, and ends with what failed, what was
# skipped and why, and one line of counts. What runs is in lane.sh.
set -euo pipefail
. mk/run.sh
unset ZCBENCH_TEST_LONG

read -ra kernels <<<"${LAB_KERNELS:-sid trixie-backports}"
mapfile -t nics < <(printf '+nics:%s\n' "${kernels[@]}")
lanes -name test mk/lane.sh host vet,pure "${kernels[@]}" +lab "${nics[@]}" -- timed "timed:${kernels[-1]}"
