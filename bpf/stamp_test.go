// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf/link"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// Kernels before 6.6 have no tcx: the socket's stamps serve, and the output says
// so. Who asks for tcx gets an error instead.
func TestIntegrationStampWithoutTCX(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	o := LatencyOptions{attachTCX: func(link.TCXOptions) (link.Link, error) {
		return nil,
			fmt.Errorf("create tcx link: %w", unix.EINVAL)
	}}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	o.Filter.LocalPort = uint16(conn.LocalAddr().(*net.UDPAddr).Port)
	l, err := OpenLatency(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !strings.HasPrefix(l.T0,
		"software receive stamp (after GRO; its wait, and that of interrupt coalescing, are hidden); on ") ||
		!strings.Contains(l.T0, "lo") {
		t.Errorf("t0: %s", l.T0)
	}
	if lines := strings.Join(Absent(l.Hooks), "\n"); !strings.Contains(lines,
		"create tcx link: invalid argument (tcx needs Linux 6.6): stamp (ingress of ") {
		t.Errorf("not among what is missing: %s", lines)
	}
	const n = 20
	b := make([]byte, 100)
	conn.SetDeadline(await.Deadline())
	for range n {
		if _, err := conn.WriteTo(b, conn.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := conn.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Stage == "udp-enqueued" && s.Hist.Count()+s.Hist.Unstamped != n {
			t.Errorf("%d of %d datagrams seen, %d without a stamp", s.Hist.Count(), n, s.Hist.Unstamped)
		}
		if s.Stage == "udp-enqueued" {
			t.Logf("%d with a stamp, %d without", s.Hist.Count(), s.Hist.Unstamped)
		}
	}
	o.Stamp = StampTCX
	if l, err := OpenLatency(o); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "--stamp socket") {
		t.Errorf("tcx that cannot be had: %v", err)
		if err == nil {
			l.Close()
		}
	}
}
