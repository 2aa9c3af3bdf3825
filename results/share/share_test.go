// SPDX-License-Identifier: MIT

package share

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
	"github.com/zcbench/zcbench/results/plantest"
)

// secrets are what tells whose the made hosts are; none of it may get out.
var secrets = []string{"rack7-customer", "netops", "10.20.30.40", "fe80::1234", "0c:42:a1:00:11:22",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "ens1f0np0", "/home/alice", "SN-4711-X", "0000:41:00.0"}

// made is a journal of two hosts with a NIC, in whose every text a secret is hidden, and its
// folder.
func made(t testing.TB) (results.Journal, *environment.Folder) {
	t.Helper()
	zero, all := 0.0, 100.0
	zcrx, tcp, copied := plantest.Modes("zcrx", "tcp"), plantest.Modes("tcp", "tcp"), plantest.Modes("devmem", "tcp")
	zcrx.Set, zcrx.Area, zcrx.RXBufLen = "sut:ring rx=4096", "heap:"+secrets[0], 32768
	j := plantest.Journal(7, 8, plantest.Cell{Cell: tcp, Gbps: 62, Cores: 2, TGCores: 1, Watts: 300, CV: .01},
		plantest.Cell{Cell: zcrx, Gbps: 92, Cores: 1, TGCores: 1, Watts: 290, CV: .01, RXCopied: &zero,
			Limit: plan.BySender},
		plantest.Cell{Cell: copied, Verdict: results.Invalid, Reason: "at " + secrets[2], RXCopied: &all})
	dir := t.TempDir()
	w, err := results.Create(dir, j.Header)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := environment.Write(w.Folder(), survey.New([]survey.Fact{
		{Name: "nic/speed", Value: "100000"}, {Name: "nic/PCI vendor", Value: "0x15b3"},
		{Name: "nic/PCI device", Value: "0x1021"}, {Name: "nic/serial", Value: secrets[8]},
		{Name: "nic/header split", Value: "on"}, {Name: "nic/near CPUs", Value: "0-15"},
		{Name: "numa/node 0 CPUs", Value: "0-15"}, {Name: "cpu/microcode", Value: secrets[4]},
		{Name: "sysctl/net.core.rmem_max", Value: "536870912"},
		{Name: "kernel/command line", Value: "root=" + secrets[7]},
		{Name: "sysctl/net.core.default_qdisc", Value: secrets[0]}, {Name: "kernel/version", Value: "#1 " + secrets[1]},
		{Name: "iommu/units", Value: secrets[9] + " " + secrets[3]}, {Name: "boot/id", Value: secrets[5]},
		{Name: "cpufreq/driver", Value: "/sys/x " + secrets[7]}, {Name: "process/alice", Value: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range j.Records {
		r := &j.Records[i]
		r.StartUTCNs = 1_795_900_000_000_000_000 + int64(i)
		r.Flags, r.Warnings = []string{"smt-siblings", secrets[6]}, []string{secrets[3]}
		for k, h := range []*results.Host{&r.SUT, &r.TG} {
			h.Name = "ssh:" + secrets[1] + "@" + secrets[0]
			h.Env = measure.Env{Hostname: secrets[0], BootID: fmt.Sprint("boot", k), Kernel: "6.17.0-1.el10", CPUs: 16,
				Driver: "mlx5_core", Firmware: "229.0.154.0/pkg 229.1.1", Dev: secrets[6],
				CPUModel: "Example CPU @ 2.60GHz",
				Governor: "performance", Environment: hash, ToolVersion: "v1.2.3", Placement: secrets[6]}
		}
	}
	return j, environment.Open(dir)
}

// What is shared has the figures and the proof, nothing that tells whose it is, is the same each
// time, and can be read and believed.
func TestShared(t *testing.T) {
	j, beside := made(t)
	f := Of(j, beside)
	text := f.Encode()
	for _, s := range append(secrets, "boot0", "alice") {
		if strings.Contains(strings.ToLower(string(text)), strings.ToLower(s)) {
			t.Errorf("%q is in it", s)
		}
	}
	for _, want := range []string{`"format": "zcbench-share"`,
		`{"name": "firmware", "value": "229.0.154.0/pkg 229.1.1"}`,
		`{"name": "nic/PCI device", "value": "0x1021"}`, `{"name": "cpu", "value": "Example CPU @ 2.60GHz"}`,
		`{"name": "rx_buf_len", "value": "32768"}`, `"held_by": "sender"`, `["smt-siblings"]`, `"date": "2026-11-2`,
		`{"name": "sysctl/net.core.rmem_max", "value": "536870912"}`, `"unit": "Gbit/s"`, `"zero_copy_bytes": `,
		`"ok": 8, "invalid": 0`, `"ok": 0, "invalid": 8`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if got := f.Cells[1].NotTold; !slices.Equal(got, []string{"area", "set"}) {
		t.Errorf("not told: %q", got)
	}
	if got := f.Name(); !regexp.MustCompile(`^zcbench-mlx5_core-6\.17\.0-1\.el10-2026-11-\d\d\.json$`).MatchString(
		got) {
		t.Errorf("its name is %s", got)
	}
	if again := Of(j, beside).Encode(); !bytes.Equal(text, again) {
		t.Error("it is another one the second time")
	}
	read, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if bad := read.Implausible(); bad != nil || read.NotHardware() != "" {
		t.Errorf("%q, %s", bad, read.NotHardware())
	}
	if p := read.Cells[1].SUT.Proof; p == nil || p.CopiedShare() != 0 ||
		read.Cells[1].SUT.Figure("throughput_gbps").Lo == nil {
		t.Errorf("%+v", read.Cells[1].SUT)
	}
	if len(text) > 20_000 {
		t.Errorf("%d bytes for three cells", len(text))
	}
}

// A kernel is told without what somebody has put at its end.
func TestRelease(t *testing.T) {
	for _, same := range []string{"6.17.0", "6.18.0-rc3", "6.18.0-rc3+", "6.8.0-1020-azure", "6.1.0-28-amd64",
		"6.12.57+deb13-amd64", "5.14.0-503.11.1.el9_5.x86_64", "6.11.4-301.fc41.x86_64", "6.4.0-150600.23.38-default",
		"6.1.112-122.189.amzn2023.x86_64", "6.14.0-27-generic", "6.12.41+deb12-cloud-amd64", "6.6.30-1-lts"} {
		if got := release(same); got != same {
			t.Errorf("%s: %s", same, got)
		}
	}
	for from, want := range map[string]string{"6.17.0-acme-rack7": "6.17.0", "6.17.0-rack7-generic": "6.17.0",
		"6.17.0-1.el10.rack7.x86_64": "6.17.0-1.el10", "6.17.0-10.20.30.40": "6.17.0",
		"6.18.0-rc3-gdeadbeef":         "6.18.0-rc3",
		"6.17.0-1-10.20.30.40-generic": "6.17.0-1", "6.17.0+rack7": "6.17.0", "rack7": "", "": ""} {
		if got := release(from); got != want || release(got) != got {
			t.Errorf("%s: %q, want %q", from, got, want)
		}
	}
}

// No fact of a record, nor a listed one of a snapshot, tells what its hosts are called, whole or in
// part, nor an address.
func TestSecretInEachFact(t *testing.T) {
	marks := []string{"rack7", "customer", "netops", "10.20.30.40"}
	for _, secret := range []string{secrets[0], "at:rack7", "x@rack7", "a.rack7.example.com", "rack7_a", "customer",
		"netops-1", "v10.20.30.40"} {
		j, _ := made(t)
		for i := range j.Records {
			for _, h := range []*results.Host{&j.Records[i].SUT, &j.Records[i].TG} {
				h.Name = "ssh:" + secrets[1] + "@" + secrets[0] + ".example.com"
				e := &h.Env
				e.Kernel, e.Driver, e.Firmware, e.CPUModel = "6.17.0-"+secret, secret, "22.1 "+secret, "CPU "+secret
				e.Governor, e.Mitigations, e.Congestion = secret, "on "+secret, secret
			}
		}
		f := Of(j, nil)
		text := string(f.Encode()) + f.Name()
		for _, m := range marks {
			if strings.Contains(text, m) {
				t.Errorf("%s: %s is in\n%s", secret, m, text[:min(len(text), 900)])
			}
		}
		if !strings.Contains(text, `{"name": "kernel", "value": "6.17.0"}`) {
			t.Errorf("%s: no kernel", secret)
		}
	}
}

// Of the modules that a host uses only those of the kernel are told.
func TestListedModules(t *testing.T) {
	for name, values := range map[string][2]string{"congestion": {"bbr", "acme"},
		"sysctl/net.ipv4.tcp_congestion_control": {"cubic", "acme2"}, "sysctl/net.core.default_qdisc": {"fq",
			"acme3"}} {
		if !fits(name, values[0]) || fits(name, values[1]) {
			t.Errorf("%s: %q", name, values)
		}
	}
}

// Words that many hosts are called by keep no fact from being told.
func TestCommonNames(t *testing.T) {
	j, _ := made(t)
	for i := range j.Records {
		for _, h := range []*results.Host{&j.Records[i].SUT, &j.Records[i].TG} {
			h.Name, h.Env.Hostname, h.Env.CPUs = "ssh:root@intel-mlx5-4096", "intel-mlx5-4096", 4096
			h.Env.CPUModel = "Intel Xeon 4096"
		}
	}
	f := Of(j, nil)
	for name, want := range map[string]string{"cpu": "Intel Xeon 4096", "driver": "mlx5_core", "cpus": "4096"} {
		if got := f.Host(ends.SUT, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Of each option it is decided whether it is told.
func TestEveryOptionIsDecided(t *testing.T) {
	for i := range plan.Options {
		name := plan.Options[i].Name
		if shared[name] == (kept[name] != "") {
			t.Errorf("option %s: put it into shared or into kept", name)
		}
	}
	for name := range shared {
		if plan.LookupOption(name) == nil {
			t.Errorf("there is no option %s", name)
		}
	}
	if n := len(plan.Options); n > maxSettings {
		t.Errorf("%d options, but a cell has %d at the most", n, maxSettings)
	}
}

// A folder of more cells than anybody reads is cut, and says so.
func TestManyCells(t *testing.T) {
	var cells []plantest.Cell
	for i := range maxCells + 3 {
		c := plantest.Modes("tcp", "tcp")
		c.MessageBytes, c.ID = 4096+i, fmt.Sprint(i)
		cells = append(cells, plantest.Cell{Cell: c, Gbps: 10, Cores: 1, TGCores: 1, Watts: 200, CV: .01})
	}
	f := Of(plantest.Journal(1, 1, cells...), nil)
	text := f.Encode()
	if len(f.Cells) != maxCells || f.LeftOut != 3 || len(text) > MaxBytes {
		t.Errorf("%d cells, %d left out, %d bytes", len(f.Cells), f.LeftOut, len(text))
	}
	if _, err := Parse(text); err != nil {
		t.Error(err)
	}
}

// A mode that cannot run with any other is a cell without one.
func TestFoldedCell(t *testing.T) {
	j := plantest.Journal(1, 1, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 10, Cores: 1, TGCores: 1},
		plantest.Cell{Cell: plan.Cell{ID: "zcrx/*", RX: "zcrx"}},
		plantest.Cell{Cell: plan.Cell{ID: "*/devmem", TX: "devmem"}})
	text := Of(j, nil).Encode()
	if f, err := Parse(text); err != nil || len(f.Cells) != 3 || f.Cells[1].Runs.Unsupported != 1 {
		t.Errorf("%v: %s", err, text)
	}
	for _, bad := range []string{`{"name": "rx", "value": "tcp"},`, `{"name": "rx", "value": "zcrx"}`} {
		if _, err := Parse(changed(t, text, bad, "")); err == nil {
			t.Errorf("without %s it is read", bad)
		}
	}
}

// Of a folder that payload is written to nothing is told, however it is called, and no file with
// one is read.
func TestFolderIsNotTold(t *testing.T) {
	for _, dir := range []string{"/home/alice", "/écurie/alice", "/", "/ alice", "/данные"} {
		c := plantest.Modes("tcp", "tcp")
		c.Then = plan.ThenWrite(dir)
		text := Of(plantest.Journal(1, 1, plantest.Cell{Cell: c, Gbps: 10, Cores: 1, TGCores: 1}), nil).Encode()
		f, err := Parse(text)
		if err != nil || len(f.Cells) != 1 || f.Cells[0].Setting("then") != "write" ||
			bytes.Contains(text, []byte("write:")) {
			t.Errorf("%s: %v: %s", dir, err, text)
		}
		if _, err := Parse(changed(t, text, `"write"`, `"write:`+dir+`"`)); err == nil {
			t.Errorf("a file with %s is read", dir)
		}
	}
}

// changed is the file with some text replaced.
func changed(t *testing.T, text []byte, old, by string) []byte {
	t.Helper()
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("no %q in\n%s", old, text)
	}
	return bytes.Replace(text, []byte(old), []byte(by), 1)
}

// What no zcbench has written is refused, with the reason.
func TestRefused(t *testing.T) {
	j, beside := made(t)
	text := Of(j, beside).Encode()
	for _, x := range []struct{ old, by, want string }{
		{`"schema": 1`, `"schema": 2`, "schema 2"},
		{`"format": "zcbench-share"`, `"format": "zcbench-journal"`, "format"},
		{`"schema": 1`, `"schema": 1, "hostname": "x"`, "unknown field"},
		{`"schema": 1`, `"schema": 1, "schema": 1`, "unchanged"},
		{`"schema": 1`, `"SCHEMA": 1`, "unchanged"},
		{`"mlx5_core"`, `"10.0.0.1"`, "tells whose"},
		{`"mlx5_core"`, `"0c:42:a1:00:11:22"`, "tells whose"},
		{`"mlx5_core"`, `"/etc/x"`, "tells whose"},
		{`"mlx5_core"`, `"root@x"`, "tells whose"},
		{`"mlx5_core"`, `"[a](https:b)"`, "not a value"},
		{`"6.17.0-1.el10"`, `"6.17.0-acme-rack7"`, "not a value"},
		{`"6.17.0-1.el10"`, `"6.17.0-10.20.30.40"`, "not a value"},
		{`"229.0.154.0/pkg 229.1.1"`, `"192.168.7.1"`, "tells whose"},
		{`"tool_version": "v1.2.3"`, `"tool_version": "v1 *x*"`, "tool_version"},
		{`"mlx5_core"`, `"a\u001b[2J"`, "not a value"},
		{`"name": "driver"`, `"name": "dmi/product_serial"`, "not a fact"},
		{`"name": "driver"`, `"name": "congestion"`, "come after"},
		{`"value": "zcrx"`, `"value": "alice"`, "unknown rx mode"},
		{`"name": "rx_buf_len", "value": "32768"`, `"name": "set", "value": "x"`, "not a setting"},
		{`"name": "rx_buf_len", "value": "32768"`, `"name": "rx_buf_len", "value": "032768"`, "not one of its values"},
		{`"unit": "Gbit/s"`, `"unit": "GB/s"`, "want Gbit/s"},
		{`"n": 8`, `"n": 9`, "but 8 count"},
		{`"ok": 8`, `"ok": -1`, "nobody makes"},
		{`"held_by": "sender"`, `"held_by": "alice"`, "held_by"},
		{`["smt-siblings"]`, `["alice"]`, "flag"},
		{`"date": "2026-`, `"date": "2026-13-`, "date"},
		{`"area"`, `"heap"`, "not_told"},
	} {
		if _, err := Parse(changed(t, text, x.old, x.by)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.by, err, x.want)
		}
	}
	for name, bad := range map[string][]byte{"empty": nil, "cut": text[:len(text)/2],
		"more": append(slices.Clone(text), "{}"...),
		"long": append(slices.Clone(text), bytes.Repeat([]byte(" "), MaxBytes)...), "list": []byte("[]"),
		"null": []byte("null")} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// Figures that cannot be are found, and so is zero copy without proof.
func TestImplausible(t *testing.T) {
	find := func(f *File, figure string) *Figure { return f.Cells[1].SUT.Figure(figure) }
	scale := func(x *Figure, by float64) {
		for _, v := range []*Number{&x.Median, x.Lo, x.Hi, &x.Min, &x.Max} {
			*v = Number(rounded(float64(*v) * by))
		}
	}
	for want, change := range map[string]func(*File){
		"over a link of 100":         func(f *File) { scale(find(f, "throughput_gbps"), 1.2) },
		"but it has 16 CPUs":         func(f *File) { scale(find(f, "cpu_busy_cores"), 20) },
		"but cores and rate make":    func(f *File) { scale(find(f, "ns_per_kb"), 2) },
		"but watts and rate make":    func(f *File) { scale(find(f, "joule_per_gb"), 2) },
		"but their parts make":       func(f *File) { scale(find(f, "cpu_sys_cores"), 3) },
		"without proof of zero copy": func(f *File) { f.Cells[1].SUT.Proof = nil },
		"of its payload was copied":  func(f *File) { f.Cells[1].SUT.Proof.Copied = f.Cells[1].SUT.Proof.ZeroCopy },
		"the sender":                 func(f *File) { scale(find(f, "throughput_gbps"), .2) },
		"the SUT's kernel": func(f *File) {
			f.SUT = slices.DeleteFunc(f.SUT, func(x Fact) bool { return x.Name == "kernel" })
		},
		"no run counts": func(f *File) {
			for i := range f.Cells {
				f.Cells[i].Runs.OK, f.Cells[i].SUT, f.Cells[i].TG = 0, End{}, End{}
			}
		},
	} {
		j, beside := made(t)
		f := Of(j, beside)
		change(f)
		if bad := strings.Join(f.Implausible(), "\n"); !strings.Contains(bad, want) {
			t.Errorf("%s: %q", want, bad)
		}
	}
	j, beside := made(t)
	for want, change := range map[string]func(*File){
		"one machine": func(f *File) { f.OneMachine = true },
		"SUT has no NIC": func(f *File) {
			f.SUT = slices.DeleteFunc(f.SUT, func(x Fact) bool { return x.Name == "nic/PCI vendor" })
		},
		"TG is a hypervisor's": func(f *File) {
			f.TG[slices.IndexFunc(f.TG, func(x Fact) bool { return x.Name == "nic/PCI vendor" })].Value = "0x1af4"
		},
	} {
		f := Of(j, beside)
		if change(f); !strings.Contains(f.NotHardware(), want) {
			t.Errorf("%s: %q", want, f.NotHardware())
		}
	}
}

// Handed in are the files of results/hardware: each is one of two hosts with a NIC, whose figures
// can be, under its own name.
func TestHandedIn(t *testing.T) {
	paths, err := filepath.Glob("../hardware/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bad := handedIn(filepath.Base(path), text); bad != "" {
			t.Errorf("%s: %s", path, bad)
		}
	}
	j, beside := made(t)
	f := Of(j, beside)
	if bad := handedIn(f.Stem()+"-2.json", f.Encode()); bad != "" {
		t.Errorf("a sound one: %s", bad)
	}
	if bad := handedIn("mine.json", f.Encode()); !strings.Contains(bad, "call it") {
		t.Errorf("under another name: %q", bad)
	}
	if bad := handedIn(f.Stem()+"[x](y).json", f.Encode()); !strings.Contains(bad, "call it") {
		t.Errorf("under a name with a link: %q", bad)
	}
	f.OneMachine = true
	if bad := handedIn(f.Name(), f.Encode()); !strings.Contains(bad, "one machine") {
		t.Errorf("of one machine: %q", bad)
	}
}

func handedIn(name string, text []byte) string {
	f, err := Parse(text)
	if err != nil {
		return err.Error()
	}
	bad := f.Implausible()
	if why := f.NotHardware(); why != "" {
		bad = append(bad, why)
	}
	if !strings.HasPrefix(name, f.Stem()) || !strings.HasSuffix(name, ".json") || !word().MatchString(name) {
		bad = append(bad, "call it "+f.Name())
	}
	return strings.Join(bad, "; ")
}

// FuzzParse is of a file that anybody may have written: what is read is what is written again, and
// nothing in it tells a terminal anything.
func FuzzParse(f *testing.F) {
	j, beside := made(f)
	whole := Of(j, beside)
	f.Add(whole.Encode())
	f.Add((&File{Format: Format, Schema: Schema, Tool: "v1", Date: "2026-11-29", SUT: []Fact{}, TG: []Fact{},
		Cells: []Cell{}}).Encode())
	f.Fuzz(func(t *testing.T, text []byte) {
		frugal.Do(t, func() {
			got, err := Parse(text)
			if err != nil {
				return
			}
			got.Implausible()
			got.NotHardware()
			if again := got.Encode(); !bytes.Equal(bytes.TrimSpace(again), bytes.TrimSpace(text)) ||
				!json.Valid(again) {
				t.Errorf("read as\n%s", again)
			}
			if strings.ContainsAny(got.Name(), "/\\") || strings.HasPrefix(got.Name(), ".") {
				t.Errorf("its name is %q", got.Name())
			}
		})
	})
}
