// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// pinged is a pair between whose ends a request and its answer go to and fro, some
// thousand times a second, until the test ends; the receiver is this process.
func pinged(t *testing.T) (p *veth.Pair, port string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces, loads eBPF programs")
	}
	p = newPair(t)
	var ln net.Listener
	var ends [2]net.Conn
	var err error
	if err := p.SUT.Netns.Do(func() (err error) {
		ln, err = net.ListenTCP("tcp", &net.TCPAddr{IP: p.SUT.IPv4})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := p.TG.Netns.Do(func() (err error) {
		ends[1],
			err = net.Dial("tcp", ln.Addr().String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if ends[0], err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for i, c := range ends {
		done.Go(func() {
			b := make([]byte, 100)
			for first := i == 1; ; first = false {
				if !first {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
				}
				await.Pause("there are some thousand requests a second", 100*time.Microsecond)
				if _, err := c.Write(b); err != nil {
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		ends[0].Close()
		ends[1].Close()
		done.Wait()
	})
	return p, strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

// The table, the histograms, and the system calls beside them.
func TestIntegrationProbeTable(t *testing.T) {
	p, port := pinged(t)
	wants := []string{
		`(?m)^t0: tcx ingress of lo, zcsut; elsewhere the software receive stamp`,
		`(?m)^total, [1-9]\d*\.\d s$`,
		`(?m)^ +stage +is +count +mean us +p50 us +p90 us`,
		`(?m)^ +tcp-read +age +[1-9]\d+( +\d+\.\d\d){6} +0 +0$`,
		`(?m)^ +wake-return +duration +[1-9]\d+ `,
		`(?m)^tcp-read, ns$`,
		`(?m)^\[ +\d+, +\d+\) +[1-9]\d* \|@+ *\|$`,
		`(?m)^napi_polls +[1-9]\d+ polls$`,
		`(?m)^ +syscall +calls +errors +total ms`,
		`(?m)^ +(read|write) +[1-9]\d+ +\d+ +\d+\.\d{3}( +\d+\.\d{4}){3} +\d+\.\d\d +\d+\.\d *$`,
	}
	longer(t, time.Second, func(d string) (lacking string) {
		status, out, stderr := zcbench(t, "probe", "--netns", p.SUT.Netns.Path(), "--local-port", port, "--duration",
			d, "--syscalls", strconv.Itoa(os.Getpid()))
		if status != 0 || stderr != "" {
			t.Fatalf("exit status %d: %s", status, stderr)
		}
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(out) {
				lacking += fmt.Sprintf("no %s in\n%s", want, out)
			}
		}
		if figures, missing := strings.Index(out, "\ntotal, "), strings.Index(out, "\nmissing\n"); missing >= 0 &&
			missing < figures {
			t.Errorf("the figures come after what is missing:\n%s", out)
		}
		return lacking
	})
	longer(t, 300*time.Millisecond, func(d string) (lacking string) {
		status, plain, stderr := zcbench(t, "probe", "--netns", p.SUT.Netns.Path(), "--local-port", port, "--duration",
			d, "--no-histograms")
		if status != 0 || strings.Contains(plain, "|@") || strings.Contains(plain, "syscall") {
			t.Errorf("without histograms: exit status %d, %s\n%s", status, stderr, plain)
		}
		if !strings.Contains(plain, "tcp-read") {
			return "no tcp-read in\n" + plain
		}
		return ""
	})
	// Nothing of the flow is in the namespace of this process.
	if status, other, stderr := zcbench(t, "probe", "--local-port", port, "--duration", "300ms"); status != 0 ||
		regexp.MustCompile(`(?m)^ +(tcp|wake)-\S+ +(age|duration)`).MatchString(other) {
		t.Errorf("in another namespace: exit status %d, %s\n%s", status, stderr, other)
	}
}

// Intervals are parts of the whole, and figures agree with their buckets.
func TestIntegrationProbeJSON(t *testing.T) {
	p, port := pinged(t)
	longer(t, time.Second, func(d string) (lacking string) {
		status, out, stderr := zcbench(t, "probe", "--netns", p.SUT.Netns.Path(), "--port", port, "--dev", p.SUT.Dev,
			"--duration", d, "--interval", "300ms", "--json",
			"--syscalls", strconv.Itoa(os.Getpid()))
		if status != 0 || stderr != "" {
			t.Fatalf("exit status %d: %s", status, stderr)
		}
		return checkParts(t, out)
	})
}

// checkParts holds the objects of a probe's JSON against each other. Of what depends on how much
// happened meanwhile it says what is lacking.
func checkParts(t *testing.T, out string) (lacking string) {
	t.Helper()
	var parts []probeOutput
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var o probeOutput
		if err := d.Decode(&o); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, o)
	}
	if len(parts) == 0 || parts[len(parts)-1].What != "total" {
		t.Fatalf("%d objects: %s", len(parts), out)
	}
	if len(parts) < 3 {
		return fmt.Sprintf("two intervals at least: %d objects", len(parts))
	}
	total := parts[len(parts)-1]
	sum, seconds := map[string]uint64{}, 0.
	for _, o := range parts[:len(parts)-1] {
		if seconds += o.DurationS; o.What != "interval" || o.DurationS <= 0 || seconds > total.DurationS+.001 {
			t.Errorf("%s of %g s, the end of %g s of %g s", o.What, o.DurationS, seconds, total.DurationS)
		}
		for _, s := range o.Stages {
			checkStage(t, s)
			sum[s.Stage] += s.Count
		}
		for _, c := range o.Syscalls {
			sum[c.Syscall] += c.Calls
		}
	}
	seen := map[string]uint64{}
	for _, s := range total.Stages {
		checkStage(t, s)
		seen[s.Stage] = s.Count
	}
	for _, c := range total.Syscalls {
		seen[c.Syscall] = c.Calls
		if c.MinNs != nil && (*c.MinNs > c.MeanNs || c.MeanNs > *c.MaxNs || c.TotalNs < *c.MaxNs) {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"tcp-enqueued", "tcp-read", "wake-return", "write"} {
		if sum[name] == 0 {
			lacking += name + " "
		}
		if sum[name] > seen[name] {
			t.Errorf("%s: %d in the intervals, %d in all", name, sum[name], seen[name])
		}
	}
	hooks := map[string]bool{}
	for _, h := range total.Hooks {
		hooks[h.Stage] = true
	}
	if total.T0 == "" || !hooks["tcp-read"] || !hooks["napi_polls"] || !hooks["syscalls"] || len(total.Counters) == 0 {
		t.Errorf("t0 %q, hooks %v, %d counters", total.T0, hooks, len(total.Counters))
	}
	return lacking
}

// Where nothing else has the CPUs, an interval is as long as it was asked for.
func TestIntegrationProbeInterval(t *testing.T) {
	kind.Timed(t)
	needRoot(t)
	status, out, stderr := zcbench(t, "probe", "--duration", "1s", "--interval", "300ms", "--json")
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var o probeOutput
		if err := d.Decode(&o); err != nil || o.What == "interval" && (o.DurationS < 0.2 || o.DurationS > 5) {
			t.Errorf("%v: %s of %g s", err, o.What, o.DurationS)
		}
	}
}

func checkStage(t *testing.T, s probeStage) {
	t.Helper()
	var n uint64
	for _, b := range s.Buckets {
		if n += b[2]; b[0] >= b[1] || b[2] == 0 {
			t.Errorf("%s: bucket %v", s.Stage, b)
		}
	}
	switch {
	case n != s.Count:
		t.Errorf("%s: %d in its buckets, count %d", s.Stage, n, s.Count)
	case s.Count == 0 && (s.P50Ns != nil || s.MaxNs != nil || s.MeanNs != nil):
		t.Errorf("%s saw nothing and has figures", s.Stage)
	case s.Count > 0 && (*s.P50Ns > *s.P90Ns || *s.P90Ns > *s.P99Ns || *s.P99Ns > *s.P999Ns ||
		*s.P999Ns > float64(*s.MaxNs)):
		t.Errorf("%s: quantiles out of order: %v", s.Stage, s)
	}
}

// Everything that is attached is timed.
func TestIntegrationProbeOverhead(t *testing.T) {
	kind.Timed(t) // it has the kernel time eBPF programs
	long.Test(t)
	p, port := pinged(t)
	args := []string{"probe", "--netns", p.SUT.Netns.Path(), "--port", port, "--overhead", "--profile", "--syscalls",
		strconv.Itoa(os.Getpid())}
	longer(t, time.Second, func(d string) (lacking string) {
		status, out, stderr := zcbench(t, append(args, "--duration", d, "--json")...)
		if status != 0 || stderr != "" {
			t.Fatalf("exit status %d: %s", status, stderr)
		}
		return checkCosts(t, out)
	})
	longer(t, time.Second, func(d string) (lacking string) {
		status, table, stderr := zcbench(t, append(args, "--duration", d)...)
		if status != 0 {
			t.Errorf("exit status %d, %s", status, stderr)
		}
		if !regexp.MustCompile(
			`(?m)^ +tcp-read +\w+/skb_copy_datagram_\w+ +[1-9]\d* +\d+ +\d+ +\d+ +\d+ +\d\.\d\d +\d+ +\d+\.\d\d *$`).MatchString(table) {
			return "tcp-read in\n" + table
		}
		return ""
	})
}

// checkCosts looks at what JSON says of probes' costs, and says what was not run meanwhile.
func checkCosts(t *testing.T, out string) (lacking string) {
	t.Helper()
	var o overheadOutput
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]probeCost{}
	for _, c := range o.Costs {
		seen[c.Stage] = c
		if c.Reason != "" || c.Runs > 0 && (c.Ns == nil || c.Hz == 0) {
			t.Errorf("%+v", c)
		}
	}
	for _, stage := range []string{"stamp", "tcp-read", "tcp-enqueued", "wake-return", "napi_polls", "syscalls"} {
		switch c := seen[stage]; {
		case c.Runs == 0:
			lacking += stage + " "
		case c.EmptyNs == nil || c.Cores == nil:
			t.Errorf("%s: %+v", stage, c)
		}
	}
	if c := seen["tcp-read"]; c.Runs > 0 && c.HashDesignNs == nil {
		t.Errorf("nothing to compare tcp-read with: %+v", c)
	}
	switch c := seen["profile"]; {
	case c.Runs == 0:
		lacking += "profile"
	case c.Ns == nil || c.EmptyNs != nil || c.Cores == nil || *c.Cores <= 0:
		t.Errorf("a sample's cost: %+v", c)
	}
	if o.What != "overhead" || o.T0 == "" || len(o.Hooks) < len(o.Costs)-3 { // that of stamping, and two of samples
		t.Errorf("%s, t0 %q, %d hooks, %d costs", o.What, o.T0, len(o.Hooks), len(o.Costs))
	}
	return lacking
}

// Root is not needed, only some of what it may do.
func TestIntegrationProbeCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives capabilities away")
	}
	path := built.ForAll(t, "zcbench")
	as := func(caps []uintptr, args ...string) (status int, out, stderr string) {
		var o, e bytes.Buffer
		cmd := exec.CommandContext(t.Context(), path, append([]string{"probe", "--duration", "300ms"}, args...)...)
		cmd.Stdout, cmd.Stderr = &o, &e
		cmd.Dir = filepath.Dir(path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
			AmbientCaps: caps}
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), o.String(), e.String()
	}
	if status, out, stderr := as(nil); status != 2 || out != "" ||
		!strings.Contains(stderr, "it needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN ") {
		t.Errorf("without any: exit status %d, %s%s", status, out, stderr)
	}
	caps := []uintptr{unix.CAP_BPF, unix.CAP_NET_ADMIN, unix.CAP_PERFMON}
	if status, _, stderr := as(caps[:2]); status != 2 || !strings.Contains(stderr, "it needs CAP_PERFMON ") {
		t.Errorf("without one: exit status %d, %s", status, stderr)
	}
	if status, _, stderr := as(caps, "--overhead", "--duration", "1s"); status != 2 ||
		!strings.Contains(stderr, "it needs CAP_SYS_ADMIN ") {
		t.Errorf("--overhead: exit status %d, %s", status, stderr)
	}
	go func() { // this process sleeps meanwhile; it is another user's
		for ts := unix.NsecToTimespec(5e6); t.Context().Err() == nil; {
			unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
		}
	}()
	longer(t, 300*time.Millisecond, func(d string) (lacking string) {
		status, out, stderr := as(caps, "--syscalls", strconv.Itoa(os.Getpid()), "--duration", d)
		if status != 0 || !strings.Contains(out, "t0: tcx ingress of ") {
			t.Errorf("with three: exit status %d, %s\n%s", status, stderr, out)
		}
		if !strings.Contains(out, "clock_nanosleep") {
			return "no clock_nanosleep in\n" + out
		}
		return ""
	})
}

// A scraper gets classic histograms as text, and native ones besides as protocol
// buffers.
func TestIntegrationProbePrometheus(t *testing.T) {
	p, port := pinged(t)
	cmd := exec.CommandContext(await.Context(t), filepath.Join(built.Dir(t), "zcbench"), "probe", "--netns",
		p.SUT.Netns.Path(), "--local-port", port, "--duration", "0", "--prometheus", ":0",
		"--syscalls", strconv.Itoa(os.Getpid()))
	var out bytes.Buffer
	cmd.Stdout = &out
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr := bufio.NewReader(said)
	line, err := stderr.ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "metrics at "))
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("an address that names no host is not of loopback: %q", line)
	}
	text := scrape(t, url, expfmt.NewFormat(expfmt.TypeTextPlain))
	first := histogramOf(text, "tcp-read").GetSampleCount()
	await.Until(t, "a second reading", func() bool {
		text = scrape(t, url, expfmt.NewFormat(expfmt.TypeTextPlain))
		return histogramOf(text, "tcp-read").GetSampleCount() > first && of(text, "zcbench_syscall_seconds_total",
			"write").GetCounter().GetValue() > 0
	})
	proto := scrape(t, url, expfmt.NewFormat(expfmt.TypeProtoDelim))
	read := histogramOf(text, "tcp-read")
	if read.GetSampleCount() == 0 || read.GetSampleSum() <= 0 || len(read.GetBucket()) < 20 {
		t.Errorf("tcp-read as text: %v", read)
	}
	var below uint64
	for _, b := range read.GetBucket() {
		if b.GetCumulativeCount() < below {
			t.Errorf("le %g: %d, before it %d", b.GetUpperBound(), b.GetCumulativeCount(), below)
		}
		below = b.GetCumulativeCount()
	}
	for _, f := range []map[string]*dto.MetricFamily{text, proto} {
		for name, label := range map[string]string{"zcbench_napi_polls_total": "", "zcbench_syscalls_total": "write",
			"zcbench_syscall_seconds_total": "write"} {
			if c := of(f, name, label).GetCounter(); c.GetValue() <= 0 || f[name].GetHelp() == "" {
				t.Errorf("%s of %q: %v", name, label, c)
			}
		}
	}
	if n := histogramOf(proto, "tcp-read"); n.GetSchema() != 3 || len(n.GetPositiveSpan()) == 0 ||
		len(n.GetBucket()) == 0 {
		t.Errorf("tcp-read as a protocol buffer: %v", n)
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	more, _ := io.ReadAll(stderr)
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "total, ") {
		t.Errorf("after Ctrl-C: %v, %s\n%s", err, more, &out)
	}
}

func scrape(t *testing.T, url string, format expfmt.Format) map[string]*dto.MetricFamily {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", string(format))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	got := expfmt.ResponseFormat(resp.Header)
	if got.FormatType() != format.FormatType() {
		t.Fatalf("answered as %s, asked for %s", got, format)
	}
	families := map[string]*dto.MetricFamily{}
	for d := expfmt.NewDecoder(resp.Body, got); ; {
		var f dto.MetricFamily
		err := d.Decode(&f)
		if err == io.EOF {
			return families
		}
		if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}

// of is the metric of a family with a label.
func of(families map[string]*dto.MetricFamily, family, label string) *dto.Metric {
	for _, m := range families[family].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetValue() == label {
				return m
			}
		}
		if label == "" {
			return m
		}
	}
	return nil
}

func histogramOf(families map[string]*dto.MetricFamily, stage string) *dto.Histogram {
	return of(families, "zcbench_latency_seconds", stage).GetHistogram()
}
