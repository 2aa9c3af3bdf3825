#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# test-busy.sh ROUNDS runs test.sh so many times beside as many loops that only compute as there are
# CPUs. With PACKAGES it runs theirs alone, in random order, so many times in one process each,
# without timed tests, which such loops leave undecided. It ends with a summary like that of
# test.sh.
set -euo pipefail
if [ "${1-}" = busy ]; then # the lane
	. mk/flags.sh
	# shellcheck disable=SC2086,SC2046
	exec go test "${engines[@]}" -json -p 2 -shuffle on -timeout 6h -count "$ROUNDS" -skip "$in_lab|$(pattern timed)" $(shuf -e $PACKAGES)
fi

export ROUNDS=$1
[[ $ROUNDS =~ ^[1-9][0-9]{0,3}$ ]] || { echo "ROUNDS is $ROUNDS: set it to a number from 1 to 9999" >&2; exit 2; }
. mk/run.sh
unset ZCBENCH_TEST_LONG

# The loops end with this script, however it ends. A time alone would leave the last rounds without
# them on a slow machine; it is there should all else fail.
loops=()
end() {
	trap '' TERM INT HUP # timeout signals twice
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" || true
	rm -r "$ZCBENCH_TEST_PROGRAMS"
}
trap end EXIT
trap 'exit 130' INT # not on to the next round
for _ in $(seq "$(nproc)"); do
	setpriv --pdeathsig TERM timeout 48h sh -c 'while :; do :; done' &
	loops+=($!)
done

status=0
if [ -n "${PACKAGES-}" ]; then
	export PACKAGES
	lanes "$0" busy || status=1
else
	for round in $(seq "$ROUNDS"); do
		echo "round $round of $ROUNDS" >&2
		ZCBENCH_TEST_JSON=${ZCBENCH_TEST_JSON:+$ZCBENCH_TEST_JSON-$round} mk/test.sh || status=1
	done
fi
for loop in "${loops[@]}"; do
	kill -0 "$loop" || { echo "FAILED: a busy loop ended before the tests did" >&2; status=1; }
done
exit $status
