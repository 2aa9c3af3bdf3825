#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# imitated.sh NIC... runs, below zcbench lab up, the tests of what is set on a NIC with each
# driver that the soft NIC imitates. Its name stands behind the package. ZCBENCH_LAB_KILLED names
# the drivers that also have what takes longest: kills in the middle of runs, and all runs that must
# put everything back. Where it is not set, that is all.
set -euo pipefail

# In the short run less of some: what zcrx and devmem have in common is tried with one.
tests='^TestLabImitated'
limit=40m
ends=38m
if [ -n "${ZCBENCH_TEST_LONG-}" ]; then
	limit=70m
	ends=65m
	tests+='|^TestLabChanges$|^TestLabFlows$|^TestLabGroup$'
	tests+='|^TestLabKilled$|^TestLabFlowsKilled$|^TestLabFlowsWrongQueue$'
fi
status=0
for nic; do
	all=$tests
	if [ -n "${ZCBENCH_TEST_LONG-}" ] && [[ " ${ZCBENCH_LAB_KILLED-$nic} " == *" $nic "* ]]; then
		all+='|^TestLabKill$|^TestLabRunRestores$'
	fi
	packages=(./lab/softnictest ./machine/nic ./machine/lease ./zc/zcrx ./zc/devmem ./bench/doctor)
	mk/linked.sh "$PWD/bin/zcbench lab exec --nic $nic --timeout $limit --" run="$all" timeout=$ends -- "${packages[@]}" |
		sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 as '"$nic"'"/' || status=1
done
exit $status
