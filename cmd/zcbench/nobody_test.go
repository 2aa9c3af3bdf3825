// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/results"
)

// Anybody may measure TCP modes over loopback: without a capability, and without a home.
func TestIntegrationNobodyRuns(t *testing.T) {
	for _, pair := range [][2]string{{"tcp", "tcp"}, {"tcp-trunc", "sendfile"}, {"uring", "uring"}} {
		longer(t, 200*time.Millisecond, func(d string) (lacking string) {
			cmd := nobody(t, "zcbench", "run", "--sut", "local", "--tg", "local", "--rx", pair[0], "--tx", pair[1],
				"--json",
				"--duration", d, "--ramp-up", "50ms", "--ramp-down", "0s", "--message-size", "1M", "--gate",
				"foreign_cores=off", "--gate", "replace=0")
			p := built.StartCommand(t, cmd)
			status := p.Wait(await.Hang)
			var r results.Record
			if err := json.Unmarshal(p.Out.Bytes(), &r); err != nil || r.Verdict == results.Failed ||
				r.Verdict == results.Unsupported {
				t.Errorf("%v: exit status %d, %v: %s %s\n%s", pair, status, err, r.Verdict, r.Reason, &p.Err)
				return ""
			}
			if r.SUT.Bytes == nil || *r.SUT.Bytes == 0 {
				return fmt.Sprintf("%v: no bytes: %s %s", pair, r.Verdict, r.Reason)
			}
			return ""
		})
	}
}

// The two ends on their own, too.
func TestIntegrationNobodyReceives(t *testing.T) {
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	cmd := nobody(t, "zcrecv", "--listen", "127.0.0.1:0", "--accept-timeout", await.Hang.String(), "--touch", "verify")
	cmd.Stderr = errs
	rx, addr := built.StartCommand(t, cmd), ""
	await.Until(t, "the receiver's address", func() bool {
		text, _ := os.ReadFile(errs.Name())
		_, after, _ := strings.Cut(string(text), "listening on ")
		whole := false
		addr, _, whole = strings.Cut(after, ",")
		return whole
	})
	tx := built.StartCommand(t, nobody(t, "zcsend", "--duration", "200ms", "--message-size", "1M", addr))
	if s, r := tx.Wait(await.Hang), rx.Wait(await.Hang); s != 0 || r != 0 || !strings.Contains(rx.Out.String(),
		"Gbit/s") {
		said, _ := os.ReadFile(errs.Name())
		t.Errorf("exit statuses %d and %d: %s%s%s", s, r, &tx.Err, said, &rx.Out)
	}
}

// What needs more than that says which capability.
func TestIntegrationNobodyIsTold(t *testing.T) {
	for line, want := range map[string]string{
		"demo":                          "CAP_NET_ADMIN",
		"matrix experiments/quick.yaml": "CAP_NET_ADMIN",
		"run --sut local --tg local --governor performance --duration 200ms": "CAP_",
		"probe --duration 100ms":   "CAP_BPF",
		"profile --duration 100ms": "CAP_",
		"run --sut netns:/proc/self/ns/net --tg local --duration 200ms": "CAP_SYS_",
	} {
		cmd := nobody(t, "zcbench", strings.Fields(line)...)
		if strings.HasPrefix(line, "matrix") {
			text, err := os.ReadFile("../../experiments/quick.yaml")
			if err != nil {
				t.Fatal(err)
			}
			// The folder of the program is one that others can get into.
			cmd.Args[2] = filepath.Join(built.Dir(t), "quick.yaml")
			if err := os.WriteFile(cmd.Args[2], text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := built.StartCommand(t, cmd)
		if status := p.Wait(await.Hang); status == 0 || !strings.Contains(p.Err.String()+p.Out.String(), want) {
			t.Errorf("%s: exit status %d, no %s in: %s%s", line, status, want, &p.Err, &p.Out)
		}
	}
}
