// SPDX-License-Identifier: MIT

package survey

import (
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// numberedName is where a name goes on with a number, often a PID: vhost-12345 (drivers/vhost),
// iou-wrk-12345 (io_uring/io-wq.c).
var numberedName = lazy.Regexp(`[-_.#]\d+.*`)

// goingOn are the beginnings of names that go on with that of an interface or of a resource:
// wg-crypt-wg0 (drivers/net/wireguard/device.c: wg_newlink), ksmbd-eth0
// (fs/smb/server/transport_tcp.c: ksmbd_tcp_run_kthread), drbd_w_customer
// (drivers/block/drbd/drbd_main.c), vif1.0-q0-guest (drivers/net/xen-netback).
var goingOn = []string{"wg-crypt", "ksmbd", "drbd", "vif", "kbnepd", "napi", "irq"}

// plainName strips from a process's name what differs between threads of one purpose, and what
// names somebody: "kworker/3:1-events" is a kworker, "qemu:customer" a qemu, "vhost-12345" a vhost.
// interfaces are the host's: what follows from one of these on is cut.
func plainName(name string, interfaces []string) string {
	if dotted().MatchString(name) || strings.Count(name, ":") > 1 && !strings.Contains(name, "/") {
		return unnamed // 10.0.0.1-manager (fs/nfs/nfs4state.c: nfs4_schedule_state_manager)
	}
	if at := strings.IndexAny(name, "/:@"); at >= 0 {
		name = name[:at]
	}
	name = numberedName().ReplaceAllString(anonymous(name), "")
	for _, prefix := range goingOn {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !letter(rest) {
			return prefix
		}
	}
	for _, dev := range interfaces {
		name = before(name, dev)
	}
	if name = strings.Trim(name, " -_.#"); name == "" {
		return unnamed
	}
	return name
}

const unnamed = "unnamed"

// before cuts a text off at a word of it, and returns the whole text where the word is not in it.
func before(text, word string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return text
		}
		at += from
		if from = at + len(word); (at == 0 || !alphanumeric(text[at-1])) &&
			(from == len(text) || !alphanumeric(text[from])) {
			return text[:at]
		}
	}
}

func alphanumeric(c byte) bool { return letter(string(c)) || c >= '0' && c <= '9' }

// letter reports whether a text begins with one.
func letter(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// interfacesOf lists the names of a host's interfaces, long ones first: "eth0" is in "eth0.100".
func interfacesOf(fs FS) (names []string) {
	all, _ := os.ReadDir(fs.sys("class/net"))
	for _, e := range all {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}
