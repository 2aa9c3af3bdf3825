// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// leftOut are patterns of the files below /proc/sys that are no settings: secrets, counters,
// and what does something when it is read or written.
var leftOut = []string{
	"net/ipv4/tcp_fastopen_key",           // a secret
	"net/ipv6/conf/*/stable_secret",       // a secret
	"net/core/netdev_rss_key",             // the key of the hash
	"net/ipv4/fib_multipath_hash_seed",    // that of another hash
	"net/ipv6/ioam6_id*",                  // the number of the host in its domain (RFC 9197)
	"net/ipv6/conf/*/ioam6_id*",           // of an interface there
	"net/ax25/*",                          // folders named after interfaces
	"net/netfilter/nf_conntrack_count",    // a counter
	"net/sunrpc/*",                        // of NFS; transports has addresses
	"net/ipv[46]/route/flush",             // an act
	"net/ipv4/conf/*/mc_forwarding",       // follows from a daemon
	"vm/stat_refresh",                     // reading it bothers all CPUs (mm/vmstat.c: vmstat_refresh)
	"vm/compact_memory", "vm/drop_caches", // acts
	"vm/legacy_va_layout",
}

// mostSysctls bounds what is read: a host has a thousand.
const mostSysctls = 5000

// sysctls adds all of net.* and vm.*. Of those that each interface has of its own, it reads the
// flow's, as of DEV and UPPER, and what holds for all and for new ones: hosts have hundreds of
// interfaces that no flow uses.
func (f *facts) sysctls(devs Devs) {
	left := mostSysctls
	for _, area := range []string{"net", "vm"} {
		f.sysctlsIn(area, devs, &left)
	}
}

// sysctlsIn adds those in a folder below /proc/sys, and in its folders. It leaves out what cannot
// be read, and what only root may read: results are for others, too. In Linux 7.2 these are
// vm.mmap_rnd_bits, vm.mmap_rnd_compat_bits and net.core.bpf_jit_harden, _kallsyms and _limit.
func (f *facts) sysctlsIn(rel string, devs Devs, left *int) {
	at := f.fs.proc("sys", rel)
	entries, _ := os.ReadDir(at)                                              // those up to an error
	dir, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // this never waits
	if err != nil {
		return
	}
	defer unix.Close(dir)
	for _, e := range entries {
		below := rel + "/" + e.Name()
		name, ok := nameOf(below, devs)
		switch {
		case !ok || *left <= 0:
		case e.IsDir():
			f.sysctlsIn(below, devs, left)
		case e.Type().IsRegular():
			*left--
			if forAll(dir, e.Name()) {
				f.add("sysctl/"+name, textAt(dir, e.Name(), at+"/"+e.Name()))
			}
		}
	}
}

// forAll reports whether everybody may read a file of an open folder.
func forAll(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&0o004 != 0
}

// nameOf derives the name of the sysctl from its file below /proc/sys; false: it is left out.
func nameOf(rel string, devs Devs) (name string, ok bool) {
	elem := strings.Split(rel, "/")
	for i := 2; i+1 <= len(elem)-1; i++ {
		if elem[i] != "conf" && elem[i] != "neigh" {
			continue
		}
		switch dev := elem[i+1]; {
		case dev == "all" || dev == "default":
		case dev == devs.Port && dev != "":
			elem[i+1] = "DEV"
		case dev == devs.Upper && dev != "":
			elem[i+1] = "UPPER"
		default:
			n := slices.Index(devs.More, dev)
			if n < 0 {
				return "", false
			}
			elem[i+1] = fmt.Sprintf("DEV%d", n+1)
		}
	}
	if slices.ContainsFunc(leftOut, func(p string) bool { return fits(p, rel) }) {
		return "", false
	}
	return strings.Join(elem, "."), true
}

// fits reports whether a path matches a pattern. Of a thousand paths nearly all differ from each
// pattern before its first sign: path.Match would find that out character by character.
func fits(pattern, at string) bool {
	plain := pattern
	if sign := strings.IndexAny(pattern, `*?[\`); sign >= 0 {
		plain = pattern[:sign]
	}
	if !strings.HasPrefix(at, plain) {
		return false
	}
	ok, _ := path.Match(pattern, at)
	return ok
}
