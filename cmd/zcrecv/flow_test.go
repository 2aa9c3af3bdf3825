// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
)

func TestMain(m *testing.M) { os.Exit(built.Main(m)) }

// port is a free port of a loopback address. That of IPv4 is one of this process's own, so that no
// other takes the port before it is used.
func port(t *testing.T, ip string) string {
	t.Helper()
	if ip == "127.0.0.1" {
		pid := os.Getpid()
		ip = fmt.Sprintf("127.%d.%d.%d", 1+pid>>16&0x7f, pid>>8&0xff, pid&0xff)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// decode reads the one JSON object that must be all of stdout.
func decode(t *testing.T, p *built.Process) cli.EndReport {
	t.Helper()
	var r cli.EndReport
	dec := json.NewDecoder(strings.NewReader(p.Out.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || dec.More() {
		t.Fatalf("%v: stdout is not one object: %v\n%s\nstderr: %s", p.Args, err, &p.Out, &p.Err)
	}
	var keys map[string]any
	if err := json.Unmarshal(p.Out.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"mode", "bytes", "duration_s", "throughput_gbps", "cpu_user_s", "cpu_sys_s", "verdict"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("%v: no %q", p.Args, k)
		}
	}
	return r
}

// flowed has two ends move a flow of that duration, and returns them when they have ended well. A
// flow in which nothing came, because neither end had a CPU, is had again, and longer.
func flowed(t *testing.T, start func(d time.Duration) (recv, send *built.Process)) (recv, send *built.Process) {
	t.Helper()
	for d := 200 * time.Millisecond; ; d *= 2 {
		recv, send = start(d)
		rs, ss := recv.Wait(await.Hang), send.Wait(await.Hang)
		if rs == 0 && ss == 0 {
			return recv, send
		}
		said := fmt.Sprint(&recv.Out, &recv.Err, &send.Out, &send.Err)
		if !strings.Contains(said, "no payload was transferred") || d > time.Minute {
			t.Fatalf("exit status %d and %d\n%s", rs, ss, said)
		}
		t.Logf("nothing came in %v: once more", d)
	}
}

// pair is a receiver and a sender with their flags, in which D is the duration of the flow, and
// DD one that is much longer.
type pair struct {
	name, ip   string
	recv, send string
	gbps       float64 // asked for
	mismatches bool    // reported
}

var pairs = []pair{
	{name: "receiver decides", ip: "127.0.0.1", recv: "--duration D"},
	{name: "sender decides", ip: "127.0.0.1", send: "--duration D"},
	{name: "the shorter decides", ip: "127.0.0.1", recv: "--duration DD", send: "--duration D"},
	{name: "the shorter decides 2", ip: "127.0.0.1", recv: "--duration D", send: "--duration DD"},
	{name: "IPv6", ip: "::1", recv: "--duration D"},
	{name: "verify", ip: "127.0.0.1", recv: "--touch verify --message-size 100000",
		send: "--duration D --message-size 77777 --mode sendfile --pace 2G", gbps: 2, mismatches: true},
	// What waits in the send buffer does not make the flow late.
	{name: "slow", ip: "127.0.0.1", send: "--duration D --pace 4M"},
	{name: "uring", ip: "127.0.0.1", recv: "--mode uring --touch read --cpu 0", send: "--mode uring --duration D"},
	{name: "trunc", ip: "127.0.0.1", recv: "--mode tcp-trunc --rcvbuf 1M",
		send: "--sndbuf 1M --congestion cubic --duration D"},
	{name: "passed on", ip: "127.0.0.1", recv: "--then forward", send: "--duration D --then forward"},
	{name: "written", ip: "127.0.0.1", recv: "--then write:/dev/shm", send: "--duration D"},
	{name: "cookie", ip: "127.0.0.1", recv: "--cookie " + strings.Repeat("ab", 16), send: "--duration D --cookie " +
		strings.Repeat("AB", 16)},
}

// start starts both ends. The sender may come first.
func (x pair) start(t *testing.T, d time.Duration) (recv, send *built.Process) {
	t.Helper()
	addr := port(t, x.ip)
	flags := func(s string, before ...string) []string {
		return append(before, strings.Fields(strings.NewReplacer("DD", (12*d).String(), "D", d.String()).Replace(s))...)
	}
	send = built.Start(t, "zcsend", flags(x.send, "--json", addr)...)
	return built.Start(t, "zcrecv", flags(x.recv, "--json", "--listen", addr)...), send
}

func TestPairs(t *testing.T) {
	for _, x := range pairs {
		t.Run(x.name, func(t *testing.T) {
			recv, send := flowed(t, func(d time.Duration) (recv, send *built.Process) { return x.start(t, d) })
			if recv.Err.Len()+send.Err.Len() > 0 {
				t.Errorf("--json said on stderr: %s%s", &recv.Err, &send.Err)
			}
			r, s := decode(t, recv), decode(t, send)
			if r.Verdict != results.OK || s.Verdict != results.OK || r.Bytes == 0 || r.Bytes != s.Bytes ||
				s.PeerBytes == nil || *s.PeerBytes != r.Bytes {
				t.Errorf("%s, %d bytes; %s, %d bytes", r.Verdict, r.Bytes, s.Verdict, s.Bytes)
			}
			for _, e := range []cli.EndReport{r, s} {
				onward := strings.Contains(x.recv, "--then")
				if e.Role == "tx" {
					onward = strings.Contains(x.send, "--then")
				}
				if onward != (e.Then != nil && e.Then.Bytes > 0) {
					t.Errorf("%s passed on %+v", e.Tool, e.Then)
				}
				if e.DurationS == nil || e.ThroughputGbps == nil || e.CPUUserS == nil || e.CPUSysS == nil {
					t.Errorf("%s lacks figures: %+v", e.Tool, e)
					continue
				}
				if *e.CPUUserS+*e.CPUSysS <= 0 || e.Calls == 0 || e.Congestion == "" || e.Retrans == nil {
					t.Errorf("%s lacks something: %+v", e.Tool, e)
				}
				if want := float64(e.Bytes) * 8 / *e.DurationS / 1e9; *e.ThroughputGbps < 0.99*want ||
					*e.ThroughputGbps > 1.01*want {
					t.Errorf("%s: %g Gbit/s, but %d bytes in %g s", e.Tool, *e.ThroughputGbps, e.Bytes, *e.DurationS)
				}
			}
			if (r.Mismatches != nil) != x.mismatches || r.Mismatches != nil && *r.Mismatches != 0 {
				t.Errorf("mismatches %v", r.Mismatches)
			}
		})
	}
}

// A flow lasts as long as was asked for, and is no faster than its pace.
func TestPairsTakeTheirTime(t *testing.T) {
	kind.Timed(t)
	for _, x := range pairs {
		// What decides for how long is in these; the others are for the long run.
		if !long.Wanted() && !slices.Contains([]string{"receiver decides", "the shorter decides 2", "slow"}, x.name) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			const want = 300 * time.Millisecond
			recv, send := x.start(t, want)
			if rs, ss := recv.Wait(await.Hang), send.Wait(await.Hang); rs != 0 || ss != 0 {
				t.Fatalf("exit status %d and %d\n%s%s\n%s%s", rs, ss, &recv.Out, &recv.Err, &send.Out, &send.Err)
			}
			r := decode(t, recv)
			for _, e := range []cli.EndReport{r, decode(t, send)} {
				if d := time.Duration(*e.DurationS * 1e9); d < want-want/5 || d > want+time.Second {
					t.Errorf("%s took %v, want %v", e.Tool, d, want)
				}
			}
			if x.gbps > 0 && *r.ThroughputGbps > 1.1*x.gbps {
				t.Errorf("%g Gbit/s at a pace of %g", *r.ThroughputGbps, x.gbps)
			}
		})
	}
}

// Several flows are one object, with what each had of them; the receiver's buffer is as said.
func TestFlows(t *testing.T) {
	for name, x := range map[string]struct {
		flags  []string
		buffer int
	}{
		"as it is":     {nil, cli.StandaloneBuffer},
		"uring":        {[]string{"--mode", "uring"}, cli.StandaloneBuffer},
		"uring, sizes": {[]string{"--mode", "uring", "--message-size", "128K"}, 8 * 128 << 10}, // eight reads
		"a buffer":     {[]string{"--rx-buffer", "64K"}, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			recv, send := flowed(t, func(d time.Duration) (recv, send *built.Process) {
				addr := port(t, "127.0.0.1")
				recv = built.Start(t, "zcrecv", append([]string{"--json", "--flows", "3", "--cpu", "0", "--listen",
					addr}, x.flags...)...)
				return recv, built.Start(t, "zcsend", "--json", "--flows", "3", "--cpu", "0", "--duration", d.String(),
					"--message-size", "128K", addr)
			})
			r, s := decode(t, recv), decode(t, send)
			for _, e := range []cli.EndReport{r, s} {
				sum := uint64(0)
				for n, f := range e.Flows {
					if f.N != n || f.Bytes == nil || *f.Bytes == 0 || f.ThroughputGbps == nil || f.CPU == nil ||
						*f.CPU != 0 || f.Verdict != results.OK {
						t.Errorf("%s: flow %d is %+v", e.Tool, n, f)
						continue
					}
					sum += *f.Bytes
				}
				if e.Threads != 3 {
					t.Errorf("%s: %d threads", e.Tool, e.Threads)
				}
				if len(e.Flows) != 3 || sum != e.Bytes || e.Verdict != results.OK {
					t.Errorf("%s: %d flows with %d bytes of %d, %s", e.Tool, len(e.Flows), sum, e.Bytes, e.Verdict)
				}
			}
			if r.RXBufferBytes != x.buffer || s.RXBufferBytes != 0 || s.MessageBytes != 128<<10 {
				t.Errorf("a buffer of %d, not %d; the sender's is %d, its messages %d", r.RXBufferBytes, x.buffer,
					s.RXBufferBytes, s.MessageBytes)
			}
		})
	}
}

