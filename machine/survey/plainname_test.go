// SPDX-License-Identifier: MIT

package survey

import (
	"testing"
	"time"
)

// What a process is called is shown; whose it is, its number and its interface are not.
func TestPlainName(t *testing.T) {
	for in, want := range map[string]string{
		"mysqld":                      "mysqld",
		"qemu-system-x86":             "qemu-system-x86",
		"containerd-shim":             "containerd-shim",
		"irqbalance":                  "irqbalance",
		"virtiofsd":                   "virtiofsd",
		"kworker/3:1-events":          "kworker",
		"ksoftirqd/0":                 "ksoftirqd",
		"irq/123-eth9":                "irq",
		"napi/eth9-8193":              "napi",
		"qemu:customer":               "qemu",
		"postgres: alice db":          "postgres",
		"backup@alice":                "backup",
		"vhost-12345":                 "vhost",
		"iou-wrk-12345":               "iou-wrk",
		"kvm-nx-lpage-recovery-12345": "kvm-nx-lpage-recovery",
		"wg-crypt-wg0":                "wg-crypt",
		"wg-crypt-customer":           "wg-crypt",
		"ksmbd-eth9":                  "ksmbd",
		"drbd_w_customer":             "drbd",
		"vif1.0-q0-guest":             "vif",
		"dhcp-uplink7-x":              "dhcp",
		"uplink7":                     unnamed,
		"uplink77":                    "uplink77",
		"10.100.1.2-manager":          unnamed,
		"2001:db8::1-manager":         unnamed,
		"":                            unnamed,
		"01:02:03:04:05:06":           unnamed,
		"-12345":                      unnamed,
	} {
		if got := plainName(in, []string{"uplink7", "lo"}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The interfaces are those of the host whose processes are read.
func TestBusyNamesNoInterface(t *testing.T) {
	files := map[string]string{"proc/10/stat": stat(10, "dhcp-uplink7", 100, 0, 5),
		"sys/class/net/uplink7/mtu": "1500\n"}
	at := time.Unix(1000, 0)
	first := ReadProcesses(fixture(t, files), at)
	files["proc/10/stat"] = stat(10, "dhcp-uplink7", 200, 0, 5)
	got := Busy(first, ReadProcesses(fixture(t, files), at.Add(time.Second)))
	if len(got) != 1 || got[0].Name != "busy/dhcp" {
		t.Errorf("%+v", got)
	}
}
