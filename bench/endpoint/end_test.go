// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/results"
)

// What an end that could not be opened leaves behind is said beside the reason.
func TestGiveUpTellsWhatIsLeft(t *testing.T) {
	port, err := stream.Listen("127.0.0.1:0", stream.Cookie{}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	cannot := &fault.Unsupported{Mode: "tcp", Op: "setsockopt", Err: unix.EOPNOTSUPP, How: "another kernel"}
	err = (&End{port: port}).giveUp(cannot) // it closes the port again, which fails
	if err == nil || !strings.Contains(err.Error(), "setsockopt: operation not supported") ||
		!strings.Contains(err.Error(), "closed network connection") || fault.Fix(err) != "another kernel" {
		t.Errorf("%v", err)
	}
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		t.Error("it passes for a mode that only cannot run here")
	}
	if err := new(End).giveUp(cannot); err != error(cannot) {
		t.Errorf("nothing is left, and yet: %v", err)
	}
}

func TestCheckTakesGoodSpecs(t *testing.T) {
	for _, m := range modes.All {
		for _, s := range []wire.EndSpec{
			{Role: m.Role, Cell: cellOf(m, plan.Cell{}), Addr: "[::1]:5201", Flows: wire.OneFlow(-1)},
			{Role: m.Role, Cell: cellOf(m, plan.Cell{MessageBytes: mostMessage(m), RcvBuf: 1 << 30, SndBuf: 1}),
				Addr: "host:5201", Flows: wire.OneFlow(0)},
		} {
			if err := Check(s); err != nil {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

func mostMessage(m stream.Mode) int {
	if m.Has(stream.RoundTrips) {
		return 0 // it has requests
	}
	if m.Kind == stream.Frame {
		return stream.MaxFramePayload
	}
	if m.Kind.Packets() {
		return stream.MaxDatagramBytes
	}
	return stream.MaxMessageBytes
}

// cellOf is a cell of one end's mode alone.
func cellOf(m stream.Mode, c plan.Cell) plan.Cell {
	if m.Role == stream.RX {
		c.RX = m.Name
	} else {
		c.TX = m.Name
	}
	return c
}

func TestCheckRefusesEachMistake(t *testing.T) {
	if err := Check(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"}, Addr: ":0",
		Flows: wire.OneFlow(-1)}); err != nil {
		t.Errorf("a receiver on a free port: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*wire.EndSpec)
		say    string
	}{
		"port 0 to send to": {func(s *wire.EndSpec) { s.Role, s.Cell.TX, s.Addr = "tx", "tcp", "host:0" },
			"no port to connect to"},
		"no host to send to": {func(s *wire.EndSpec) { s.Role, s.Cell.TX, s.Addr = "tx", "tcp", ":5201" },
			"no host to connect to"},
		"port too large":   {func(s *wire.EndSpec) { s.Addr = ":65536" }, "0..65535"},
		"role":             {func(s *wire.EndSpec) { s.Role = "both" }, `unknown role "both"`},
		"mode":             {func(s *wire.EndSpec) { s.Cell.RX = "teleport" }, "the rx modes are tcp, tcp-trunc"},
		"mode of the peer": {func(s *wire.EndSpec) { s.Cell.RX = "sendfile" }, `unknown rx mode "sendfile"`},
		"message":          {func(s *wire.EndSpec) { s.Cell.MessageBytes = -1 }, "message -1"},
		"huge message": {func(s *wire.EndSpec) { s.Cell.MessageBytes = stream.MaxMessageBytes + 1 },
			"message 1073741825"},
		"read": {func(s *wire.EndSpec) { s.Cell.ReadBytes = -1 }, "read -1"},
		"huge read": {func(s *wire.EndSpec) { s.Cell.ReadBytes = stream.MaxMessageBytes + 1 },
			"read 1073741825"},
		"touch": {func(s *wire.EndSpec) { s.Cell.Touch = "lick" }, "not one of none, read, verify"},
		"touch of nothing": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.Touch = "tcp-trunc", "verify" },
			"tcp-trunc never gets the payload"},
		"kind of memory": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.Area = "devmem", "thp" },
			`devmem cannot use memory of kind "thp"`},
		"dmabuf, no NIC": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.Area = "zcrx-nodev", "udmabuf" },
			"zcrx-nodev has no NIC"},
		"long buffers": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.RXBufLen = "uring", 8192 },
			"it applies to zcrx, zcrx-nodev, devmem, not to rx uring"},
		"token batch": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.TokenBatch = "devmem", 1025 },
			"token_batch 1025: 1025 is outside 0..1024"},
		"rcvbuf":       {func(s *wire.EndSpec) { s.Cell.RcvBuf = -1 }, "rcvbuf -1"},
		"huge rcvbuf":  {func(s *wire.EndSpec) { s.Cell.RcvBuf = 1<<30 + 1 }, "rcvbuf 1073741825: "},
		"sndbuf":       {func(s *wire.EndSpec) { s.Cell.SndBuf = -1 }, "sndbuf -1"},
		"huge sndbuf":  {func(s *wire.EndSpec) { s.Cell.SndBuf = 1<<30 + 1 }, "sndbuf 1073741825: "},
		"CPU":          {func(s *wire.EndSpec) { s.Flows[0].CPU = 9999 }, "CPU 9999 is not online"},
		"negative CPU": {func(s *wire.EndSpec) { s.Flows[0].CPU = -2 }, "CPU -2 is not online"},
		"address":      {func(s *wire.EndSpec) { s.Addr = "" }, "ADDR:PORT"},
		"no port":      {func(s *wire.EndSpec) { s.Addr = "10.0.0.1" }, "ADDR:PORT"},
		"unknown engine": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.UringEngine = "uring", "nosuch" },
			"unknown io_uring engine"},
		"gather too long": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.GatherUs = "uring", new(1000000) },
			"gather 1000000: 1s is outside 0s..100ms"},
		"gather negative": {func(s *wire.EndSpec) { s.Cell.RX, s.Cell.GatherUs = "uring", new(-1) },
			"gather -1: -1µs is outside"},
		"engine of no use": {func(s *wire.EndSpec) { s.Cell.UringEngine = "native" },
			"uring_engine native: it applies to uring, zcrx, zcrx-nodev, udp-uring, uring-zc, rr-uring-zc, " +
				"not to rx tcp"},
		"bare IPv6": {func(s *wire.EndSpec) { s.Addr = "fd00::1:5201" }, "IPv6 in brackets"},
	} {
		s := rxSpec("tcp", kib)
		c.change(&s)
		usage := (*UsageError)(nil)
		err := Check(s)
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, not %q", name, err, c.say)
		}
		if _, err := Open(s); !errors.As(err, &usage) {
			t.Errorf("%s: opened: %v", name, err)
		}
	}
}

