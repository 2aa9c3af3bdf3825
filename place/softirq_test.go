package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/veth"
	"golang.org/x/sys/unix"
)

// fixture is a NIC of two queues with interrupts 24 and 25.
func fixture(t *testing.T, rps string) (root string, read func() map[string]string) {
	t.Helper()
	root = t.TempDir()
	files := map[string]string{"proc/irq/24/smp_affinity_list": "0-7", "proc/irq/25/smp_affinity_list": "3",
		"sys/class/net/eth0/queues/rx-0/rps_cpus": rps, "sys/class/net/eth0/queues/rx-1/rps_cpus": "00", "sys/class/net/eth0/queues/tx-0/xps_cpus": "00"}
	put(t, root, files)
	return root, func() map[string]string {
		out := map[string]string{}
		for name := range files {
			b, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(filepath.Dir(name))] = strings.TrimSpace(string(b))
		}
		return out
	}
}

func TestPlaceByInterrupts(t *testing.T) {
	root, read := fixture(t, "ff")
	before := read()
	p := &Placement{Dev: "eth0", CPU: 3}
	if err := p.place(root+"/proc", root+"/sys", []int{24, 25}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"24": "3", "25": "3", "rx-0": "0", "rx-1": "00", "tx-0": "00"}
	if d := cmp.Diff(want, read()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if p.By != "irq" || p.Check() != nil || !strings.Contains(p.String(), "interrupts of eth0") {
		t.Errorf("%s by %s: %v", p, p.By, p.Check())
	}
	if err := p.Undo(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, read()); d != "" {
		t.Errorf("not restored: -before +after\n%s", d)
	}
}

func TestPlaceByRPS(t *testing.T) {
	root, read := fixture(t, "00")
	before := read()
	p := &Placement{Dev: "eth0", CPU: 37}
	if err := p.place(root+"/proc", root+"/sys", nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"24": "0-7", "25": "3", "rx-0": "20,00000000", "rx-1": "20,00000000", "tx-0": "00"}
	if d := cmp.Diff(want, read()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if p.By != "rps" || !strings.Contains(p.String(), "RPS") {
		t.Errorf("%s by %s", p, p.By)
	}
	if err := p.Undo(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, read()); d != "" {
		t.Errorf("not restored: -before +after\n%s", d)
	}
}

// What irqbalance moves is noticed, and is not ours to restore.
func TestMovedBySomebodyElse(t *testing.T) {
	root, read := fixture(t, "00")
	p := &Placement{Dev: "eth0", CPU: 3}
	if err := p.place(root+"/proc", root+"/sys", []int{24}); err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"proc/irq/24/smp_affinity_list": "5"})
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "irq 24 of eth0 was set to 3 and is now 5") || !strings.Contains(stream.FixOf(err), "irqbalance") {
		t.Errorf("%v", err)
	}
	if err := p.Undo(); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("undo: %v", err)
	}
	if read()["24"] != "5" {
		t.Error("somebody else's setting was undone")
	}
}

func TestPlaceFails(t *testing.T) {
	root, read := fixture(t, "00")
	before := read()
	p := &Placement{Dev: "eth0", CPU: 3}
	err := p.place(root+"/proc", root+"/sys", []int{24, 99})
	if err == nil || !strings.Contains(err.Error(), "irq 99") || stream.FixOf(err) == "" {
		t.Errorf("an interrupt that is not there: %v", err)
	}
	if err := p.Undo(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, read()); d != "" {
		t.Errorf("not restored: -before +after\n%s", d)
	}
	if err := (&Placement{Dev: "no0"}).place(root+"/proc", root+"/sys", nil); err == nil || stream.FixOf(err) == "" {
		t.Errorf("no queues: %v", err)
	}
	for errno, want := range map[error]string{unix.EIO: "manages this interrupt", unix.EPERM: "run as root"} {
		err := irqKnob("/proc", 24).explain("set 3 to", &os.PathError{Op: "write", Path: "x", Err: errno})
		if !errors.Is(err, errno) || !strings.Contains(stream.FixOf(err), want) {
			t.Errorf("%v: %v, fix %q", errno, err, stream.FixOf(err))
		}
	}
}

func TestMask(t *testing.T) {
	for cpu, want := range map[int]string{0: "1", 3: "8", 31: "80000000", 32: "1,00000000", 65: "2,00000000,00000000"} {
		if got := mask(cpu); got != want {
			t.Errorf("CPU %d: %s, want %s", cpu, got, want)
		}
	}
	if !sameMask("0", "00000000,00000000") || !sameMask("8", "00000000,00000008") || sameMask("8", "80") {
		t.Error("masks are compared wrongly")
	}
}

// In a namespace, the interfaces of which /sys does not show.
func TestIntegrationSoftirqInNetns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	err = pair.SUT.Netns.Do(func() error {
		before := rpsNow(t, pair.SUT.Dev)
		p, err := Softirq(pair.SUT.Dev, 0)
		if err != nil {
			return err
		}
		if p.By != "rps" || !sameMask(rpsNow(t, pair.SUT.Dev), "1") || p.Check() != nil {
			t.Errorf("%s: RPS %s, %v", p, rpsNow(t, pair.SUT.Dev), p.Check())
		}
		err = p.Undo()
		if now := rpsNow(t, pair.SUT.Dev); now != before {
			t.Errorf("RPS is %s, was %s", now, before)
		}
		if _, err := Softirq("no0", 0); err == nil || stream.FixOf(err) == "" {
			t.Errorf("no such interface: %v", err)
		}
		if _, err := Softirq(pair.SUT.Dev, 8191); err == nil || stream.FixOf(err) == "" {
			t.Errorf("no such CPU: %v", err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rpsNow(t *testing.T, dev string) string {
	sys, err := mountSysfs()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer sys.Close()
	v, err := rpsKnob(fdPath(sys), dev, "rx-0").get()
	if err != nil {
		t.Error(err)
	}
	return v
}

func TestEvidence(t *testing.T) {
	for _, x := range []struct {
		name  string
		e     Evidence
		fault string
	}{
		{"right", Evidence{2, map[int]int{2: 100}, map[int]uint64{2: 5000, 0: 10}}, ""},
		{"nearly", Evidence{2, map[int]int{2: 96, 1: 4}, nil}, ""},
		{"elsewhere", Evidence{2, map[int]int{1: 70, 2: 30}, nil}, "ran on CPU 2 in 30 % of 100 looks only, and on CPUs 1-2 in all"},
		{"nowhere", Evidence{2, nil, nil}, "too few packets to tell"},
		{"few", Evidence{2, map[int]int{2: 9}, nil}, "9 looks"},
		{"contradicted", Evidence{2, map[int]int{2: 100}, map[int]uint64{1: 5000}}, "processed no packet"},
	} {
		if got := x.e.Fault(); !strings.Contains(got, x.fault) || x.fault == "" && got != "" {
			t.Errorf("%s: %q, want %q", x.name, got, x.fault)
		}
	}
}
