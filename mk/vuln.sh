#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vuln.sh GOVULNCHECK looks for known vulnerabilities in what the programs link and
# call, with each set of build tags. It ends with
#
#   0  the database was asked, and knows of none
#   1  the check itself failed
#   2  NOT CHECKED: the database cannot be reached, so nothing is known
#   3  it knows of some
#
# GOVULNDB names another database, such as a mirror or file:///DIR with a copy of it.
set -uo pipefail
tool=$1
db=${GOVULNDB:-"of the Go project"}
worst=0

# check runs the tool once and judges how it ended.
check() {
	local said status
	said=$("$tool" ${GOVULNDB:+-db "$GOVULNDB"} "$@" 2>&1)
	status=$?
	case $status in
	0 | 3) printf '%s\n' "$said" ;;
	*)
		if printf '%s' "$said" | grep -qiE 'fetching vulnerabilities|vulnerability database|fetching db|(reading|parsing) index|no such host|connection refused|i/o timeout|proxyconnect'; then
			{
				echo "NOT CHECKED: the vulnerability database $db cannot be reached, so known vulnerabilities could not be checked"
				printf '%s\n' "$said" | sed 's/^/  /'
				echo "  fix: run it where the database can be reached, or set GOVULNDB=file:///DIR to a copy of it"
			} >&2
			status=2
		else
			printf 'FAILED: %s\n' "$said" >&2
			status=1
		fi
		;;
	esac
	return $status
}

for tags in '' giouring; do
	echo "== build tags: ${tags:-none}"
	check ${tags:+-tags "$tags"} ./... ./tools/...
	status=$?
	# What is not known counts for more than what is: the rest is not checked either.
	[ $status = 2 ] && exit 2
	[ $status -gt $worst ] && worst=$status
done
[ $worst = 0 ] && echo "no known vulnerability in called code, by the database $db"
exit $worst
