#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# imitated.sh NIC... runs, below zcbench lab up, the tests of what is set on a NIC with each
# driver that the soft NIC imitates. Its name stands behind the package.
set -euo pipefail

# In the short run less of some: what zcrx and devmem have in common is tried with one.
tests='^TestLabImitated'
if [ -n "${ZCBENCH_TEST_LONG-}" ]; then
	tests+='|^TestLabKill$|^TestLabRunRestores$|^TestLabChanges$|^TestLabFlows$|^TestLabGroup$'
	tests+='|^TestLabKilled$|^TestLabFlowsKilled$|^TestLabFlowsWrongQueue$'
fi
status=0
for nic; do
	packages=(./machine/nic ./machine/lease ./zc/zcrx ./zc/devmem ./bench/doctor)
	case $nic${ZCBENCH_TEST_LONG-} in
	gve) packages=(./machine/lease ./zc/zcrx) ;;
	esac
	go test -tags giouring -ldflags='-checklinkname=0 -w' -vet=off -json -count=1 -timeout 80m -run "$tests" \
		-exec "$PWD/bin/zcbench lab exec --nic $nic --timeout 10m --" "${packages[@]}" |
		sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 as '"$nic"'"/' || status=1
done
exit $status
