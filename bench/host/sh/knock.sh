# SPDX-License-Identifier: MIT
# Tells, in a line that begins with mark, what the far host is, and becomes the
# agent if all is well. Login shells may have printed before it. $1 is what root
# runs, root.sh. Where our folder has not got the program, one of the same bytes in
# the PATH there does as well, if nobody else can change it.
tell() { echo; echo "$mark $1 $u $k $m $(uname -r)"; };
refuse() { tell refused; echo "$*" >&2; exit 0; };
absent() { s=missing; elsewhere; start; };
found() {
	name=zcbench; walk "${f%/*}"; walk "$(pwd -P)";
	[ "$(pwd -P)" = "$at" ] || refuse "$at changes while it is looked at";
	take; [ "$s" = ready ] && s=found;
};
elsewhere() {
	f=$(command -v zcbench); case $f in /*/zcbench) ;; *) return ;; esac;
	(refuse() { exit 1; }; absent() { exit 1; }; found; [ "$s" = found ]) 2>/dev/null && found;
};
start() {
	tell "$s";
	case $s,$sudo,$u in
		ready,no,*|ready,yes,0|found,no,*|found,yes,0) exec /proc/self/fd/9 agent ;;
		ready,*|found,*) exec sudo -n -- /bin/sh -c "$asroot" zcbench "$p" "$sum" "${SSH_CONNECTION:-}" ;;
	esac;
	exit 0;
};
asroot=$1; u=$(id -u); k=$(uname -s); m=$(uname -m);
[ -t 0 ] && { tell terminal; exit 0; };
[ "$k/$m" = "Linux/$machine" ] || { tell missing; exit 0; };
enter; take;
case $s in ready) touch -c . 2>/dev/null ;; *) elsewhere ;; esac;
start
