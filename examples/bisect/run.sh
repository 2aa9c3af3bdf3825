#!/bin/sh
# SPDX-License-Identifier: MIT
#
# One step of `git bisect run`: builds the kernel of the tree it is called in, boots it on the
# host to be tested, runs an experiment there, and compares with the results of a good kernel.
# Exit status, as git bisect reads it: 0 good, 1 bad, 125 cannot be tested. What is wrong with the
# call and with no kernel stops the bisect, with a message: 255, or for a signal 128 and its number.
#
#   BUILD    command that builds and installs the kernel          make -j16 && ...
#   BOOT     command that boots it, and returns when it is up     may wait, retry, ask a BMC
#   HOST     the host as ssh takes it, for a look whether it runs what was built
#   RUN      command that writes a results folder to $NEW; from   zcbench matrix x.yaml --out "$NEW" $RESUME
#            the second boot on $RESUME is --resume
#   GOOD     results folder of a good kernel
#   SLOWER   such as 3%; empty: only whether all that ran in GOOD runs
#   BOOTS    how often it is booted and measured (1)
#
# Called outside of the tree: git bisect run /path/to/run.sh. See docs/bisect.md of zcbench.

zcbench=${ZCBENCH:-zcbench}

# stop ends the bisect: a status from 128 on. 2 and 127, the shell's own, would be "bad".
stop() {
	echo "${0##*/}: $1; the bisect stops here, and goes on with another git bisect run" >&2
	exit "${2:-255}"
}

# step runs one of the commands, whose name and text it is given. One that is not there, or that
# was ended by the user's signal, stops the bisect.
step() {
	sh -c "$2"
	status=$?
	case $status in
	126 | 127) stop "$1: a command is not there or cannot be run (exit status $status)" ;;
	129 | 130 | 143) stop "$1 was ended by a signal" "$status" ;;
	esac
	return "$status"
}

[ -n "$BUILD" ] && [ -n "$BOOT" ] && [ -n "$RUN" ] && [ -n "$GOOD" ] || stop "want BUILD, BOOT, RUN and GOOD"
case ${BOOTS:=1} in *[!0-9]* | 0*) stop "BOOTS=$BOOTS: want a number, from 1" ;; esac
folder=$(mktemp -d) || stop "no temporary folder"
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 129' HUP # a shell that a signal kills does not come to its EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# compare prints the verdict of a folder.
compare() { "$zcbench" compare --ktap "$GOOD" "$1" ${SLOWER:+--fail-if-slower "$SLOWER"} --if-unsure 125; }

# A wrong word is found here, and not after an hour of building.
compare "$GOOD" >"$folder/itself"
case $? in
0 | 125) ;;
4) stop "GOOD=$GOOD has no run that counts" ;;
*) stop "$zcbench cannot compare GOOD=$GOOD with itself" ;;
esac

step BUILD "$BUILD" || exit 125
release=$(make -s kernelrelease) || stop "no kernel's tree: $PWD"
NEW=$folder/new RESUME=
export NEW RESUME
boot=1
while [ "$boot" -le "$BOOTS" ]; do
	step BOOT "$BOOT" || exit 125
	if [ -n "$HOST" ] && [ "$(ssh -n "$HOST" uname -r)" != "$release" ]; then
		echo "$HOST does not run what was built: $release" >&2
		exit 125
	fi
	step RUN "$RUN"
	case $? in
	0 | 1 | 4 | 124) ;; # runs may be invalid: they do not count; 124 is that of timeout
	2) stop "RUN: wrong usage or input (exit status 2)" ;;
	*) exit 125 ;;
	esac
	RESUME=--resume
	boot=$((boot + 1))
done
if ! [ -e "$NEW/journal.jsonl" ]; then
	echo "nothing was measured" >&2
	exit 125
fi

compare "$NEW" >"$folder/verdict"
status=$?
cat "$folder/verdict"
case $status in
0) exit 0 ;;
1) grep -q '^not ok ' "$folder/verdict" && exit 1 ;; # else it failed itself
4 | 125) exit 125 ;;
esac
stop "$zcbench compare ended with $status"
