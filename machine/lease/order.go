// SPDX-License-Identifier: MIT

package lease

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/nic"
)

// order is that of dependency: what stands first disturbs, or is needed by, what
// follows. Channels and rings restart queues; mlx5 wants rx-gro-hw before header
// split; a rule needs its queue.
var order = []string{"sysctl", "governor", "irqbalance", "channels", "ring", "rx-buf-len", "mtu", "feature",
	"header-split", "gso-max-size", "gro-max-size",
	"gso-ipv4-max-size", "gro-ipv4-max-size", "netkit", "coalesce", "sysfs", "napi", "irq", "interrupt", "rps", "xps",
	"rss", "rss-context", "rule", "pktgen"}

func rank(name string) int {
	word, _, _ := strings.Cut(name, " ")
	if i := slices.Index(order, word); i >= 0 {
		return i
	}
	return len(order)
}

// inOrder compares steps by when they are set. Parameters of coalescing go by their names: ice
// takes no rx-usecs while adaptive-rx is on, and ionic no tx-usecs but what rx-usecs is
// (ice_set_rc_coalesce, ionic_set_coalesce, Linux 7.2).
func inOrder(a, b step) int {
	byRank := cmp.Compare(rank(a.Name), rank(b.Name))
	if byRank == 0 && strings.HasPrefix(a.Name, "coalesce ") && strings.HasPrefix(b.Name, "coalesce ") {
		return cmp.Compare(a.Name, b.Name)
	}
	return byRank
}

// ringRX is the ring that some settings cut.
const ringRX = "ring rx"

// shrinks reports whether setting it may cut the RX ring for good: bnxt has room for 2047
// descriptors with payload rings, which header split, hardware GRO and a long MTU bring
// (bnxt_set_ring_params of bnxt.c, 7.3.4).
func shrinks(name string) bool {
	return name == "header-split" || name == "mtu" || name == "feature "+nic.FeatureHWGRO
}

// asked reports whether reading it does not tell what was asked for.
func asked(name string) bool { return name == "header-split" }

// disturbs reports whether setting it may take the link down for a moment.
func disturbs(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return restarts(name) || word == "mtu" || word == "header-split" || word == "feature"
}

// queueWords are the settings of a queue that its restart may take.
var queueWords = []string{"napi", "irq", "rps", "xps"}

func ofQueue(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return slices.Contains(queueWords, word)
}

// restarts reports whether setting it restarts the queues, and may take with it
// what was set of them.
func restarts(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return word == "channels" || word == "ring" || word == "rx-buf-len"
}

// noted reports whether setting it makes something that is found again by what was written down,
// see [setting.Setting].Noted.
func noted(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return word == "rule" || word == "rss-context" || word == "netkit"
}
