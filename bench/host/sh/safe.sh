# SPDX-License-Identifier: MIT
# What the scripts for far hosts share: nothing is run, made or overwritten that
# another user of that host could change, by the rule of package trust. It is
# sent as one line and one word of whatever login shell there is. So every line
# can be joined with the next by a blank, and none has a single quote, an
# exclamation mark, or a comment behind it.
#
# The script before it has defined refuse WHY, which does not return, and absent
# ENTRY, which makes a folder or does not return. Set are dir (our folder, empty
# for the usual one), home (the folder in it), name (the file in that) and sum
# (the SHA-256 of what the file must be).

# Whose an entry is. Its words for stat come last, after the name for messages.
look() {
	what=$1; shift;
	list=$(ls -ld "$@");
	set -- $(stat -c "%u %g %a" "$@");
	case $#,$1 in 3,[0-9]*) ;; *) refuse "stat cannot tell whose $what is" ;; esac;
	uid=$1; gid=$2; mode=$3;
};

# It belongs to this user or to root; in a user namespace, root is who has "/".
ours() {
	case $uid in
		"$u"|0|"$root") ;;
		*) refuse "$what belongs to user $uid, and this is user $u" ;;
	esac;
};

# Only its owner can write it. A group of the same number is the owner alone, unless
# an access list gives more: then its mask stands for the group, and ls shows a plus (that of
# busybox does not).
alone() {
	case $mode in *[2367]) refuse "$what is writable by everybody (mode $mode)" ;; esac;
	case $mode,$uid in
		*[2367]?,"$gid") ;;
		*[2367]?,*) refuse "$what is writable by group $gid (mode $mode)" ;;
	esac;
	case $mode,$list in *[2367]?,??????????+*) refuse "$what is writable by others through its access list (mode $mode)" ;; esac;
};

# Goes to a folder from "/", step by step: what a step finds stays, because the
# folder that it is in has been found to be safe. Under the sticky bit, an entry
# can be replaced by its owner alone.
walk() {
	at=; cd /; IFS=/; set -f; set -- $1; set +f; unset IFS;
	for part in "$@"; do
		case $part in ""|.) continue ;; esac;
		look "${at:-/}" .; ours; sticky=;
		case $mode in [1357]???) sticky=yes ;; *) alone ;; esac;
		at=$at/$part;
		[ -e "./$part" ] || [ -h "./$part" ] || absent "./$part";
		[ -z "$sticky" ] || { look "$at" "./$part"; ours; };
		cd -P "./$part" || refuse "$at cannot be entered";
	done;
	look "$at" .; ours; alone;
};

# The second walk is for where links have led.
enter() {
	root=$(stat -c %u /) || refuse "stat -c does not work: install coreutils";
	case $dir,${XDG_CACHE_HOME:-},${HOME:-} in
		,/*) dir=$XDG_CACHE_HOME/zcbench/agent ;;
		,*,/*) dir=$HOME/.cache/zcbench/agent ;;
		,*) refuse "no folder for the program: HOME is not a path" ;;
	esac;
	walk "$dir/$home"; walk "$(pwd -P)";
	[ "$(pwd -P)" = "$at" ] || refuse "$at changes while it is looked at";
};

# Opens the file as descriptor 9 and says in s what it is: what is looked at,
# hashed and run is one and the same, whatever happens to the name.
take() {
	s=missing; p=$at/$name;
	[ -h "./$name" ] && refuse "$p is a link";
	[ -e "./$name" ] || return 0;
	[ -f "./$name" ] || refuse "$p is not a regular file";
	s=damaged; [ -r "./$name" ] || return 0;
	exec 9<"./$name";
	look "$p" -L /proc/self/fd/0 <&9; ours; alone;
	h=$(sha256sum <&9);
	[ "${h%% *}" = "$sum" ] || return 0;
	s=ready;
};
