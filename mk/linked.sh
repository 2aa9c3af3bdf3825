#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# linked.sh EXEC [FLAG=VALUE]... -- PACKAGE... runs the tests of packages by "EXEC PROGRAM", as
# go test -json -count=1 -exec EXEC does, and prints what that prints. FLAG is one of go test's:
# "run=^TestLab". It links each package once for all who run it: in folder ZCBENCH_TEST_PROGRAMS,
# where that is set.
set -euo pipefail
. "$(dirname "$0")/flags.sh"

read -r -a by <<<"$1"
shift
flags=()
while [ "$1" != -- ]; do
	flags+=("-test.$1")
	shift
done
shift

if [ -z "${ZCBENCH_TEST_PROGRAMS-}" ]; then
	ZCBENCH_TEST_PROGRAMS=$(mktemp -d)
	trap 'rm -r "$ZCBENCH_TEST_PROGRAMS"' EXIT
fi
test2json=$(go tool -n test2json)
module=$(go list -m)

# link prints the test program of a package. Of several who want it one links it.
link() {
	local to=$ZCBENCH_TEST_PROGRAMS/${1#./}.test
	mkdir -p "${to%/*}"
	(
		flock 9
		[ -x "$to" ] || { CGO_ENABLED=0 go test "${engines[@]}" -c -o "$to.new" "$1" >&2 && mv "$to.new" "$to"; }
	) 9>"$to.lock" && echo "$to"
}

status=0
for package; do
	if ! program=$(link "$package"); then
		go test "${engines[@]}" -json -run '^$' "$package" || true # says what is wrong with it
		status=1
		continue
	fi
	(cd "$package" && "$test2json" -t -p "$module/${package#./}" "${by[@]}" "$program" \
		-test.v=test2json -test.paniconexit0 -test.count=1 "${flags[@]}") || status=1
done
exit $status
