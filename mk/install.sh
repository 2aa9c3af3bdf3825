#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh PACKAGE... installs Debian or Ubuntu packages, as root. No service of
# theirs, such as sshd, starts now or at the next boot: who needs one here starts it.
#
# Packages start services through three programs, which they call by name (Debian
# policy 9.3.3.2). Here those of mk/no-services stand first in their PATH. Nothing on
# the host is changed for that, so nothing is left behind, however this ends; a
# policy-rc.d that is there holds as ever.
set -eu
shims=$(cd "$(dirname "$0")/no-services" && pwd)
case $shims in
*:*) echo "cannot install packages: the path $shims has a colon, which PATH does not allow; move this folder" >&2; exit 1 ;;
esac
path=$shims:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive

# apt sets the PATH of dpkg itself, by an option, where it is 1.8 or newer.
apt() { PATH=$shims:$PATH apt-get -o "DPkg::Path=$path" "$@" 2>&1; }

said=$(apt install -y -qq --no-install-recommends "$@") && exit
said=$(apt update -qq && apt install -y -qq --no-install-recommends "$@") && exit
printf '%s\n' "$said" >&2
exit 1
