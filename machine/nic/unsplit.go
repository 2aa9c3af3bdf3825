// SPDX-License-Identifier: MIT

package nic

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Unsplit are the driver's counters of packets whose headers the NIC did not split off, by name.
// With memory of a provider the driver cannot read those headers, and drops such a packet or its
// payload: idpf counts rx-hsplit_hbo (idpf_rx_hsplit_wa of idpf_txrx.c), gve rx_hsplit_unsplit_pkt
// (gve_rx_dqo of gve_rx_dqo.c), mlx5 rx_hds_nosplit_packets
// (mlx5e_handle_rx_cqe_mpwrq_shampo of en_rx.c), Linux 7.2; bnxt, fbnic and ice count none.
type Unsplit map[string]uint64

// Unsplit reads them (ethtool -S). A driver without such counters has none, and no error.
func (d *Device) Unsplit() (Unsplit, error) {
	all, err := d.StatList()
	if err != nil {
		return nil, err
	}
	return unsplitOf(all), nil
}

var (
	digits  = regexp.MustCompile(`\d+`)
	notWord = regexp.MustCompile(`[^a-z0-9]+`)
	splits  = regexp.MustCompile(`hsplit|hdr_?split|header_?split|(^|[^a-z])hds([^a-z]|$)`)
)

// unsplitOf finds them among all counters. Those of single queues are left out where there is one
// of the interface, and are added up where there is none.
func unsplitOf(all []Stat) Unsplit {
	out, whole := Unsplit{}, map[string]bool{}
	key := func(name string) (of string, queues bool) { // rx3_x, rx_x[3] and rx_x count the same
		of = digits.ReplaceAllString(name, "")
		return strings.Replace(of, "[]", "", 1), digits.MatchString(name)
	}
	for _, s := range all {
		if of, queues := key(s.Name); !queues && unsplit(s.Name) {
			out[s.Name], whole[of] = s.Value, true
		}
	}
	for _, s := range all {
		if of, queues := key(s.Name); queues && !whole[of] && unsplit(s.Name) {
			out[digits.ReplaceAllString(s.Name, "*")] += s.Value
		}
	}
	return out
}

// unsplit reports whether a counter of that name is of packets, or events, where a split failed.
func unsplit(name string) bool {
	name = strings.ToLower(name)
	words := notWord.Split(name, -1)
	has := func(of ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(of, w) })
	}
	if has("bytes", "tx") {
		return false
	}
	return has("hbo", "unsplit", "nosplit") || splits.MatchString(name) &&
		has("err", "errs", "error", "errors", "ovf", "overflow", "overflows", "drop", "drops", "dropped", "fail",
			"fails", "failed", "failures")
}

// Grown names those that count more than before, and by how much, the most first; "": none. One
// that fell began anew.
func (u Unsplit) Grown(before Unsplit) string {
	by := map[string]uint64{}
	var names []string
	for name, n := range u {
		if b, had := before[name]; had && n > b {
			by[name] = n - b
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s by %d", name, by[name])
	}
	return strings.Join(names, ", ")
}

// Unsplitting explains what grown counters of dev mean (see [Unsplit.Grown]), and what to do about
// it. "" where none has grown.
func Unsplitting(dev, grown string) (what, fix string) {
	if grown == "" {
		return "", ""
	}
	return "the NIC did not split the headers off some packets, and drivers drop such packets where payload goes " +
			"to the application's memory: ethtool -S " + dev + " grew in " + grown,
		"send what the NIC splits: plain TCP over IPv4 or IPv6 without tunnels, VLAN tags in stacks, or long options"
}
