// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(s *Spec) []string {
	var out []string
	for _, c := range s.Cells {
		out = append(out, c.ID)
	}
	return out
}

// The reference experiment has no fewer cells than the slides, and what it has more is asked
// where the sender copies and nothing is BIG TCP.
func TestBattle(t *testing.T) {
	s, err := ParseWhole("x.yaml", []byte(file(t, "battle-of-the-zcs")))
	if err != nil {
		t.Fatal(err)
	}
	if s.Short || s.Duration != 100*time.Second || s.Repetitions != 10 || s.All.AreaBytes != 64<<20 ||
		*s.All.Queue != 0 ||
		len(s.Power.Sources) == 0 {
		t.Errorf("%+v, %+v, %+v", s.Plan, s.All, s.Power)
	}
	theirs := map[string]int{}
	for _, c := range s.Cells {
		if c.MTU != 4148 || c.MessageBytes != 64<<20 || !*c.GRO || *c.Queue != 0 || c.Area != "" || *c.GatherUs != 0 {
			t.Errorf("%+v", c)
		}
		for _, b := range []int{c.BigTCPBytes, c.TGBigTCPBytes} {
			if b != 65536 && b != 131072 {
				t.Errorf("%s: packets of %d bytes", c.ID, b)
			}
		}
		own := c.Touch == "read" || c.RXBuffer == 256<<10 || c.HeaderSplit != nil && *c.HeaderSplit
		if own && (c.TX != "tcp" || c.BigTCPBytes != 65536 || c.TGBigTCPBytes != 65536) {
			t.Errorf("%s is neither theirs nor where ours is compared", c.ID)
		}
		if !own {
			theirs[fmt.Sprint(c.RX, " ", c.TokenBatch)]++
		}
	}
	// 3 senders, SW and HW GRO, BIG TCP of either end, 1 and 2 CPUs.
	const each = 3 * 2 * 2 * 2 * 2
	if want := map[string]int{"tcp 0": each, "zcrx 0": each, "devmem 1": each, "devmem 512": each}; !maps.Equal(theirs,
		want) {
		t.Errorf("of theirs there are %v, want %v", theirs, want)
	}
	declared := map[bool]int{}
	for _, id := range s.Primary {
		ofReceivers := strings.Contains(id, "/tcp ")
		if declared[ofReceivers]++; ofReceivers && !strings.Contains(id, "touch=read") {
			t.Errorf("%s counts, and nobody reads its payload", id)
		}
	}
	if declared[true] != 4 || declared[false] != 4 {
		t.Errorf("what counts are %q", s.Primary)
	}
	if want := []map[string]string{{"header_split": "true", "rx_buffer": "262144"}, {"header_split": "true",
		"rx_buffer": "67108864"}}; !reflect.DeepEqual(s.Against, want) {
		t.Errorf("against %v", s.Against)
	}
	for _, e := range []End{s.SUT, s.TG} {
		if e.Settings.Host.RXRing != 4096 || e.Settings.Host.TXRing != 4096 ||
			e.Settings.Sysctl["net.ipv4.tcp_rmem"] != "4096 87380 536870912" ||
			e.Settings.Sysctl["net.core.rmem_max"] != "536870912" || e.Layouts["1cpu"] != (Layout{0, 0}) {
			t.Errorf("%+v", e)
		}
	}
	if s.Base == nil || s.Base.RX != "tcp" || s.Base.Touch != "read" {
		t.Errorf("baseline %v", s.Base)
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "experiments", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestProbeSample(t *testing.T) {
	if s := mustParse(t, "name: x\nfactors: {rx: tcp, tx: tcp}\nprobe_sample: 4\n"); s.Cells[0].ProbeSample != 4 {
		t.Errorf("one packet in %d", s.Cells[0].ProbeSample)
	}
}

func TestDocumentedSweep(t *testing.T) {
	if s := mustParse(t, file(t, "../docs/memory-cost")); len(s.Cells) != 6 || s.Base == nil {
		t.Errorf("docs/memory-cost.yaml: %d cells", len(s.Cells))
	}
}

func TestShippedExperiments(t *testing.T) {
	if s := mustParse(t, file(t, "quick")); len(s.Cells) != 6 || s.SUT.Host != "" || s.Gates.ThroughputCV != nil ||
		s.Gates.Copied == nil {
		t.Errorf("quick: %+v", s)
	}
	if s := mustParse(t, file(t, "lab")); len(s.Cells) != 6*6+1+2 {
		t.Errorf("lab: %d cells", len(s.Cells))
	}
	if s := mustParse(t, file(t, "starvation")); len(s.Cells) != 31 || s.Base == nil || len(s.Primary) != 1 ||
		s.Replays() != 10 {
		t.Errorf("starvation: %d cells, baseline %+v, %d replays", len(s.Cells), s.Base, s.Replays())
	}
	for name, cells := range map[string]int{"probe-cost": 6, "probe-cost-lab": 3} {
		if s := mustParse(t, file(t, name)); len(s.Cells) != cells || s.Base == nil || s.Base.Probe != "" ||
			s.Repetitions < 10 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestExpand(t *testing.T) {
	s := mustParse(t, `
name: x
factors:
  rx: [tcp, zcrx]
  tx: tcp
  rx_buf_len: [4096, 32K]
  mtu: [1500, 9000]
exclude:
  - {rx: zcrx, mtu: 1500}
include:
  - {rx: uring, tx: [tcp, uring], mtu: 1500}
`)
	want := []string{"tcp/tcp mtu=1500", "tcp/tcp mtu=9000", "zcrx/tcp rx_buf_len=4Ki mtu=9000",
		"zcrx/tcp rx_buf_len=32Ki mtu=9000",
		"uring/tcp mtu=1500", "uring/uring mtu=1500"}
	if d := cmp.Diff(want, ids(s)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if s.Folded != 2 { // rx_buf_len does not concern tcp
		t.Errorf("%d folded", s.Folded)
	}
}

func TestErrors(t *testing.T) {
	const ok = "name: x\nfactors: {rx: tcp, tx: tcp}\n"
	for _, x := range []struct{ text, want string }{
		{"", "x.yaml:1:1: the file is empty"},
		{"name: x\n", "neither factors nor include"},
		{"factors: {rx: tcp, tx: tcp}", "no name"},
		{"- a\n", "x.yaml:1:1: the experiment must be a mapping (key: value), this is a list"},
		{ok + "sut: netns:a\n", "sut must be a mapping (such as sut: {host: \"netns:a\"}), this is a value"},
		{ok + "tg: netns:b\n", "tg must be a mapping (such as tg: {host: \"netns:b\"}), this is a value"},
		{ok + "repetition: 6\n", `x.yaml:3:1: unknown key "repetition" in the experiment; did you mean repetitions?`},
		{ok + "repetitions: six\n", `x.yaml:3:14: "six" is not a whole number`},
		{ok + "probe_sample: 12\n", `x.yaml:3:15: probe_sample: "12" is not a power of two, 1 to 1024`},
		{ok + "repetitions: 0\n", "x.yaml:3:14: 0 is outside 1..1000"},
		{ok + "duration: 10\n", `x.yaml:3:11: "10" is not a duration`},
		{ok + "duration: 1ms\n", "x.yaml:3:11: 1ms is outside 100ms"},
		{ok + "name: y\n", "x.yaml:3:1: "},
		{ok + "---\nname: y\n", "second document"},
		{ok + "gates: {cv: 2%}\n", `x.yaml:3:9: unknown key "cv" in gates`},
		{ok + "gates: {throughput_cv: much}\n", `x.yaml:3:24: "much" is not a fraction`},
		{ok + "adaptive: {interval: 1%, min: 5}\n", "fewer than 6 runs give no interval"},
		{ok + "adaptive: {interval: 1%, min: 50}\n", "exceeds the 10 repetitions"},
		{ok + "adaptive: {min: 6}\n", "adaptive needs interval"},
		{ok + "exclude: {rx: zcrx}\n", "x.yaml:3:10: this exclude matches no cell"},
		{ok + "exclude: {rx: tcp}\n", "every cell is excluded"},
		{ok + "baseline: {rx: uring}\n", "baseline matches 0 cells"},
		{ok + "sut: {host: local}\n", "must be given together"},
		{ok + "tg: {queue: 1}\n", `unknown key "queue" in tg`},
		{ok + "sut: {layouts: {3cpu: {app: 1, irq: 1}}}\n", `unknown layout "3cpu"`},
		{ok + "sut: {layouts: {1cpu: {app: 1, irq: 2}}}\n", "app on CPU 1 and irq on CPU 2"},
		{ok + "sut: {layouts: {1cpu: {app: 1}}}\n", "needs both"},
		{ok + "sut: {host: local, addr: nonsense}\ntg: {host: local}\n",
			`x.yaml:3:26: "nonsense" is not an IP address`},
		{ok + "ipv6: true\nsut: {host: local, addr: 127.0.0.1}\ntg: {host: local}\n",
			"x.yaml:3:7: ipv6 is true, and sut.addr is 127.0.0.1"},
		{ok + "sut: {host: local, addr: \"::1\"}\nipv6: false\ntg: {host: local}\n",
			"x.yaml:4:7: ipv6 is false, and sut.addr is ::1"},
		{ok + "sut: &a {dev: x}\ntg: *a\n", "anchor"},
		{"name: x\nfactors: {rx: nosuch, tx: tcp}\n", `x.yaml:2:15: rx: unknown rx mode "nosuch"`},
		{"name: x\nfactors: {rx: tcp, tx: tcp, color: red}\n",
			`x.yaml:2:29: unknown factor "color"; docs/matrix.md and docs/options.md list the factors`},
		{"name: x\nfactors: {rx: [tcp, tcp], tx: tcp}\n", `x.yaml:2:21: rx: "tcp" twice`},
		{"name: x\nfactors: {rx: [], tx: tcp}\n", "rx has no value"},
		{"name: x\nfactors: {rx: tcp}\n", "no tx"},
		{"name: x\nfactors: {rx: tcp, tx: tcp, mtu: 60}\n", "x.yaml:2:34: mtu: 60 is outside 1280..65535"},
		{"name: x\nfactors: {rx: tcp, tx: tcp, gro: maybe}\n", "not on or off"},
		{"name: x\nfactors: {rx: tcp, tx: tcp, big_tcp: 1M}\n", "outside 4096..524280"},
		{"name: x\nfactors:\n  rx: tcp\n tx: tcp\n", "x.yaml:"},
		{"name: [x\n", "not YAML"},
		{"name: x\ntx: tcp\nfactors: {rx: tcp}\n", "x.yaml:2:1: tx is a factor: write it below `factors:`"},
		{"name: x\nfactors:\n\trx: tcp\n", "x.yaml:3:1: not YAML: found character '\t'"},
		{"name: x\nfactors:\n\trx: tcp\n", "indent with spaces, not with a tab"},
		{"name: x\nfactors:\n  rx: [tcp\n  tx: tcp\n", "a list that begins with [ ends with ]"},
		{"name: x\nfactors: {rx: {a: b}, tx: tcp}\n", "a mapping"},
	} {
		_, err := Parse("x.yaml", []byte(x.text))
		e := (*Error)(nil)
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), x.want) || e.Line < 1 || e.Column < 1 {
			t.Errorf("%q:\n%v\nwant %s", x.text, err, x.want)
		}
	}
}

func TestTooManyCells(t *testing.T) {
	var mtus, batches []string
	for i := range 200 {
		mtus = append(mtus, fmt.Sprint(1500+i))
		batches = append(batches, fmt.Sprint(1+i))
	}
	_, err := Parse("x", fmt.Appendf(nil, "name: x\nfactors: {rx: devmem, tx: tcp, mtu: [%s], token_batch: [%s]}\n",
		strings.Join(mtus, ","), strings.Join(batches, ",")))
	if err == nil || !strings.Contains(err.Error(), "more than 10000 cells") {
		t.Error(err)
	}
}

func TestHash(t *testing.T) {
	const text = "name: x\nfactors: {rx: [tcp, uring], tx: tcp}\nsut: {settings: {sysctl: {net.core.a: 1, " +
		"net.core.b: 2, net.core.c: 3}}}\n"
	one := mustParse(t, text).Hash()
	if again := mustParse(t, "# a comment\n\n"+text).Hash(); again != one {
		t.Error("a comment changes the plan")
	}
	for _, more := range []string{"seed: 2\n", "duration: 11s\n", "gates: {drift: off}\n", "tg: {dev: eth1}\n"} {
		if mustParse(t, text+more).Hash() == one {
			t.Errorf("%q does not change the plan", more)
		}
	}
}

// partners is a file with a short version, and with partners of what counts.
const partners = "name: x\nfactors: {rx: [tcp, zcrx], tx: tcp, header_split: [false, true], rx_buffer: [hot, cold]}\n" +
	"baseline: {rx: tcp, header_split: false, rx_buffer: hot}\ncompare: {primary: [{rx: zcrx}], against: " +
	"[{header_split: true, rx_buffer: cold}, {rx_buffer: cold}]}\nshort: {duration: 1s, exclude: " +
	"[{header_split: true, rx_buffer: hot}]}\nduration: 2s\n"

func FuzzParse(f *testing.F) {
	for _, name := range []string{"battle-of-the-zcs", "quick", "lab", "probe-cost", "probe-cost-lab"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "experiments", name+".yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("name: x\nfactors: {rx: tcp, tx: tcp}\nexclude: [{rx: tcp}]\n? a\n"))
	for _, s := range []string{strings.Repeat("[", 2000), strings.Repeat("{a: ", 500), strings.Repeat("- ", 500),
		stairs(100, "a:"), "\ufeffname: x\n", "a: &a [*a]\n",
		"name: ..\n", "!!map {}", "? ? ?", "name: x\nsut: {settings: {sysctl: {kernel.core_pattern: '|/x'}}}\n",
		keys(200),
		plain + "power: [auto, sut:rapl, 'command=touch /x?name=a', redfish=https://evil, " +
			"ipmi?device=/dev/watchdog]\npower_idle: 1s\n",
		partners,
		plain + "power: nvml?helper=/x\npower_interval: 20ms\npower_guard: 0s\n", plain + "power: {a: b}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := frugally(t, "a text", data)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if n := s.Name; strings.ContainsAny(n, "/\x00\n\x1b") || n == "." || n == ".." ||
			filepath.Join("out", n) != "out/"+n {
			t.Fatalf("name %q", n)
		}
		if s.Untrusted() == nil {
			for _, p := range s.Power.Sources {
				o := p.Spec.Options
				if !slices.Contains([]string{"", "rapl", "ipmi", "nvml", "hwmon"}, p.Spec.Name) ||
					o.Get("root")+o.Get("device")+o.Get("helper") != "" {
					t.Fatalf("power source %q is taken for harmless", p.Text)
				}
			}
		}
		for _, e := range []End{s.SUT, s.TG} {
			for name, value := range e.Settings.Sysctl {
				if !strings.HasPrefix(name, "net.") && !strings.HasPrefix(name, "vm.") ||
					strings.ContainsAny(value, "|/\n") {
					t.Fatalf("sysctl %q: %q", name, value)
				}
			}
		}
		if len(s.Cells) == 0 || len(s.Cells) > maxCells || len(s.Cells)*(s.Repetitions) > maxRuns ||
			s.Repetitions < 1 || s.Name == "" {
			t.Fatalf("%+v", s)
		}
		seen := map[string]bool{}
		for _, c := range s.Cells {
			if seen[c.ID] {
				t.Fatalf("cell %q twice", c.ID)
			}
			seen[c.ID] = true
		}
		if again, err := Parse("y", data); err != nil || again.Hash() != s.Hash() {
			t.Fatalf("one text, two plans (%v)", err)
		}
		if s.Short {
			if whole, err := ParseWhole("y", data); err == nil && len(whole.Cells) < len(s.Cells) {
				t.Fatalf("the short version has %d cells, the whole %d", len(s.Cells), len(whole.Cells))
			}
		}
	})
}

// Probes given from outside are part of the plan, and of the baseline.
func TestSetProbe(t *testing.T) {
	const text = "name: x\nfactors: {rx: [tcp, uring], tx: tcp%s}\nbaseline: {rx: tcp}\n"
	s := mustParse(t, fmt.Sprintf(text, ""))
	without := s.Hash()
	if err := s.SetProbe("latency"); err != nil {
		t.Fatal(err)
	}
	if s.Cells[0].Probe != "latency" || s.Cells[1].Probe != "latency" || s.Base.Key() != s.Cells[0].Key() {
		t.Errorf("cells %+v, baseline %+v", s.Cells, s.Base)
	}
	if s.Hash() == without {
		t.Error("probes do not change the plan")
	}
	if s := mustParse(t, "name: x\nfactors: {rx: tcp, tx: tcp, probe: [none, zc]}\n"); s.SetProbe("latency") == nil {
		t.Error("cells that differ in their probes are made one")
	}
}
