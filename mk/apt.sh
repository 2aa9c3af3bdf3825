#!/usr/bin/env bash
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
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# The tests start what they need themselves: no service of a package, such as
# sshd, may start now or at the next boot.
policy=/usr/sbin/policy-rc.d
if [ -e "$policy" ]; then policy=; else printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"; fi
trap 'rm -f "$log" ${policy:+"$policy"}' EXIT
if ! { apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
case " ${missing[*]} " in
*" openssh-server "*) systemctl disable ssh.service ssh.socket >/dev/null 2>&1 || true ;;
esac
