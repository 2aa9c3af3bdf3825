#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# apt.sh PACKAGE:WHAT... installs the Debian/Ubuntu packages whose WHAT (a command
# on the PATH or an absolute file) is missing. It does nothing when all is there.
set -euo pipefail

missing=()
for pair in "$@"; do
	package=${pair%%:*} what=${pair#*:}
	case $what in
	/*) [ -e "$what" ] || missing+=("$package") ;;
	*) command -v "$what" >/dev/null || missing+=("$package") ;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "missing: ${missing[*]}; install them (on Debian and Ubuntu, as root: apt-get install ${missing[*]})" >&2
	exit 1
fi
echo "installing ${missing[*]}"
exec "$(dirname "$0")/install.sh" "${missing[@]}"
