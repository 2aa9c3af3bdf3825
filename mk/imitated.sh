#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# imitated.sh NIC... runs, below zcbench lab up, the tests of what is set on a NIC with each
# driver that the soft NIC imitates. Its name stands behind the package.
set -euo pipefail

# fbnic has little that the others have not: in the short run less of it.
tests='^TestLabImitated'
if [ -n "${ZCBENCH_TEST_LONG-}" ]; then
	tests+='|^TestLabKill$'
	export ZCBENCH_LEASE_KILLS=20
fi
status=0
for nic; do
	packages=(./machine/nic ./machine/lease ./zc/zcrx ./zc/devmem ./bench/doctor)
	if [ "$nic${ZCBENCH_TEST_LONG-}" = fbnic ]; then packages=(./machine/lease ./zc/zcrx ./bench/doctor); fi
	go test -tags giouring -ldflags=-checklinkname=0 -vet=off -json -count=1 -timeout 80m -run "$tests" \
		-exec "$PWD/bin/zcbench lab exec --nic $nic --timeout 10m --" "${packages[@]}" |
		sed -u 's/"Package":"\([^"]*\)"/"Package":"\1 as '"$nic"'"/' || status=1
done
exit $status
