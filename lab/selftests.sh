# SPDX-License-Identifier: MIT
# Builds the kernel's selftests of drivers/net and the disk from which the lab runs them.
# Runs in the unpacked Debian of lab/selftests.go, which has in /mnt: linux.tar.xz, the
# kernel's source; image, the Debian of the disk. $1 is the kernel's release.
# What it makes is in /mnt/out.
set -e
release=$1
mkdir /mnt/linux /mnt/out
cd /mnt/linux
# Without what neither headers, tools nor specifications are made of.
tar -xf /mnt/linux.tar.xz --strip-components=1 --anchored --no-wildcards-match-slash \
	--exclude='linux-source-*/drivers' --exclude='linux-source-*/sound' \
	--exclude='linux-source-*/fs' --exclude='linux-source-*/arch/[!x]*' --exclude='linux-source-*/Documentation/[!n]*'
make headers
make -C tools/net/ynl GENS="ethtool netdev psp" RSTS="" libynl.a

self=$PWD/tools/testing/selftests
ynl=$PWD/tools/net/ynl
flags="-O2 -static -D_GNU_SOURCE= -I$PWD/usr/include -I$PWD/tools/include/uapi -I$ynl/lib -I$ynl/generated -I$self"

# build PROGRAM [LIBRARY]: a program that the tests start. Series have different ones.
build() {
	[ ! -e "$1.c" ] || gcc $flags -o "$1" "$1.c" $2
}
cd "$self/drivers/net/hw"
build iou-zcrx -luring
build ncdevmem "$ynl/libynl.a"
build toeplitz "$ynl/libynl.a"
cd "$self/drivers/net"
build napi_id_helper
build so_txtime
build psp_responder "$ynl/libynl.a"
build gro
cd "$self/net/lib"
build csum
build gro
build xdp_helper
for c in "$self"/net/lib/*.bpf.c "$self"/drivers/net/*.bpf.c "$self"/drivers/net/hw/*.bpf.c; do
	[ ! -e "$c" ] || clang -O2 -g --target=bpf -I/mnt/linux/usr/include -idirafter /usr/include \
		-idirafter /usr/include/x86_64-linux-gnu -c "$c" -o "${c%.c}.o"
done
cp "$self/drivers/net/hw/iou-zcrx" "$self/drivers/net/hw/ncdevmem" /mnt/out/

# The tests find each other, the specifications and the netlink library by their places
# in the source.
image=/mnt/image
cd /mnt/linux
mkdir -p "$image/kernel"
cp -a --parents tools/testing/selftests/net/lib tools/testing/selftests/net/lib.sh tools/testing/selftests/drivers/net \
	tools/net/ynl/pyynl Documentation/netlink/specs "$image/kernel/"
cd "$image"
rm -rf usr/share/doc usr/share/man usr/share/info usr/share/locale usr/share/bash-completion
mkdir -p sys run
modules=$image/usr/lib/modules/$release
for d in arcnet can dsa ethernet fddi hamradio hyperv ieee802154 ipa mdio pcs phy usb wan wireless wwan; do
	rm -rf "$modules/kernel/drivers/net/$d"
done
touch "$modules/modules.order" "$modules/modules.builtin" "$modules/modules.builtin.modinfo"
depmod -b "$image" "$release"
# Python compiles what it imports: here once, instead of emulated in each test.
python3 -m compileall -q usr/lib/python3* kernel >/dev/null || true

truncate -s 768M /mnt/out/disk.img
mke2fs -q -F -t ext4 -O '^has_journal,^resize_inode' -m 0 -E root_owner=0:0 -d "$image" /mnt/out/disk.img
