#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# linked.sh EXEC [FLAG=VALUE]... -- PACKAGE... runs the tests of packages by "EXEC PROGRAM", as
# go test -json -count=1 -exec EXEC does, and prints what that prints. FLAG is one of go test's:
# "run=^TestLab". Each package is linked once for all who run it: the programs are in the folder
# ZCBENCH_TEST_PROGRAMS, which one run of the tests makes and removes, for they are not made anew
# when the code changes; where it is not set, in one of this call alone.
set -euo pipefail
trap 'exit 130' INT
. "$(dirname "$0")/flags.sh"

read -r -a by <<<"$1"
shift
flags=()
while [ "$1" != -- ]; do
	flags+=("-test.$1")
	shift
done
shift
[ $# -gt 0 ] || { echo "linked.sh: no package is given" >&2; exit 2; }

if [ -z "${ZCBENCH_TEST_PROGRAMS-}" ]; then
	ZCBENCH_TEST_PROGRAMS=$(mktemp -d -t zcbench-test-XXXXXX)
	trap 'trap "" TERM INT HUP; rm -r "$ZCBENCH_TEST_PROGRAMS"' EXIT # timeout signals twice
fi
module=$(module)

# made NAME COMMAND... has a command make the file NAME, unless it is there, and prints its path.
# Of several who want it one makes it.
made() {
	local to=$ZCBENCH_TEST_PROGRAMS/$1
	shift
	(
		flock 9
		[ -x "$to" ] || { CGO_ENABLED=0 "$@" -o "$to.new" >&2 && mv "$to.new" "$to"; }
	) 9>"$to.lock" && echo "$to"
}

# A link without what is for debuggers takes two thirds of the time, and is what go test does when
# it runs a program itself.
link() {
	local name=${1#./}
	made "${name//\//_}.test" go -C "$1" test -tags giouring '-ldflags=-checklinkname=0 -s -w' -vet=off -c
}

test2json=$(made test2json go -C "$(go env GOROOT)/src/cmd/test2json" build)

# go test ends a program that does not end by itself, soon after its time is up; test2json waits
# for ever. It ignores Ctrl-C, too, and what it starts would inherit that.
limit=(timeout --foreground -k 1m 90m env --default-signal=INT,QUIT)

# Of a program that ends in the middle of a test, or complains after the last, test2json needs
# go test's word that the package failed; 026 is its mark of such a line.
# shellcheck disable=SC2016
judged=(bash -c '"$@" && exit; s=$?; printf "exit status %d\n\026FAIL\t%s\n" $s "$0"; exit $s')

# unlinked PACKAGE says what is wrong with one that could not be linked. Where go test can build it
# all the same, that is not the package: a full disk, a folder of programs that is gone.
unlinked() {
	local said
	if said=$(go test "${engines[@]}" -json -run '^$' "$1"); then
		said=$(printf 'the test program could not be put into %s\n\026FAIL\t%s\n' "$ZCBENCH_TEST_PROGRAMS" "$name" | "$test2json" -p "$name")
	fi
	printf '%s\n' "$said"
}

status=0
for package; do
	name=$module/${package#./}
	if ! program=$(link "$package"); then
		unlinked "$package"
		status=1
		continue
	fi
	(cd "$package" && "$test2json" -t -p "$name" "${judged[@]}" "$name" "${limit[@]}" "${by[@]}" "$program" \
		-test.v=test2json -test.paniconexit0 -test.count=1 "${flags[@]}") || status=1
done
exit $status