// Two ends that do not agree on how many flows there are say so at once.
func TestFlowsDiffer(t *testing.T) {
	addr := port(t, "127.0.0.1")
	recv := built.Start(t, "zcrecv", "--json", "--flows", "3", "--listen", addr)
	send := built.Start(t, "zcsend", "--flows", "2", "--duration", "200ms", addr)
	if a, b := send.Wait(await.Hang), recv.Wait(await.Hang); a != 1 || b != 1 {
		t.Errorf("exit status %d and %d", a, b)
	}
	if r := decode(t, recv); r.Verdict != results.Failed ||
		!strings.Contains(r.Reason, "2 flows, but 3 are expected") || !strings.Contains(r.Fix, "--flows") {
		t.Errorf("%s: %s; %s", r.Verdict, r.Reason, r.Fix)
	}
	if !strings.Contains(send.Err.String(), "--flows") {
		t.Errorf("the sender says %q", &send.Err)
	}
}

// The engine asked for is the one used, on both ends, and without a word the
// default.
func TestEngines(t *testing.T) {
	for _, e := range append([]uring.Engine{""}, uring.Engines()...) {
		flags, want := []string{"--json", "--mode", "uring"}, string(uring.Native)
		if e != "" {
			flags, want = append(flags, "--uring-engine", string(e)), string(e)
		}
		recv, send := flowed(t, func(d time.Duration) (recv, send *built.Process) {
			addr := port(t, "127.0.0.1")
			recv = built.Start(t, "zcrecv", slices.Concat(flags, []string{"--listen", addr, "--touch", "verify"})...)
			return recv, built.Start(t, "zcsend", slices.Concat(flags, []string{"--duration", d.String(), addr})...)
		})
		for _, p := range []*built.Process{recv, send} {
			if r := decode(t, p); r.UringEngine != want || r.Verdict != results.OK {
				t.Errorf("%v: %s by the engine %q", p.Args, r.Verdict, r.UringEngine)
			}
		}
	}
}

