#!/bin/sh
# SPDX-License-Identifier: MIT
# trusted.sh PATH... fails, and says why, where another user could have put there what
# is at PATH, or below it: then nothing of it is to be run. Where PATH is not there
# yet, this holds for the folders above it. The rules are those of internal/trust:
# all is root's or this user's and writable by nobody else; a folder on the way may
# be sticky, and a group with its owner's number is nobody else.
set -eu
me=$(id -u)
system=$(stat -c %u /) # in a user namespace, all that is not mapped

refuse() {
	echo "$1 $2: nothing there is run; ${3:+$3, or }use a folder that only you can write (XDG_CACHE_HOME), with sudo: sudo -H" >&2
	exit 1
}

# owned PATH is this user's or root's.
owned() {
	uid=$(stat -c %u "$1")
	case $uid in 0 | "$me" | "$system") ;; *) refuse "$1" "belongs to user $uid" ;; esac
}

# alone PATH is writable by its owner only, or a sticky folder.
alone() {
	case $(stat -c %A "$1") in
	d????????[tT]) ;;
	????????w?) refuse "$1" "is writable by everybody" "chmod o-w '$1'" ;;
	?????w????) [ "$(stat -c %g "$1")" = "$(stat -c %u "$1")" ] || refuse "$1" "is writable by its group" "chmod g-w '$1'" ;;
	esac
}

# walk PATH checks each part on the way, also those of symbolic links.
walk() {
	at=/ todo=$1 links=0
	while [ -n "$todo" ]; do
		name=${todo%%/*}
		case $todo in */*) todo=${todo#*/} ;; *) todo= ;; esac
		case $name in '' | .) continue ;; ..) at=$(dirname "$at") && continue ;; esac
		next=${at%/}/$name
		[ -e "$next" ] || [ -L "$next" ] || return 0
		owned "$next"
		if [ -L "$next" ]; then
			links=$((links + 1))
			[ $links -le 40 ] || refuse "$next" "is a loop of symbolic links"
			todo=$(readlink "$next")/$todo
			case $todo in /*) at=/ ;; esac
			continue
		fi
		alone "$next"
		at=$next
	done
}

for path; do
	case $path in /*) ;; *) path=$PWD/$path ;; esac
	alone /
	walk "$path"
	[ -d "$path" ] || continue
	bad=$(find "$path/" ! -type l \( ! -uid 0 ! -uid "$me" -o -perm -002 -o -perm -020 ! -gid "$me" ! -gid 0 \) -print | head -n 1)
	[ -z "$bad" ] || refuse "$bad" "belongs to another user, or others can write it" "if nobody else has written there: chmod -R go-w '$path'"
done