func TestOpenFailuresLeaveNothing(t *testing.T) {
	port := peerPort(t)
	before := streamtest.Holding(t)
	for name, c := range map[string]struct {
		spec wire.EndSpec
		is   error
	}{
		"port in use": {func() wire.EndSpec {
			s := rxSpec("uring", mib)
			s.Addr = port.Addr().String()
			return s
		}(), unix.EADDRINUSE},
		"not our address": {func() wire.EndSpec { s := rxSpec("tcp", mib); s.Addr = "192.0.2.1:0"; return s }(),
			unix.EADDRNOTAVAIL},
		"congestion control": {func() wire.EndSpec {
			s := rxSpec("tcp", mib)
			s.Cell.Congestion =
				"nosuch"
			return s
		}(), unix.ENOENT},
	} {
		if _, err := Open(c.spec); !errors.Is(err, c.is) || fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix %q", name, err, fault.Fix(err))
		}
	}
	for _, m := range modes.All {
		s := rxSpec(m.Name, kib)
		if m.Role == stream.TX {
			s = txSpec(m.Name, kib)
		}
		if m.Has(stream.RoundTrips) {
			s.Cell.MessageBytes = 0
		}
		e, err := Open(s)
		if err == nil {
			closeEnd(t, e)
			continue
		}
		if u := (*fault.Unsupported)(nil); !errors.As(err, &u) || u.Fix() == "" ||
			!strings.Contains(err.Error(), cmp.Or(m.SendsAs, m.Name)) {
			t.Errorf("%s %s: %v", m.Role, m.Name, err)
		}
	}
	streamtest.NoMore(t, before, 16<<20)
}

func TestCloseWithoutRun(t *testing.T) {
	before := streamtest.Holding(t)
	for _, s := range []wire.EndSpec{rxSpec("tcp", mib+1), rxSpec("uring", mib+1), txSpec("msg-zerocopy", mib+1),
		txSpec("uring-zc", mib+1)} {
		e, err := Open(s)
		if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		closeEnd(t, e)
		if r := e.Run(context.Background(), lasting(time.Second)); r.Verdict != results.Failed || r.Reason == "" {
			t.Errorf("run after close: %s %q", r.Verdict, r.Reason)
		}
	}
	streamtest.NoMore(t, before, 4*mib)
}

func TestRunIsOnce(t *testing.T) {
	r, s := open(t, rxSpec("tcp", mib)), txSpec("tcp", mib)
	s.Addr = r.Addr().String()
	tx := open(t, s)
	first := background(context.Background(), r, lasting(50*time.Millisecond))
	result(t, background(context.Background(), tx, lasting(50*time.Millisecond)))
	result(t, first)
	if again := result(t, background(context.Background(), r,
		lasting(time.Second))); again.Verdict != results.Failed || !strings.Contains(again.Reason, "once") {
		t.Errorf("second run: %s %q", again.Verdict, again.Reason)
	}
}

