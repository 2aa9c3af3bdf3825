#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# real.sh NIC runs, below zcbench lab up --nic NIC, the tests that want a real driver: of a NIC
# that QEMU has, or the lab. Its name stands behind the package. ZCBENCH_LAB_KILLED names those
# with kills in the middle of runs; where it is not set, that is all.
set -euo pipefail

# What takes longer is for the long run.
tests='^TestLabQEMU(Settings|Interrupts)$'
skip='^$'
packages=(./machine/nic)
limit=20m
if [ -n "${ZCBENCH_TEST_LONG-}" ]; then
	limit=70m
	tests='^TestLabQEMU'
	packages+=(./machine/place ./machine/lease ./packet/xdp ./packet/datagram)
	[[ " ${ZCBENCH_LAB_KILLED-$1} " == *" $1 "* ]] || skip='^TestLabQEMUKill$'
fi
if [ "$1" = gve-real ]; then # its queues take memory
	tests+='|^TestLab(Killed|WrongQueue|Taken|Reset|Flows|FlowsWrongQueue|FlowsKilled|SmallRings|Starved|Send)$'
	packages+=(./zc/zcrx ./zc/devmem)
fi
mk/linked.sh "$PWD/bin/zcbench lab exec --nic $1 --timeout $limit --" run="$tests" skip="$skip" timeout=80m -- "${packages[@]}" |
	sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 as '"${1#qemu:}"'"/'
