# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# run.sh is read by what runs all tests: what all lanes share.

# All builds here, also those that tests do, share what make build has compiled.
export GOFLAGS="-trimpath ${GOFLAGS:-}" CGO_ENABLED=0

ZCBENCH_TEST_PROGRAMS=$(mktemp -d -t zcbench-test-XXXXXX) # of tests that several lanes run: mk/linked.sh
export ZCBENCH_TEST_PROGRAMS
trap 'trap "" TERM INT HUP; rm -r "$ZCBENCH_TEST_PROGRAMS"' EXIT # timeout signals twice

# What package internal/kind marks, for all lanes: mk/flags.sh.
export ZCBENCH_TEST_KINDS=$ZCBENCH_TEST_PROGRAMS/kinds
mkdir "$ZCBENCH_TEST_KINDS"
go build -o "$ZCBENCH_TEST_KINDS/kinds" ./tools/kinds
unset ZCBENCH_TEST_AGAIN
for kind in timed pure kernel; do "$ZCBENCH_TEST_KINDS/kinds" "$kind" >"$ZCBENCH_TEST_KINDS/$kind"; done

# lanes ARGUMENT... runs tools/lanes, which ends with this script.
lanes() {
	go build -o "$ZCBENCH_TEST_PROGRAMS/lanes" ./tools/lanes
	setpriv --pdeathsig TERM "$ZCBENCH_TEST_PROGRAMS/lanes" "$@"
}
