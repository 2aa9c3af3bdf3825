// SPDX-License-Identifier: MIT

package host_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// behaves is what the name begins with by which this test binary is called as an agent
// of bad manners, which are the rest of it.
const behaves = "agent that "

// agentThat is a program that is such an agent.
func agentThat(t *testing.T, how string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), behaves+how)
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestMain lets this test binary be the agent that Dial starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		agent.Arrive()
		os.Exit(beAgent(strings.TrimPrefix(filepath.Base(os.Args[0]), behaves)))
	}
	if len(os.Args) == 3 && os.Args[2] == "--remove-unused" {
		if _, err := host.RemoveUnused(".", time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == "controller" {
		os.Exit(beController())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "zcbench-host-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// patience is that of a controller which is stopped for longer.
const patience = time.Second

// beController holds an agent, says so, and says once more whether it still does
// when it is asked to.
func beController() int {
	o := options()
	o.Limits = host.Limits{Silence: patience, Alive: patience / 10}
	h, err := host.Dial(context.Background(), "local", o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer h.Close()
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Println(h.Err())
	return 0
}

func beAgent(how string) int {
	switch how {
	case "is garbage":
		fmt.Println("welcome to this host!")
		io.Copy(io.Discard, os.Stdin)
	case "is deaf garbage":
		fmt.Println("welcome to this host!")
		time.Sleep(time.Minute)
	case "is silent":
		io.Copy(io.Discard, os.Stdin)
	case "is deaf":
		time.Sleep(time.Minute)
	case "is dying":
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Fprintln(os.Stderr, "out of luck")
		return 3
	case "is a stranger":
		fmt.Println(`{"id":77,"result":{}}`)
		io.Copy(io.Discard, os.Stdin)
	case "cannot restore":
		agent.Serve(context.Background(), os.Stdin, os.Stdout)
		fmt.Fprintln(os.Stderr, "restore: mtu of eth0: it is stuck")
		return 1
	case "restores long":
		agent.Serve(context.Background(), os.Stdin, os.Stdout)
		for range 6 {
			fmt.Println(`{"id":0,"result":{}}`)
			time.Sleep(500 * time.Millisecond)
		}
	case "floods", "floods at its end":
		if how == "floods" {
			told := make(chan os.Signal, 1)
			signal.Notify(told, unix.SIGUSR1)
			go agent.Serve(context.Background(), os.Stdin, os.Stdout)
			<-told
		} else {
			agent.Serve(context.Background(), os.Stdin, os.Stdout)
		}
		flood := bytes.Repeat([]byte(`{"id":0,"result":{}}`+"\n"), 1000)
		for {
			if _, err := os.Stdout.Write(flood); err != nil {
				return 0
			}
		}
	case "owes ssh":
		oweSSH(os.Stdin, os.Stdout)
	case "never ends":
		agent.Serve(context.Background(), os.Stdin, os.Stdout)
		for {
			fmt.Println(`{"id":0,"result":{}}`)
			time.Sleep(wire.EndingEvery)
		}
	default:
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return 0
}

func options() host.Options { return host.Options{ToolVersion: version.Tool()} }

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
	if n := testing.AllocsPerRun(10, func() { h.Topology() }); n != 0 {
		t.Errorf("its lists are read each time: %v allocations", n)
	}
	if pgid, err := unix.Getpgid(h.PID()); err != nil || pgid == unix.Getpgrp() {
		t.Errorf("the agent is in the terminal's process group (%d, %v): a Ctrl-C would kill it", pgid, err)
	}
	var ms []wire.ModeSupport
	if err := h.Call(t.Context(), wire.OpModes, nil, &ms); err != nil || len(ms) != len(stream.Modes) {
		t.Errorf("%d modes, %v; want %d", len(ms), err, len(stream.Modes))
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
	if h.UncertaintyNs <= 0 || h.UncertaintyNs > int64(100*time.Millisecond) {
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
			} else if err := h.Call(t.Context(), wire.Op(fmt.Sprint("op", i)), nil, &c); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("op%d\"", i)) {
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
		found = found || i.Name == pair.SUT.Dev && i.Up && i.MTU == veth.DefaultMTU && len(i.Addrs) > 0 && i.Addrs[0] == pair.SUT.IPv4.String()
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
		"ssh:-oBad":                {"ssh", "no host name"},
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
	if err == nil || !strings.Contains(err.Error(), "no network namespace") || strings.Contains(err.Error(), "run as root") {
		t.Errorf("a file that is no namespace: %v", err)
	}
}

func TestDialNoSuchProgram(t *testing.T) {
	o := options()
	o.Binary = "/no/such/program"
	if _, err := host.Dial(t.Context(), "local", o); err == nil || !strings.Contains(err.Error(), "start the agent") || !strings.Contains(err.Error(), o.Binary) {
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
			limit := time.Minute
			if how == "is silent" {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("out of patience"))
			defer cancel()
			begin := time.Now()
			o := options()
			o.Name, o.Binary, o.Limits.End = "box", agentThat(t, how), time.Second
			h, err := host.Dial(ctx, "local", o)
			if err == nil {
				h.Close()
				t.Fatal("greeted")
			}
			if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "host box: ") || strings.Count(err.Error(), "host box") != 1 {
				t.Errorf("%q; want host box once and %q", err, want)
			}
			if d := time.Since(begin); d > 9*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// An agent that ignores the end of its input is killed.
func TestCloseKillsTheDeaf(t *testing.T) {
	t.Parallel() // it waits
	o := options()
	o.Binary, o.Limits.End = agentThat(t, "is deaf"), 2*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	dialed := make(chan error, 1)
	go func() { _, err := host.Dial(ctx, "local", o); dialed <- err }()
	most := 0
	for {
		select {
		case err := <-dialed:
			if left := processesOf(o.Binary); err == nil || most != 1 || left != 0 {
				t.Errorf("%v; %d were seen alive, and %d live", err, most, left)
			}
			return
		case <-time.After(10 * time.Millisecond):
			most = max(most, processesOf(o.Binary))
		}
	}
}

// processesOf are how many have been started by that name, and live.
func processesOf(name string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range all {
		if cmdline, _ := os.ReadFile(f); strings.HasPrefix(string(cmdline), name+"\x00agent\x00") {
			n++
		}
	}
	return n
}

// What an agent could not restore at its end is said, once.
func TestCloseTellsLastWords(t *testing.T) {
	h := dialBad(t, "cannot restore", host.Limits{})
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), "host local: ") || !strings.Contains(err.Error(), "mtu of eth0: it is stuck") {
		t.Errorf("%v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// hold lets an agent have something that it must give back.
func hold(t *testing.T, h *host.Host) {
	t.Helper()
	spec := wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}
	if err := h.Call(t.Context(), wire.OpOpen, spec, nil); err != nil {
		t.Fatal(err)
	}
}

// One that takes its time to restore what it has set is not, as long as it says so.
func TestCloseWaitsForWhoRestores(t *testing.T) {
	t.Parallel() // it waits
	h := dialBad(t, "restores long", host.Limits{End: 2500 * time.Millisecond})
	hold(t, h)
	begin := time.Now()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d < 2900*time.Millisecond {
		t.Errorf("it ended after %v", d)
	}
	if err := h.Err(); err == nil || strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
}

// An agent that is killed ends the calls that wait for it.
func TestAgentKilled(t *testing.T) {
	h := dial(t, "local")
	if err := h.Call(t.Context(), wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Call(t.Context(), wire.OpRun, wire.Schedule{}, nil) }()
	time.Sleep(50 * time.Millisecond)
	unix.Kill(h.PID(), unix.SIGKILL)
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "host local") || !strings.Contains(err.Error(), "killed") {
			t.Errorf("call to a killed agent: %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Fatal("the call did not end")
	}
	if h.Err() == nil {
		t.Error("Err is nil after the agent's end")
	}
	if err := h.Call(t.Context(), wire.OpClock, nil, nil); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("next call: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestCallGivesUpWithItsContext(t *testing.T) {
	h := dial(t, "local")
	if err := h.Call(t.Context(), wire.OpOpen, wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	if err := h.Call(ctx, wire.OpRun, wire.Schedule{}, nil); err == nil || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("%v", err)
	}
	// The late answer to the forgotten question does no harm.
	if err := h.Call(t.Context(), wire.OpAbort, nil, nil); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := h.Call(t.Context(), wire.OpClock, nil, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}
