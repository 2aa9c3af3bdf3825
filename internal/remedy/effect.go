// SPDX-License-Identifier: MIT

package remedy

import "strings"

// changes are words by which a fix changes the host, and how that is undone: for rows that do not
// say so themselves. The first that is found counts.
var changes = []struct{ words, undo string }{
	{"modprobe tcp_", "modprobe -r it"},
	{"end what has the most files open", "start it again, or sysctl -w fs.file-max= what it was"},
	{"sysctl -w", "sysctl -w what it was"},
	{"ulimit", "it goes with the shell"},
	{"raise fs.file-max", "sysctl -w fs.file-max= what it was"},
	{"raise memory.max", "write what memory.max was"},
	{"raise the limit outside", "set it to what it was there"},
	{"seccomp profile", "take it out of the profile again"},
	{"RestrictAddressFamilies=", "take it out of the unit again"},
	{"(--device", "start the container without it"},
	{"--cap-add", "start the container without it"},
	{"container, or allow", "start the container without it"},
	{"let it allow", "take it out of the policy again"},
	{"overcommit_memory=0", "sysctl -w vm.overcommit_memory=2"},
	{"let the module allow", "take it out of the policy again"},
	{"module's policy", "take it out of the policy again"},
	{"allow it there", "take it out of the policy again"},
	{"let the firewall pass", "delete the rule again"},
	{"host's firewall pass", "delete the rule again"},
	{"let firewalls pass", "delete the rule again"},
	{"widen net.ipv4.ip_local_port_range", "sysctl -w what it was"},
	{"end the program that has it", "start it again"},
	{"turn header split and LRO off", "ethtool -G, -K with what ethtool -g, -k showed"},
	{"let it pass", "delete the rule again"},
	{"set it up", "ip link set it down"},
	{"set the interface up", "ip link set it down"},
	{"take the route away", "add the route again"},
	{"another address", "give it the old one again"},
	{"give the interface an address", "ip addr del it"},
	{"give both interfaces the MTU", "ip link set the MTU that it was"},
	{"switch header split on", "ethtool -G DEV tcp-data-split auto"},
	{"detach the program", "start what attached it again"},
	{"end what", "start it again"},
	{"end programs", "start them again"},
	{"end the other program", "start it again"},
	{"stop the", "start it again"},
	{"a newer kernel", "boot the kernel of before"},
	{"or later", "boot the kernel of before"},
	{"a kernel with", "boot the kernel of before"},
	{"reserve", "sysctl -w vm.nr_hugepages= what it was"},
}

// judged sets in each row what following its fix does to the host.
func judged(rows []Row) []Row {
	for i := range rows {
		r := &rows[i]
		for _, c := range changes {
			if r.Effect == harmless && r.Undo == "" && strings.Contains(r.Do, c.words) {
				r.Effect, r.Undo = undoable, c.undo
			}
		}
	}
	return rows
}