// Close aborts a run, in every phase of it, and is safe beside it.
func TestCloseWhileRunning(t *testing.T) {
	before := streamtest.Holding(t)
	for name, meet := range map[string]bool{"waiting for the sender": false, "with payload under way": true} {
		r, err := Open(rxSpec("tcp", mib))
		if err != nil {
			t.Fatal(err)
		}
		res := background(context.Background(), r, endless())
		var sent <-chan wire.EndResult
		if meet {
			s := txSpec("tcp", mib)
			s.Addr = r.Addr().String()
			tx := open(t, s)
			sent = background(context.Background(), tx, endless())
			flows(t, r)
		} else {
			await.Pause("it waits by then", 20*time.Millisecond)
		}
		closeEnd(t, r)
		if got := result(t, res); got.Verdict != results.Failed || !strings.Contains(got.Reason, "aborted") {
			t.Errorf("%s: %s %q", name, got.Verdict, got.Reason)
		}
		if meet {
			if got := result(t, sent); got.Verdict != results.Failed {
				t.Errorf("%s: sender %s %q", name, got.Verdict, got.Reason)
			}
		}
	}
	before.FDs += 1 // the sender's payload is closed with the test
	before.Payloads++
	streamtest.NoMore(t, before, 16<<20)
}

func TestPinnedThreadAndItsFigures(t *testing.T) {
	kind.Timed(t)
	rx, tx := rxSpec("tcp", mib), txSpec("tcp", mib)
	rx.Flows[0].CPU, rx.MeasureCPUs, rx.SampleMs = 0, []int{0}, 20
	sch := lasting(300 * time.Millisecond)
	r, s := runBoth(t, rx, tx, sch, sch)
	checkMoved(t, r, s, "tcp")
	h := r.Host
	if h.CPUBusyCores == nil || *h.CPUBusyCores <= 0 || *h.CPUBusyCores > 1.0001 {
		t.Errorf("busy cores of one CPU: %v", deref(h.CPUBusyCores))
	}
	if h.StatCoverage == nil || *h.StatCoverage < 0.5 || *h.StatCoverage > 1.5 {
		t.Errorf("coverage: %v", deref(h.StatCoverage))
	}
	if d := deref(h.CPUAppCores) + deref(h.CPUSysCores) + deref(h.CPUSoftCores) - deref(h.CPUBusyCores); d > 0.01 ||
		d < -0.01 {
		t.Errorf("app, sys and soft miss busy by %v", d)
	}
	if len(h.Series) == 0 || len(h.Series[0].T) < 5 || len(h.Series[0].T) != len(h.Series[0].V) {
		t.Errorf("time series: %+v", h.Series)
	}
	if r.ProcUserS+r.ProcSysS <= 0 || r.ProcUserS+r.ProcSysS > 2*float64(r.FlowNs)/1e9 {
		t.Errorf("CPU time of the process: %v user, %v system, in %v", r.ProcUserS, r.ProcSysS, time.Duration(r.FlowNs))
	}
	for _, res := range []wire.EndResult{r, s} {
		if d := time.Duration(res.FlowNs); d < 295*time.Millisecond || d > 5*time.Second {
			t.Errorf("the flow of 300 ms lasted %v", d)
		}
	}
}

// What a run says of its flow holds together.
func TestFiguresOfARun(t *testing.T) {
	rx, tx := rxSpec("tcp", mib), txSpec("tcp", mib)
	rx.Flows[0].CPU, rx.MeasureCPUs = 0, []int{0}
	r, s := flowUntil(t, rx, tx, moved(64*mib))
	checkMoved(t, r, s, "tcp")
	if e := r.Host.Env; e.AppCPU != "0" || e.CPUsMeasured != "0" || e.Congestion == "" || e.Kernel == "" {
		t.Errorf("env %+v", e)
	}
	for _, res := range []wire.EndResult{r, s} {
		if res.Host.TotalBytes == nil || *res.Host.TotalBytes != res.Total.Bytes || res.Host.Bytes == nil ||
			*res.Host.Bytes > res.Total.Bytes {
			t.Errorf("bytes %v of %v, counted %d", res.Host.Bytes, res.Host.TotalBytes, res.Total.Bytes)
		}
		want := 8 * float64(*res.Host.Bytes) / 1e9 / *res.Host.DurationS
		if got := deref(res.Host.ThroughputGbps); got < 0.999*want || got > 1.001*want || got <= 0 {
			t.Errorf("%v Gbit/s, not %v", got, want)
		}
	}
	if r.Host.Mismatches == nil || s.Host.Mismatches != nil {
		t.Errorf("mismatches: receiver that verified %v, sender %v", r.Host.Mismatches, s.Host.Mismatches)
	}
}

func deref(f *float64) float64 {
	if f == nil {
		return -1
	}
	return *f
}

func TestStrangersAreCountedAndTheFlowRuns(t *testing.T) {
	r := open(t, rxSpec("tcp", mib))
	s := txSpec("tcp", mib)
	s.Addr = r.Addr().String()
	tx := open(t, s)
	res, sent := begin(t, r, tx)
	flows(t, r)
	flows(t, tx)
	for range 20 {
		c, err := net.Dial("tcp", r.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(await.Deadline())
		c.Write([]byte("hello?"))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) { // the port closes it
			t.Fatal(err)
		}
		c.Close()
	}
	tx.stop()
	got := result(t, res)
	checkMoved(t, got, result(t, sent), "tcp")
	if got.Strangers != 20 || !strings.Contains(strings.Join(got.Warnings, "\n"), "20 connections") {
		t.Errorf("%d strangers; warnings %q", got.Strangers, got.Warnings)
	}
}