// A pace is honoured within 10 %. It is the kernel that keeps it, out of a buffer of
// a tenth of a second: only an end that gets no CPU for longer is slower. So both ends
// go before what else this machine does, where that is allowed; where it is not, only
// the upper limit is the pace's alone.
func TestPace(t *testing.T) {
	kind.Timed(t)
	const want = 0.4
	before, first := "", os.Geteuid() == 0
	if first {
		before = "nice -n -20 "
	}
	addr := port(t, "127.0.0.1")
	recv := built.Shell(t, "exec "+before+`zcrecv --json --listen "$1"`, addr)
	send := built.Shell(t, "exec "+before+`zcsend --json --duration 1s --pace 400M --message-size 1M "$1"`, addr)
	if a, b := send.Wait(await.Hang), recv.Wait(await.Hang); a != 0 || b != 0 {
		t.Fatalf("exit status %d and %d: %s%s", a, b, &send.Err, &recv.Err)
	}
	gbps := *decode(t, recv).ThroughputGbps
	if gbps > 1.1*want || first && gbps < 0.9*want {
		t.Errorf("%g Gbit/s at a pace of %g", gbps, want)
	}
}

// received are the bytes that the receiver of a flow has got, as the kernel counts.
func received(t *testing.T, addr string) (n uint64) {
	t.Helper()
	out, err := exec.Command("ss", "-tinH", "state", "established", "src", addr).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, ok := strings.Cut(string(out), "bytes_received:"); ok {
		fmt.Sscan(rest, &n)
	}
	return n
}

