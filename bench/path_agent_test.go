// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// slowAgentEnv makes agents that this test binary is take their time: each question about a path is
// for up to so many milliseconds on its way, and so is its answer.
const slowAgentEnv = "ZCBENCH_TEST_SLOW_AGENT"

func beSlowAgent() {
	var most int
	fmt.Sscan(os.Getenv(slowAgentEnv), &most)
	late := func() { await.Pause("it is on its way", time.Duration(rand.IntN(most+1))*time.Millisecond) }
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	go func() { out.CloseWithError(agent.Serve(context.Background(), in, out)) }()
	said := make(chan struct{})
	slow := make(chan int, 1)
	go func() {
		defer close(said)
		lines, of := bufio.NewReaderSize(fromAgent, wire.MaxLine), -1
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var r wire.Response
			json.Unmarshal(line, &r)
			select {
			case of = <-slow:
			default:
			}
			if r.ID == of {
				late()
			}
			os.Stdout.Write(line)
		}
	}()
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			break
		}
		var req wire.Request
		json.Unmarshal(line, &req)
		if req.Op == wire.OpPathRead {
			late()
			slow <- req.ID
		}
		toAgent.Write(line)
	}
	toAgent.Close()
	<-said
}

// byCommand is a host that a command leads to, in a namespace, whose agent takes its time, and
// whose clock is ahead of ours where the kernel can do that.
func byCommand(t *testing.T, ns *veth.Netns, lateMs, aheadS int) string {
	t.Helper()
	bin, err := os.Executable()
	name := filepath.Join(t.TempDir(), "zcbench")
	if err == nil {
		err = os.Symlink(bin, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	clock := ""
	if aheadS > 0 && exec.Command("unshare", "--time", "--monotonic", "1", "--fork", "true").Run() == nil { // Linux 5.6
		clock = fmt.Sprintf("unshare --time --monotonic %d --fork --kill-child ", aheadS)
	}
	return fmt.Sprintf("exec:nsenter --net=%s %senv %s=%d %s agent", ns.Path(), clock, slowAgentEnv, lateMs, name)
}

// within tells that a step has figures, and that nothing which was not lost is taken for a loss,
// but for packets that may wait between the two.
func within(s *results.PathStep, wait int64) bool {
	const own = 10 // that a bridge says by itself now and then
	return s.Sent != nil && *s.LostLeast <= wait && *s.LostMost >= -own && *s.UntoldLeast <= wait && len(s.Told) == 0
}

// Both hosts are reached by a command, and answer late, each time another time; their clocks are
// an hour apart. Between them a
// bridge is read here. What its port drops is found there, and without the bridge's interfaces
// between the two hosts; where nothing is dropped nothing is said to be.
func TestIntegrationAlongThePathOfExec(t *testing.T) {
	kind.Timed(t)
	r, between := bridgedRigOf(t, func(ns *veth.Netns, name string) string {
		return byCommand(t, ns, 4, map[string]int{"tg": 5000}[name])
	})
	t.Logf("the clocks are %v apart", time.Duration(r.TG.OffsetNs-r.SUT.OffsetNs).Round(time.Second))
	if ahead := r.TG.OffsetNs - r.SUT.OffsetNs; r.TG.Spec.Command[2] == "unshare" && ahead < 4000e9 {
		t.Errorf("the TG's clock is %d ns ahead", ahead)
	}
	r.Opt.Duration = 500 * time.Millisecond
	namedNetns(t, "between", between)
	const bridge = 50 // packets that wait there for a CPU, at most: 25 ms of them
	const ends, port = "tg:eth0 tx -> sut:eth0 rx", "netns:between/p1 rx -> netns:between/p2 tx"
	run := func(path string) *results.Record {
		c := plan.Cell{ID: "x", RX: "udp", TX: "udp", MessageBytes: 1000, PaceBitsPS: 16e6, Path: path}
		rec := r.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK || rec.SUT.Path == nil || rec.SUT.Path.Check() != nil {
			t.Fatalf("%s: %s (%s), %v: %+v", rec.Verdict, rec.Reason, rec.Fix, rec.Warnings, rec.SUT.Path)
		}
		for _, s := range rec.SUT.Path.Between {
			t.Logf("%s: %d sent, skew %d, lost %d, %d to %d, told %+v", rec.SUT.Path.Step(&s), *s.Sent, *s.Skew,
				*s.Lost, *s.LostLeast, *s.LostMost, s.Told)
		}
		return &rec
	}
	rec := run("tg:eth0,sut:eth0")
	if s := step(t, rec.SUT.Path, ends); !within(s, bridge) || *s.Sent < 500 || !s.Assumed || len(s.Unknown) != 1 {
		t.Errorf("%+v where nothing is lost", s)
	}
	r.Opt.Bytes = 200e3
	rec = run("tg:eth0,sut:eth0")
	r.Opt.Bytes = 0
	if s := step(t, rec.SUT.Path, ends); !within(s, bridge) || *s.Sent < 200 {
		t.Errorf("%+v of 200 datagrams", s)
	}
	inNetns(t, between, "tc qdisc add dev p2 root tbf rate 8mbit burst 4k limit 8k")
	rec = run("tg:eth0,sut:eth0")
	if s := step(t, rec.SUT.Path, ends); *s.UntoldLeast < 150 || *s.LostMost-*s.LostLeast > *s.LostMost ||
		uint64(*s.LostLeast) > *rec.SUT.Packets.Lost {
		t.Errorf("%+v where half is lost; the ends lost %d", s, *rec.SUT.Packets.Lost)
	}
	rec = run("tg:eth0,netns:between/p1,netns:between/br0,netns:between/p2,sut:eth0")
	s := step(t, rec.SUT.Path, port)
	if len(s.Told) != 1 || s.Told[0].Name != "qdisc drops" || s.Told[0].Packets < 150 || *s.UntoldLeast > 0 ||
		*s.UntoldMost < 0 {
		t.Errorf("%+v", s)
	}
	for _, name := range []string{"tg:eth0 tx -> netns:between/p1 rx", "netns:between/p2 tx -> sut:eth0 rx"} {
		if s := step(t, rec.SUT.Path, name); !within(s, 0) {
			t.Errorf("%s: %+v, but nothing was lost there", name, s)
		}
	}
}

// What cannot be followed at far hosts is refused with the host, the place and the fix.
func TestIntegrationFarPathsThatCannotBe(t *testing.T) {
	r, _ := bridgedRigOf(t, func(ns *veth.Netns, _ string) string { return byCommand(t, ns, 0, 0) })
	for list, want := range map[string]string{
		"tg:eth0,sut:nosuch9": `host sut: interface 2, "sut:nosuch9", at byte 9: no such interface there: ip ` +
			`link lists them`,
		"tg:eth0,netns:tg/lo": `interface 2, "netns:tg/lo", at byte 9: it is in the network namespace of the ` +
			`host tg, as tg:eth0 is: write tg:lo`,
	} {
		tg := r.TG.Spec.Command[1][len("--net="):]
		openThat(t, "tg", tg)
		st := &stage{hosts: &hosts{SUT: r.SUT, TG: r.TG}, spec: &matrix.Spec{Cells: []plan.Cell{{Path: list}}}}
		err := st.checkPaths(t.Context())
		if bad := (*inputError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}

// openThat gives a namespace a name beside those that have one.
func openThat(t *testing.T, name, path string) {
	t.Helper()
	was := openNamed
	openNamed = func(p string) (*veth.Netns, error) {
		if strings.HasSuffix(p, "/"+name) {
			return veth.OpenNetns(path)
		}
		return was(p)
	}
	t.Cleanup(func() { openNamed = was })
}

// An agent whose counters are nonsense is given up, and the run says so.
func TestIntegrationAlongThePathOfALiar(t *testing.T) {
	r := newRigOf(t, impatient, host.Limits{})
	for name, x := range map[string]struct {
		op       wire.Op
		how, say string
	}{
		"other interfaces": {wire.OpPathOpen, `"result":{"hops":[{"index":1},{"index":2}]}`,
			"path-open: it was asked for 1 interface, and told of 2"},
		"no interface": {wire.OpPathOpen, `"result":{"hops":[{"index":-1}]}`, "an index that none has"},
		"huge counters": {wire.OpPathRead, `"result":{"hops":[{"first":{"rx_packets":18446744073709551615}}]}`,
			"a counter of"},
		"no counters": {wire.OpPathRead, `"result":{"hops":[]}`,
			"path-read: it was asked for 1 interface, and told of 0"},
		"an older agent": {wire.OpPathOpen, `"error":{"message":"unknown request \"path-open\"","verdict":"failed"}`,
			`host sut: unknown request "path-open"`},
	} {
		r.restartBad(t, x.how, x.op)
		f := &farPath{ctx: t.Context(), h: r.sut}
		places, err := ifpath.ParseRun("sut:eth0,tg:eth0")
		if err != nil {
			t.Fatal(err)
		}
		places[0].Dev, places[1] = "lo", hops.Place{Dev: "lo"}
		p, err := hops.OpenFar(places, nil, func(string) hops.Far { return f })
		if err == nil {
			_, err = p.Read()
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.say) {
			t.Errorf("%s: %v, want %q", name, err, x.say)
		}
	}
}

// Ctrl-C ends what waits for a far host that only says that it lives, at once: it is not asked for
// anything else, and not taken for lost.
func TestIntegrationAlongThePathInterrupted(t *testing.T) {
	r := newRigOf(t, host.Limits{Answer: time.Hour, End: 500 * time.Millisecond}, host.Limits{})
	once := r.restartBad(t, "mute", wire.OpPathRead)
	places, err := ifpath.ParseRun("sut:lo,tg:lo")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	f := farPath{ctx: ctx, h: r.sut}
	p, err := hops.OpenFar(places[:1], nil, func(string) hops.Far { return &f })
	if err != nil {
		t.Fatal(err)
	}
	ended := errors.New("Ctrl-C")
	go func() {
		await.So(func() bool { _, err := os.Stat(once); return err != nil || t.Context().Err() != nil })
		cancel(ended) // it has been asked, and says nothing
	}()
	if _, err := p.Read(); !errors.Is(err, ended) {
		t.Error(err)
	}
	if err := p.Close(); err != nil || r.sut.Err() != nil {
		t.Errorf("%v; the host: %v", err, r.sut.Err())
	}
}

// Whatever a far host tells that passes as counters, a journal takes what is made of it.
func TestAlongOfMutatedReadings(t *testing.T) {
	const well = `{"hops":[{"first":{"rx_packets":10,"tx_packets":20,"rx_bytes":5},"again":{"rx_packets":11,"tx_packets":20},"qdisc_drops":3,"qlen":1,"qdisc":8},
		{"first":{"rx_packets":9,"tx_packets":576460752303423488},"again":{"rx_packets":12,"rx_missed_errors":7},"qdisc_drops":0,"qlen":0,"qdisc":0}],"backlog":4,"backlog_known":true,"processed":[{"cpu":0,"packets":3}]}`
	const hop = `{"hops":[{"index":2,"kind":"veth","peer":3},{"index":3,"kind":"vlan","master":1}]}`
	rnd := rand.New(rand.NewPCG(7, 8))
	taken := 0
	for range 700 {
		f := &madeUp{rnd: rnd, hops: hop, well: well}
		p, err := hops.OpenFar([]hops.Place{{Host: "tg", Dev: "a"}, {Host: "tg", Dev: "b"}, {Dev: "lo"}}, nil,
			func(name string) hops.Far { return f })
		if err != nil {
			continue
		}
		from, err := p.Read()
		to, rerr := p.Read()
		if errors.Join(err, rerr) == nil {
			d := p.Between(from, to, hops.Seen{})
			got := alongOf(p, &d)
			if _, err := json.Marshal(got); err != nil || got.Check() != nil {
				t.Fatalf("%v, %v: %+v", err, got.Check(), got)
			}
			taken++
		}
		p.Close()
	}
	if taken < 70 {
		t.Errorf("only %d of them were readings", taken)
	}
}

// madeUp is a far host that says what was made up.
type madeUp struct {
	rnd        *rand.Rand
	hops, well string
}

func (f *madeUp) Inode() uint64 { return 0 }
func (f *madeUp) Close() error  { return nil }

func (f *madeUp) say(well string) []byte {
	if f.rnd.IntN(3) > 0 {
		return []byte(well)
	}
	return mutate(f.rnd, well)
}

func (f *madeUp) Open(places []hops.Place) ([]hops.Hop, error) {
	var got wire.PathOpened
	err := wire.Response{Result: f.say(f.hops)}.Decode(&got)
	return got.Found(), err
}

func (f *madeUp) Read() (hops.Reading, error) {
	var got wire.PathReading
	err := wire.Response{Result: f.say(f.well)}.Decode(&got)
	return got.Reading(), err
}

// Two far hosts in one namespace have one reader, and others their own.
func TestFarPaths(t *testing.T) {
	at := func(kind, boot, netns string) *host.Host {
		return &host.Host{Spec: host.Spec{Kind: kind}, Info: wire.HelloResult{NetNS: netns,
			Env: measure.Env{BootID: boot, ToolVersion: version.Tool()}}}
	}
	for name, x := range map[string]struct {
		sut, tg       *host.Host
		fars, readers int
	}{
		"one namespace": {at("ssh", "a", "4:1"), at("exec", "a", "4:1"), 2, 1},
		"another":       {at("ssh", "a", "4:1"), at("ssh", "a", "4:2"), 2, 2},
		"two machines":  {at("ssh", "a", "4:1"), at("ssh", "b", "4:1"), 2, 2},
		"no boot":       {at("ssh", "", "4:1"), at("ssh", "", "4:1"), 2, 2},
		"one far":       {at("netns", "a", "4:1"), at("ssh", "a", "4:1"), 1, 1},
		"none":          {at("netns", "a", "4:1"), at("local", "a", "4:1"), 0, 0},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		of := farPaths(ctx, x.sut, x.tg)
		cancel()
		fars, readers := 0, map[hops.Far]bool{}
		for _, name := range ifpath.Hosts {
			if f := of(name); f != nil {
				if fars++; f.(*farPath).ctx.Err() == nil {
					t.Errorf("Ctrl-C does not reach the reader of %s", name)
				}
				readers[f] = true
			}
		}
		if fars != x.fars || len(readers) != x.readers {
			t.Errorf("%s: %d far hosts with %d readers", name, fars, len(readers))
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	here := strings.TrimSpace(string(boot))
	for _, x := range []struct {
		boot, netns string
		want        uint64
	}{{here, "4:4026531840", 4026531840}, {"another", "4:4026531840", 0}, {"", "4:1", 0}, {here, "nonsense", 0},
		{here, "", 0}} {
		if got := (&farPath{h: at("exec", x.boot, x.netns)}).Inode(); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}
