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
limit=40m
ends=38m
if [ -n "${ZCBENCH_TEST_LONG-}" ]; then
	limit=70m
	ends=65m
	tests='^TestLabQEMU'
	packages+=(./machine/place ./machine/lease ./packet/xdp ./packet/datagram)
	[[ " ${ZCBENCH_LAB_KILLED-$1} " == *" $1 "* ]] || skip='^TestLab(QEMU)?Kill$'
fi
status=0
as() {
	mk/linked.sh "$PWD/bin/zcbench lab exec --nic $nic --timeout $limit --" run="$tests" skip="$skip" timeout=$ends -- "${packages[@]}" |
		sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 as '"${nic#qemu:}"'"/' || status=1
}
nic=$1
if [ "$nic" = gve-real ]; then # its queues take memory
	tests+='|^TestLab(Kill|Killed|WrongQueue|Taken|Reset|Flows|FlowsWrongQueue|FlowsKilled|SmallRings|Starved|Send)$'
	tests+='|^TestLabImitatedNAPITaken$'
	packages+=(./zc/zcrx ./zc/devmem)
fi
as
if [ "$nic" = gve-real ] && [ -n "${ZCBENCH_TEST_LONG-}" ]; then # the short form of what moves GiBs
	tests='^TestLab(ImitatedRecord|Probes|Memory|KilledMemory)$'
	packages=(./bench/doctor ./zc/zcrx ./zc/devmem)
	ZCBENCH_TEST_LONG='' as
fi
exit $status
