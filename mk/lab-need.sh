#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints why the lab cannot be had on this machine, on one line, or nothing.
# Arguments: the Debian packages it needs; as root on Debian or Ubuntu those
# that are missing are installed (progress goes to standard error).
[ "$(uname -s)/$(uname -m)" = Linux/x86_64 ] || { echo "needs x86-64 Linux, this is $(uname -s)/$(uname -m)"; exit; }
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
	{ echo "needs Debian or Ubuntu: dpkg and apt are not installed"; exit; }
# As lab/mirror.go has it: Debian's own archive, or, before the first apt-get update, what looks
# like it.
targets() { apt-get indextargets "$@" --format '$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)' 2>/dev/null; }
debian() {
	if [ -n "$(targets)" ]; then
		targets | grep -q '^Debian|Debian|Packages|'
	else
		targets --no-release-info | grep -q '^$(ORIGIN)|.*|Packages|.*/debian/*$'
	fi
}
[ -n "${ZCBENCH_DEBIAN_MIRROR:-}" ] || debian ||
	{ echo "needs a Debian mirror, and this system's package sources name none: set ZCBENCH_DEBIAN_MIRROR to the URL of one"; exit; }
missing=
for p in "$@"; do
	case $(dpkg-query -W -f='${Status}' "$p" 2>/dev/null) in
	*" installed") ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "packages are missing and this is not root: sudo apt-get install$missing"
	exit
fi
echo "installing$missing" >&2
"$(dirname "$0")/install.sh" $missing >&2 || echo "apt-get install$missing failed"
