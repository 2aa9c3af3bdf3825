#!/bin/sh
# SPDX-License-Identifier: MIT
#
# One step of `git bisect run`: builds the kernel of the tree it is called in, boots it on the
# host to be tested, runs an experiment there, and compares with the results of a good kernel.
# Exit status, as git bisect reads it: 0 good, 1 bad, 125 cannot be tested, 255 stops the bisect.
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
: "${BUILD:?}" "${BOOT:?}" "${RUN:?}" "${GOOD:?}"
folder=$(mktemp -d) || exit 255
trap 'rm -rf -- "$folder"' EXIT

sh -c "$BUILD" || exit 125
NEW=$folder/new RESUME=
export NEW RESUME
boot=1
while [ "$boot" -le "${BOOTS:-1}" ]; do
	sh -c "$BOOT" || exit 125
	if [ -n "$HOST" ] && [ "$(ssh -n "$HOST" uname -r)" != "$(make -s kernelrelease)" ]; then
		echo "$HOST does not run what was built" >&2
		exit 125
	fi
	sh -c "$RUN"
	case $? in
	0 | 1 | 4 | 124) ;; # runs may be invalid: they do not count; 124 is that of timeout
	*) exit 125 ;;
	esac
	RESUME=--resume
	boot=$((boot + 1))
done

"$zcbench" compare --ktap "$GOOD" "$NEW" ${SLOWER:+--fail-if-slower "$SLOWER"} --if-unsure 125
case $? in
0) exit 0 ;;
1) exit 1 ;;
4 | 125) exit 125 ;;
*) exit 255 ;; # the call is wrong, and no kernel is to blame
esac
