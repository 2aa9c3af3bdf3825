// SPDX-License-Identifier: MIT

package survey

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
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

// sysctls are all of net.* and vm.*. Of those that each interface has of its own, those of the
// flow's are read, as of DEV and UPPER, and what holds for all and for new ones: hosts have
// hundreds of interfaces that no flow uses.
func (f *facts) sysctls(devs Devs) {
	n := 0
	for _, area := range []string{"net", "vm"} {
		root := f.fs.proc("sys")
		_ = filepath.WalkDir(filepath.Join(root, area), func(at string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // what cannot be read is missing
			}
			rel, err := filepath.Rel(root, at)
			if err != nil {
				return nil
			}
			name, ok := nameOf(rel, devs)
			switch {
			case !ok && e.IsDir():
				return fs.SkipDir
			case !ok, e.IsDir(), !e.Type().IsRegular():
				return nil
			}
			if n++; n > mostSysctls {
				return fs.SkipAll
			}
			f.file("sysctl/"+name, at)
			return nil
		})
	}
}

// nameOf is the name of the sysctl in a file below /proc/sys; false: it is left out.
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
			return "", false
		}
	}
	if slices.ContainsFunc(leftOut, func(p string) bool { ok, _ := path.Match(p, rel); return ok }) {
		return "", false
	}
	return strings.Join(elem, "."), true
}
