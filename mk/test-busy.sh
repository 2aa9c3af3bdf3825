#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-busy.sh ROUNDS GOTESTSUM runs the packages whose tests depend on time so many times in a row,
# in random order, beside as many loops that only compute as there are CPUs. It ends with a
# summary like that of test.sh.
set -euo pipefail
. mk/flags.sh

# Those that sleep, wait or look at the clock. Tests of CPU accounting (lane quiet) need the CPUs
# for themselves.
timely=(./bench ./bench/agent ./bench/endpoint ./bench/host ./bench/modes ./baseline ./bpf ./cmd/internal/program
	./cmd/internal/progress ./cmd/versus ./cmd/zcbench ./cmd/zcrecv ./flow/sock ./flow/stream ./flow/uring ./internal/interrupt ./internal/rounds
	./machine/counter ./machine/hops ./machine/lease ./machine/place ./machine/tally ./machine/tune ./machine/veth ./mk/lanes
	./packet/datagram ./packet/xdp ./power ./results ./results/compare ./results/fleet ./zc/labtest ./zc/msgzc ./zc/tcpmmap ./zc/uringzc)
# These run one after another and beside no other: tests of probes turn on the kernel's count of
# what eBPF programs cost, which is on or off for all flows of a machine, and spoils the others'.
alone=' ./bench ./bench/endpoint ./bpf ./cmd/zcbench '

rounds=$1
[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || { echo "ROUNDS is $rounds: set it to a number from 1 to 9999" >&2; exit 2; }
if [ $# = 2 ]; then
	exec "$2" --format pkgname-and-test-fails --format-hide-empty-pkg --raw-command -- "$0" "$rounds"
fi

export GOFLAGS="-trimpath ${GOFLAGS:-}" CGO_ENABLED=0
unset ZCBENCH_TEST_LONG
read -r -a packages <<<"${PACKAGES:-${timely[*]}}"
by_twos=() by_one=()
for p in "${packages[@]}"; do
	if [[ $alone == *" $p "* || $p == *...* ]]; then # with dots it may be any of them
		by_one+=("$p")
	else
		by_twos+=("$p")
	fi
done

# The loops end with this script, however it ends. A time alone would leave the last rounds without
# them on a slow machine; it is there should all else fail.
loops=()
end() { [ ${#loops[@]} = 0 ] || kill "${loops[@]}" || true; }
trap end EXIT
for _ in $(seq "$(nproc)"); do
	setpriv --pdeathsig TERM timeout 48h sh -c 'while :; do :; done' &
	loops+=($!)
done

# busy N PACKAGE... tests so many packages at the same time.
busy() {
	local at_once=$1
	shift
	[ $# = 0 ] || go test "${engines[@]}" -json -p "$at_once" -shuffle on -timeout 6h -count "$rounds" -skip "$in_lab|$quiet" $(shuf -e "$@")
}

status=0
busy 2 "${by_twos[@]}" || status=1
busy 1 "${by_one[@]}" || status=1
for loop in "${loops[@]}"; do
	kill -0 "$loop" || { echo "FAILED: a busy loop ended before the tests did" >&2; status=1; }
done
exit $status