// flowing starts a pair that flows for an hour, and waits until it does.
func flowing(t *testing.T, flags ...string) (recv, send *built.Process) {
	t.Helper()
	addr := port(t, "127.0.0.1")
	recv = built.Start(t, "zcrecv", append([]string{"--listen", addr}, flags...)...)
	send = built.Start(t, "zcsend", append([]string{"--pace", "100M", "--message-size", "64K", "--duration", "10m",
		addr}, flags...)...)
	await.Until(t, "payload", func() bool { return received(t, addr) > 1<<20 })
	return recv, send
}

// gone is how one end goes, and what both say.
type gone struct {
	victim string
	sig    syscall.Signal
	recv   string
	send   string
}

// Whatever ends one end ends the other, and neither calls it a success.
func TestPeerGone(t *testing.T) {
	for _, x := range []gone{
		{"zcsend", syscall.SIGKILL, "the sender ended the flow after", ""},
		{"zcrecv", syscall.SIGKILL, "", "the receiver broke off"},
		{"zcsend", syscall.SIGINT, "the sender ", "interrupted"}, // ended the flow, or broke off
		{"zcrecv", syscall.SIGINT, "interrupted", "the receiver broke off"},
		{"zcrecv", syscall.SIGTERM, "interrupted", "the receiver broke off"},
	} {
		t.Run(fmt.Sprint(x.victim, " ", x.sig), func(t *testing.T) { peerGone(t, x) })
	}
}

// At once: long before any limit of theirs.
func TestPeerGoneAtOnce(t *testing.T) {
	kind.Timed(t)
	built.Dir(t)
	for _, x := range []gone{
		{"zcsend", syscall.SIGKILL, "the sender ended the flow after", ""},
		{"zcrecv", syscall.SIGKILL, "", "the receiver broke off"},
		{"zcrecv", syscall.SIGINT, "interrupted", "the receiver broke off"},
	} {
		begun := time.Now()
		peerGone(t, x)
		if took := time.Since(begun); took > 3*time.Second { // a flow's beginning is short
			t.Errorf("%s %v: took %v", x.victim, x.sig, took)
		}
	}
}

// peerGone ends one end of a flow, and waits for both.
func peerGone(t *testing.T, x gone) {
	t.Helper()
	recv, send := flowing(t)
	victim := recv
	if x.victim == "zcsend" {
		victim = send
	}
	victim.Signal(x.sig)
	for _, e := range []struct {
		p    *built.Process
		want string
	}{{recv, x.recv}, {send, x.send}} {
		got := e.p.Wait(await.Hang)
		if e.want == "" {
			continue // it was killed
		}
		if got != 1 || !strings.Contains(e.p.Err.String(), e.want) {
			t.Errorf("%s: exit status %d, want 1; stderr %q, want %q", e.p.Args[0], got, &e.p.Err, e.want)
		}
		for _, line := range strings.Split(strings.TrimSpace(e.p.Err.String()), "\n") {
			if !strings.HasPrefix(line, "zc") && !strings.HasPrefix(line, "  fix: ") {
				t.Errorf("%s: stray line %q", e.p.Args[0], line)
			}
		}
	}
}

