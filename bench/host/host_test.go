// SPDX-License-Identifier: MIT

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/modes"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/veth"
)

// hung is longer than the tests wait: what ends only by such a limit hangs for them.
const hung = 2 * await.Hang

// patient are limits that only what hangs reaches: agents of tests get little of a busy machine.
var patient = host.Limits{Silence: hung, Greet: hung, Answer: hung, Change: hung, Abort: hung, Close: hung, End: hung}

func options() host.Options { return host.Options{ToolVersion: version.Tool(), Limits: patient} }

func dial(t *testing.T, spec string) *host.Host {
	t.Helper()
	h, err := host.Dial(t.Context(), spec, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// alive reports whether a process lives; a zombie, which waits for whoever
// adopted it, does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func TestDialLocal(t *testing.T) {
	h := dial(t, "local")
	if h.Info.PID != h.PID() || h.PID() == os.Getpid() || h.Spec.Name != "local" {
		t.Errorf("agent says it is process %d, started was %d, name %q", h.Info.PID, h.PID(), h.Spec.Name)
	}
	h.Info.Cores = []string{"0-65535"}
	allocations := 1.0
	for n := 0; n < 100 && allocations != 0; n++ { // meanwhile the agent may be asked whether it lives
		allocations = testing.AllocsPerRun(10, func() { h.Topology() })
	}
	if allocations != 0 {
		t.Errorf("its lists are read each time: %v allocations", allocations)
	}
	if pgid, err := unix.Getpgid(h.PID()); err != nil || pgid == unix.Getpgrp() {
		t.Errorf("the agent is in the terminal's process group (%d, %v): a Ctrl-C would kill it", pgid, err)
	}
	var ms []wire.ModeSupport
	if err := h.Call(t.Context(), wire.OpModes, nil, &ms); err != nil || len(ms) != len(modes.All) {
		t.Errorf("%d modes, %v; want %d", len(ms), err, len(modes.All))
	}
	if h.Err() != nil {
		t.Errorf("a living agent has ended: %v", h.Err())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if alive(h.PID()) {
		t.Errorf("process %d lives after Close", h.PID())
	}
	if err := h.Call(t.Context(), wire.OpClock, nil, nil); err == nil || !strings.Contains(err.Error(), "local") {
		t.Errorf("call after Close: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestClockOfOneMachine(t *testing.T) {
	h := dial(t, "local")
	if h.UncertaintyNs <= 0 {
		t.Fatalf("uncertainty %d ns", h.UncertaintyNs)
	}
	// One kernel, one clock: the true offset is 0.
	if o := h.OffsetNs; o > h.UncertaintyNs+1 || -o > h.UncertaintyNs+1 {
		t.Errorf("offset %d ns, uncertainty %d ns: the truth, 0, is not within", o, h.UncertaintyNs)
	}
	if o := dial(t, "local"); !h.SameMachine(o) || h.Info.NetNS != o.Info.NetNS {
		t.Errorf("two local agents are not on one machine and namespace: %+v %+v", h.Info, o.Info)
	}
}

// A clock of this machine is known well.
func TestClockUncertainty(t *testing.T) {
	kind.Timed(t)
	if u := time.Duration(dial(t, "local").UncertaintyNs); u > 100*time.Millisecond {
		t.Errorf("uncertainty %v", u)
	}
}

// Many calls at once get their own answers.
func TestCallsAtOnce(t *testing.T) {
	h := dial(t, "local")
	errs := make(chan error)
	for i := range 32 {
		go func() {
			var c wire.Clock
			if i%2 == 0 {
				if err := h.Call(t.Context(), wire.OpClock, nil, &c); err != nil || c.MonotonicNs == 0 {
					errs <- fmt.Errorf("clock: %+v %v", c, err)
					return
				}
			} else if err := h.Call(t.Context(), wire.Op(fmt.Sprint("op", i)), nil, &c); err == nil ||
				!strings.Contains(err.Error(), fmt.Sprintf("op%d\"", i)) {
				errs <- fmt.Errorf("op%d: %v", i, err)
				return
			}
			errs <- nil
		}()
	}
	for range 32 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestIntegrationDialNetns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	name := fmt.Sprintf("zcbench-test-%d", os.Getpid())
	bind(t, pair.SUT.Netns.Path(), filepath.Join("/run/netns", name))
	local := dial(t, "local")
	byPath, byName := dial(t, "netns:"+pair.SUT.Netns.Path()), dial(t, "netns:"+name)
	if byName.Spec.Name != "netns:"+name {
		t.Errorf("called %q", byName.Spec.Name)
	}
	if byPath.Info.NetNS != byName.Info.NetNS || byName.Info.NetNS == local.Info.NetNS {
		t.Errorf("namespaces: by path %s, by name %s, local %s", byPath.Info.NetNS, byName.Info.NetNS, local.Info.NetNS)
	}
	if !byPath.SameMachine(local) {
		t.Error("a namespace is on another machine")
	}
	var is []wire.Interface
	if err := byName.Call(t.Context(), wire.OpAddrs, nil, &is); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range is {
		found = found || i.Name == pair.SUT.Dev && i.Up && i.MTU == veth.DefaultMTU && len(i.Addrs) > 0 &&
			i.Addrs[0] == pair.SUT.IPv4.String()
	}
	if !found {
		t.Errorf("%s is not among the agent's interfaces: %+v", pair.SUT.Dev, is)
	}
}

// bind gives the namespace at path a name, as ip netns add does.
func bind(t *testing.T, path, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { os.Remove(name) })
	if err := unix.Mount(path, name, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(name, unix.MNT_DETACH) })
}

func TestDialBadSpec(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string][]string{
		"nowhere":                  {`"nowhere"`, "local", "netns:NAME"},
		"ssh:-oBad":                {"ssh", "not a host name"},
		"netns:no-such-one":        {"netns:no-such-one", "no such network namespace", "ip netns add no-such-one"},
		"netns:/proc/self/ns/nope": {"/proc/self/ns/nope", "no such file"},
	} {
		h, err := host.Dial(t.Context(), spec, options())
		if err == nil {
			h.Close()
			t.Errorf("%s: dialled", spec)
			continue
		}
		if e := (*host.SpecError)(nil); !errors.As(err, &e) {
			t.Errorf("%s: %T is no SpecError", spec, err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", spec, err, w)
			}
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	_, err := host.Dial(t.Context(), "netns:"+file, options())
	if err == nil || !strings.Contains(err.Error(), "is not a network namespace") ||
		strings.Contains(err.Error(), "run as root") {
		t.Errorf("a file that is no namespace: %v", err)
	}
}

func TestDialNoSuchProgram(t *testing.T) {
	o := options()
	o.Binary = "/no/such/program"
	if _, err := host.Dial(t.Context(), "local", o); err == nil ||
		!strings.Contains(err.Error(), "start the agent") || !strings.Contains(err.Error(), o.Binary) {
		t.Errorf("no such program: %v", err)
	}
}

func TestDialVersionsDiffer(t *testing.T) {
	_, err := host.Dial(t.Context(), "local", host.Options{ToolVersion: "v9.9.9", Name: "box"})
	if err == nil {
		t.Fatal("greeted an agent of another version")
	}
	for _, want := range []string{"host box", "v9.9.9", version.Tool()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if fault.Fix(err) == "" {
		t.Error("no fix")
	}
}

func TestBadAgents(t *testing.T) {
	for how, want := range map[string]string{
		"is garbage":      "message 1",
		"is a stranger":   "answer 77",
		"is dying":        "out of luck",
		"is silent":       "patience",
		"is deaf garbage": "message 1",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel() // some wait
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			o := options()
			o.Name, o.Binary, o.Limits.End = "box", agentThat(t, how), time.Second
			if how == "is silent" {
				await.Later(300*time.Millisecond, func() { cancel(errors.New("out of patience")) })
			}
			var h *host.Host
			var err error
			await.Return(t, "the end of Dial", func() { h, err = host.Dial(ctx, "local", o) })
			if err == nil {
				h.Close()
				t.Fatal("greeted")
			}
			if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "host box: ") ||
				strings.Count(err.Error(), "host box") != 1 {
				t.Errorf("%q; want host box once and %q", err, want)
			}
		})
	}
}
