#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# record-nics.sh [NIC...] records the lab's NICs with zcbench doctor --record, on Linux 7.3 or
# later, and writes anew what doctor says of all recorded NICs. NIC is what zcbench lab exec
# --nic takes; soft: the soft NIC as it is. Without any, all. Needs make build.
set -euo pipefail

[ $# -gt 0 ] || set -- soft mlx5 bnxt fbnic gve virtio-like idpf ice gve-old bnxt-old qemu:e1000e qemu:virtio
records=bench/doctor/testdata/records
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for nic; do
	name=softnic-$nic as=(--nic "$nic")
	case $nic in
	soft) name=softnic as=() ;;
	qemu:*) name=${nic/:/-} ;;
	esac
	bin/zcbench lab exec --kernel trixie-backports "${as[@]}" --out "$out/$name" -- \
		zcbench doctor --host netns:sut --dev sn0 --record "/out/$name.json"
	install -m 644 "$out/$name/$name.json" "$records/"
done
go test -vet=off ./cmd/zcbench -run TestGoldenReplay -update