func TestPeerGoneJSON(t *testing.T) {
	recv, send := flowing(t, "--json")
	send.Signal(syscall.SIGKILL)
	if got := recv.Wait(await.Hang); got != 1 {
		t.Errorf("exit status %d", got)
	}
	r := decode(t, recv)
	if r.Verdict != results.Failed || r.Reason == "" || strings.Contains(r.Reason, "\n") || r.Fix == "" ||
		r.Bytes == 0 {
		t.Errorf("%+v", r)
	}
}

func TestInterruptedWaiting(t *testing.T) {
	interrupted := func(p *built.Process) {
		t.Helper()
		p.Signal(syscall.SIGINT)
		if got := p.Wait(await.Hang); got != 1 || !strings.Contains(p.Err.String(), "interrupt") {
			t.Errorf("exit status %d: %s", got, &p.Err)
		}
	}
	recv := built.Start(t, "zcrecv", "--listen", port(t, "127.0.0.1"))
	await.Until(t, "zcrecv on the network", func() bool { return built.Has(recv.Process.Pid, built.Listening) })
	interrupted(recv)

	mute, err := net.Listen("tcp", "127.0.0.1:0") // says no welcome
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	mute.(*net.TCPListener).SetDeadline(await.Deadline())
	send := built.Start(t, "zcsend", "--connect-timeout", "1h", mute.Addr().String())
	c, err := mute.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	interrupted(send)
}

// A sender without a receiver says what it waits for.
func TestWaitsForReceiver(t *testing.T) {
	addr := port(t, "127.0.0.1")
	send := built.Start(t, "zcsend", "--connect-timeout", "1500ms", addr)
	got := send.Wait(await.Hang)
	want := "zcsend: waiting for 1.5s (--connect-timeout) for a receiver that listens on " + addr
	if text := send.Err.String(); got != 1 || !strings.HasPrefix(text, want) || !strings.Contains(text, "refused") {
		t.Errorf("exit status %d: %s", got, text)
	}
}

// A stranger is told what is wrong; the receiver goes on waiting and counts.
func TestWrongCookie(t *testing.T) {
	cookie := strings.Repeat("12", 16)
	recv, _ := flowed(t, func(d time.Duration) (recv, send *built.Process) {
		addr := port(t, "127.0.0.1")
		recv = built.Start(t, "zcrecv", "--json", "--listen", addr, "--cookie", cookie)
		stranger := built.Start(t, "zcsend", addr)
		if got := stranger.Wait(await.Hang); got != 1 || !strings.Contains(stranger.Err.String(), "--cookie") {
			t.Errorf("wrong cookie: exit status %d: %s", got, &stranger.Err)
		}
		return recv, built.Start(t, "zcsend", "--json", "--duration", d.String(), "--cookie", cookie, addr)
	})
	if r := decode(t, recv); r.Strangers != 1 || r.Verdict != results.OK {
		t.Errorf("%d strangers, %s", r.Strangers, r.Verdict)
	}
}

// People get one line of result on stdout.
func TestTextResult(t *testing.T) {
	var addr string
	recv, send := flowed(t, func(d time.Duration) (recv, send *built.Process) {
		addr = port(t, "127.0.0.1")
		recv = built.Start(t, "zcrecv", "--listen", addr)
		return recv, built.Start(t, "zcsend", "--duration", d.String(), addr)
	})
	for _, p := range []*built.Process{recv, send} {
		if out := p.Out.String(); !strings.HasPrefix(out, "tcp ") || !strings.Contains(out, "Gbit/s") ||
			!strings.Contains(out, "s/GB") {
			t.Errorf("%s: %q", p.Args[0], out)
		}
	}
	if want := "zcrecv: listening on " + addr + ", mode tcp\n"; recv.Err.String() != want || send.Err.Len() != 0 {
		t.Errorf("stderr %q and %q, want %q", &recv.Err, &send.Err, want)
	}
}
