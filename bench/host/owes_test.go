// SPDX-License-Identifier: MIT

package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/plan"
)

// What a run that died has left on the interface by which ssh comes is restored by a
// connection that bears a silence of a minute, whoever comes next; then the usual one goes on.
func TestIntegrationSSHFinishesItsOwnInterface(t *testing.T) {
	dir := t.TempDir()
	// others of this machine finish what lies in the usual one
	f := newFar(t, lease.DirEnv+"="+filepath.Join(dir, "leases"))
	calls, ssh := filepath.Join(dir, "calls"), filepath.Join(dir, "ssh")
	if err := os.WriteFile(ssh, []byte("#!/bin/sh\necho \"$*\" | head -n 1 >>"+calls+"\nexec "+f.SSH()+" \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZCBENCH_SSH", ssh)
	o := options()
	o.SharedWithSSH = true
	h := f.mustDialWith("ssh:box", o)
	set := plan.Settings{Dev: f.pair.SUT.Dev, Values: []plan.Setting{{Name: "mtu", Value: "2000"}}}
	if err := h.Call(t.Context(), wire.OpSet, set, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(h.Info.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "that its death is noticed", func() bool { return h.Err() != nil })
	h.Close()
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	var notices bytes.Buffer
	o = options()
	o.Notices = &notices
	f.mustDialWith("ssh:box", o)
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var patience []string // of the connections, in their order
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(line, "ServerAliveCountMax=")
		n, _, _ := strings.Cut(rest, " ")
		if len(patience) == 0 || patience[len(patience)-1] != n { // one may take several calls of ssh
			patience = append(patience, n)
		}
	}
	if got := strings.Join(patience, " "); got != "3 30 3" {
		t.Errorf("patience of the connections: %q\n%s", got, b)
	}
	if s := notices.String(); !strings.Contains(s, "tolerating 1m0s of silence") || !strings.Contains(s, "mtu") {
		t.Errorf("notices: %s", s)
	} else if strings.Contains(s, "still on the interface") {
		t.Errorf("all was restored: %s", s)
	}
}
