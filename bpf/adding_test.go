// SPDX-License-Identifier: MIT

package bpf

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// A constant and a program in latency.bpf.c and one row in stages add a stage: a copy with one more
// compiles, the kernel takes it, and it counts packets.
func TestOneLineAddsAStage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: loads eBPF programs")
	}
	needCompiler(t)
	b, err := os.ReadFile("latency.bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Replace(string(b), "\tSTAGES,\n", "\tSEEN_AGAIN,\n\tSTAGES,\n", 1) +
		"\nSEC(\"tp_btf/netif_receive_skb\")\nint seen_again(__u64 *ctx) { return " +
		"on_packet(ARG(struct sk_buff *, 0), SEEN_AGAIN); }\n"
	dir := t.TempDir()
	headers, err := filepath.Glob("*.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range headers {
		h, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), h, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "latency.bpf.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	generate(t, dir, "latency", file)
	object, err := os.ReadFile(filepath.Join(dir, "latency_bpfel.o"))
	if err != nil {
		t.Fatal(err)
	}

	ours, before := _LatencyBytes, stages
	defer func() { _LatencyBytes, stages = ours, before }()
	_LatencyBytes = object
	stages = append(before[:len(before):len(before)], stage{name: "seen-again", choices: [][]string{{"seen_again"}}})

	inode, err := NetnsInode()
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLatency(LatencyOptions{Filter: Filter{Netns: inode}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, h := range l.Hooks {
		if h.Stage == "seen-again" && !h.there() {
			t.Skipf("this kernel does not take %s: %s", h.Function, h.Reason)
		}
	}
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await.Until(t, "packets at the new stage", func() bool {
		if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		all, err := l.Read()
		if err != nil {
			t.Fatal(err)
		}
		last := all[len(all)-1]
		return last.Stage == "seen-again" && last.Hist.Count()+last.Hist.Unstamped > 0
	})
}
