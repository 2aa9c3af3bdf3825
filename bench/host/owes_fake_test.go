// SPDX-License-Identifier: MIT

package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
)

// owesLogEnv is the file that an ssh which is none, and its agent, write into: how patient a
// connection is, and that it restores. owesCureEnv has the restoring succeed.
const (
	owesLogEnv  = "ZCBENCH_TEST_OWES_LOG"
	owesCureEnv = "ZCBENCH_TEST_OWES_CURE"
)

// owingSSH is an ssh that says of its host that all is well there, and becomes the agent.
const owingSSH = `#!/bin/sh
printf "%%s\n" "$*" | grep -o "ServerAliveCountMax=[0-9]*" | head -n 1 >>"$%s"
echo "$(printf "%%s\n" "$*" | grep -o "zcbench-link [a-z0-9]*" | head -n 1) ready 0 $(uname -s) $(uname -m) $(uname -r)"
exec '%s' agent
`

// oweSSH is an agent with something to restore on ssh's own interface, that cannot be restored
// unless it is cured; then whoever comes after it owes nothing.
func oweSSH(in io.Reader, out io.Writer) {
	requests, enc := wire.NewDecoder(in), wire.NewEncoder(out)
	for {
		var req wire.Request
		if requests.Decode(&req) != nil {
			return
		}
		var result any = struct{}{}
		switch req.Op {
		case wire.OpHello:
			result = wire.HelloResult{Version: wire.Version, ToolVersion: version.Tool(), PID: os.Getpid(),
				NetNS: "4:1", OnlineCPUs: []int{0}}
		case wire.OpClock:
			result = wire.Clock{MonotonicNs: host.Monotonic()}
		case wire.OpOwed:
			log, err := os.ReadFile(os.Getenv(owesLogEnv))
			restored := err == nil && bytes.Contains(log, []byte("restores"))
			result = wire.Owed{SSH: !restored || os.Getenv(owesCureEnv) == ""}
		case wire.OpFinish:
			if f, err := os.OpenFile(os.Getenv(owesLogEnv), os.O_APPEND|os.O_WRONLY, 0); err == nil {
				fmt.Fprintln(f, "restores")
				f.Close()
			}
			said := "mtu of eth0: it is stuck"
			if os.Getenv(owesCureEnv) != "" {
				said = "mtu of eth0: restored"
			}
			result = []string{said}
		}
		b, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		if enc.Encode(wire.Response{ID: req.ID, Result: b}) != nil {
			return
		}
	}
}

// What could not be restored on ssh's own interface by a patient connection is not tried again
// by an impatient one. It is said once, and then that it is there still, with what to do; where
// all was restored nothing is.
func TestStuckSettingIsTriedPatientlyAlone(t *testing.T) {
	for _, x := range []struct{ cure, finished, left string }{
		{"", "it is stuck", "are still on the interface that carries ssh: they could not be restored, and this " +
			"session will not try again; once what holds them is gone: zcbench restore --host ssh:box\n"},
		{"1", "mtu of eth0: restored", ""},
	} {
		t.Run(x.finished, func(t *testing.T) {
			t.Setenv(owesCureEnv, x.cure)
			notices := dialOwing(t)
			if n := strings.Count(notices, x.finished); n != 1 {
				t.Errorf("%q is said %d times: %s", x.finished, n, notices)
			}
			if got := strings.Contains(notices, "still on the interface"); got != (x.left != "") ||
				!strings.Contains(notices, x.left) {
				t.Errorf("notices: %s\nwant %q", notices, x.left)
			}
		})
	}
}

// dialOwing dials such a host, checks which connections there were and what they did, and returns
// what the user was told.
func dialOwing(t *testing.T) string {
	t.Helper()
	log, ssh := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(ssh, fmt.Appendf(nil, owingSSH, owesLogEnv, agentThat(t, "owes ssh")), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(owesLogEnv, log)
	t.Setenv("ZCBENCH_SSH", ssh)
	var notices bytes.Buffer
	o := options()
	o.Notices = &notices
	h, err := host.Dial(t.Context(), "ssh:box", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := "ServerAliveCountMax=3 ServerAliveCountMax=30 restores ServerAliveCountMax=3"
	if got := strings.Join(strings.Fields(string(b)), " "); got != want {
		t.Errorf("connections and what they did: %s\nwant %s", got, want)
	}
	return notices.String()
}
