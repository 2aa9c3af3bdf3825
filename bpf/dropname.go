// SPDX-License-Identifier: MIT

package bpf

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/kallsyms"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Drop is packets that were dropped for one reason at one place.
type Drop struct {
	Reason    string `json:"reason"`    // of the kernel's enum: "SOCKET_RCVBUFF"
	Function  string `json:"function"`  // that dropped them, without what a compiler adds; empty: not known
	Place     string `json:"place"`     // in full: "udp_queue_rcv_one_skb+0x1c4", "br_pass+0x4 [bridge]"
	Interface string `json:"interface"` // by its name, or "#7" of another namespace; empty: none
	Netns     string `json:"netns"`     // by its name of ip netns, or its inode
	Protocol  string `json:"protocol,omitempty"`
	Port      uint16 `json:"port,omitempty"` // of the destination, or the flow's ([DropsOptions])
	Packets   uint64 `json:"packets"`        // that GSO or GRO had made one of are counted one by one
	SKBs      uint64 `json:"skbs"`           // and here as the kernel has them
	// NotLost says why these are no loss; empty: they are one.
	NotLost string `json:"not_lost,omitempty"`
}

// DropTable is a reading whose rows have names.
type DropTable struct {
	Drops   []Drop // most packets first; those that are no loss last
	Unnamed uint64 // packets for which the program's table had no room
	// Warning is that places have no names, and what is no loss could not be told.
	Warning string
}

// Packets counts all that were lost.
func (t DropTable) Packets() (n uint64) {
	for _, d := range t.Drops {
		if d.NotLost == "" {
			n += d.Packets
		}
	}
	return n + t.Unnamed
}

// notLost are places at which the kernel frees as dropped what was not lost.
var notLost = []struct{ reason, function, why string }{
	// net/core/skbuff.c: skb_release_data frees a frag_list by kfree_skb_list_reason, for
	// no reason given, also when its head was delivered and consumed. The head, if it is
	// dropped itself, counts its segments.
	{"NOT_SPECIFIED", "skb_release_data", "fragments of a GRO list, delivered or counted with their head packet"},
}

// dropNames finds names.
type dropNames struct {
	reasons dropReasons
	symbols *kallsyms.Table
	hidden  error // why there are none
	links   *rtnl.Conn
	here    uint64 // inode of the namespace of links
}

func (n *dropNames) table(r DropReading) (t DropTable, err error) {
	t.Unnamed = r.unnamed.Packets
	if len(r.rows) == 0 {
		return t, nil
	}
	if n.symbols == nil && n.hidden == nil {
		n.symbols, n.hidden = kallsyms.Read()
	}
	if n.hidden != nil {
		t.Warning = n.hidden.Error() + ": packets freed as dropped though they were delivered are among the drops"
	}
	devs, err := n.interfaces()
	if err != nil {
		return t, err
	}
	spaces := namespaces()
	for k, c := range r.rows {
		d := n.drop(k, c)
		d.Netns = cmp.Or(spaces[uint64(k.Netns)], netnsNumber(k.Netns))
		if k.Ifindex != 0 {
			d.Interface = fmt.Sprintf("#%d", k.Ifindex)
			if name := devs[int(k.Ifindex)]; name != "" && uint64(k.Netns) == n.here {
				d.Interface = name
			}
		}
		t.Drops = append(t.Drops, d)
	}
	t.Drops = mergeDrops(t.Drops)
	return t, nil
}

func (n *dropNames) drop(k dropKey, c dropCount) Drop {
	d := Drop{Reason: n.reasons.name(k.Reason), Place: "?", Protocol: protocolName(k.Protocol), Port: k.Port,
		Packets: c.Packets, SKBs: c.SKBs}
	if n.symbols != nil {
		if s, offset, ok := n.symbols.Return(k.Place); ok {
			d.Function, _, _ = strings.Cut(s.Name, ".")
			d.Place = fmt.Sprintf("%s+%#x", s.Name, offset)
			if s.Module != "" {
				d.Place += " [" + s.Module + "]"
			}
		}
	}
	for _, x := range notLost {
		if d.Reason == x.reason && d.Function == x.function {
			d.NotLost = x.why
		}
	}
	return d
}

// mergeDrops joins rows that read the same, and sorts them.
func mergeDrops(all []Drop) []Drop {
	at := map[Drop]int{}
	var out []Drop
	for _, d := range all {
		key := d
		key.Packets, key.SKBs = 0, 0
		if i, ok := at[key]; ok {
			out[i].Packets, out[i].SKBs = out[i].Packets+d.Packets, out[i].SKBs+d.SKBs
			continue
		}
		at[key] = len(out)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Drop) int {
		if a.NotLost != b.NotLost {
			return cmp.Compare(a.NotLost, b.NotLost)
		}
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Place, b.Place),
			cmp.Compare(a.Netns, b.Netns), cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.Port, b.Port))
	})
	return out
}

func (n *dropNames) interfaces() (map[int]string, error) {
	links, err := n.links.Links()
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Index] = l.Name
	}
	return names, nil
}

// namespaces reads the names that ip netns gave, by inode.
func namespaces() map[uint64]string {
	const dir = "/run/netns"
	names := map[uint64]string{}
	all, _ := os.ReadDir(dir) // where there is none, nothing has a name
	for _, e := range all {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, e.Name()), &st) == nil {
			names[st.Ino] = e.Name()
		}
	}
	return names
}

func netnsNumber(inode uint32) string {
	if inode == 0 {
		return "?"
	}
	return fmt.Sprint(inode)
}

// SameNetns reports whether [Drop].Netns denotes the namespace of an inode.
func SameNetns(netns string, inode uint64) bool {
	return netns == fmt.Sprint(inode) || netns != "" && namespaces()[inode] == netns
}

// protocolName names the protocol of an IP header's number; empty: the packet had none that was
// read.
func protocolName(number uint8) string {
	switch number {
	case 0:
		return ""
	case unix.IPPROTO_TCP:
		return "tcp"
	case unix.IPPROTO_UDP:
		return "udp"
	case unix.IPPROTO_ICMP:
		return "icmp"
	case unix.IPPROTO_ICMPV6:
		return "icmp6"
	}
	return fmt.Sprintf("ip-%d", number)
}
