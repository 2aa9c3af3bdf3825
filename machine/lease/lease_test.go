// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// machine is a host that is only a table.
type machine struct {
	values map[string]string
	log    []string
	refuse map[string]error          // by setting: what Set answers
	unread map[string]error          // by setting: what Get answers
	asked  map[string]int            // by setting: how often Get was asked
	after  map[string]func(*machine) // by setting: what else Set does
}

func newMachine() *machine {
	return &machine{values: map[string]string{"mtu": "1500", "channels": "4", "rss": "default", "header-split": "off",
		"feature rx-gro": "on", "irqbalance": "running"},
		refuse: map[string]error{}, unread: map[string]error{}, asked: map[string]int{},
		after: map[string]func(*machine){}}
}

func (m *machine) setting(s step) (setting.Setting, error) {
	if _, ok := m.values[s.Name]; !ok {
		return setting.Setting{}, fmt.Errorf("unknown setting %q", s.Name)
	}
	return setting.Setting{Name: s.Name,
		Get: func() (string, error) {
			m.asked[s.Name]++
			if s.Name == "rss" && m.values[hashing] == "off" { // as idpf has it
				return "", nic.ErrTableHidden
			}
			return m.values[s.Name], m.unread[s.Name]
		},
		Set: func(v string) error {
			m.log = append(m.log, s.Name+"="+v)
			if err := m.refuse[s.Name]; err != nil {
				return err
			}
			m.values[s.Name] = v
			if f := m.after[s.Name]; f != nil {
				f(m)
			}
			return nil
		}}, nil
}

func (m *machine) lease(t *testing.T) *Lease {
	l := New(Options{Dir: t.TempDir(), Session: "test"})
	l.where.fake = m.setting
	t.Cleanup(func() { l.Restore() })
	return l
}

func clone(m map[string]string) map[string]string {
	c := map[string]string{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func journals(t *testing.T, dir string) []string {
	t.Helper()
	f, err := filepath.Glob(filepath.Join(dir, "*"+journalExt))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestApplyAndRestoreInOrder(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	l := m.lease(t)
	var onDisk *journal
	m.after["irqbalance"] = func(*machine) { // the first to be set
		f := journals(t, l.opt.Dir)
		b, err := os.ReadFile(f[0])
		if err == nil {
			onDisk, err = parse(b)
		}
		if err != nil {
			t.Error(err)
		}
	}
	err := l.Apply(Want{"eth0", "header-split", "on"}, Want{"eth0", "mtu", "4148"}, Want{"", "irqbalance", "stopped"},
		Want{"eth0", "feature rx-gro", "on"})
	if err != nil {
		t.Fatal(err)
	}
	if onDisk == nil || len(onDisk.Steps) != 4 || onDisk.Steps[1].Before != "1500" ||
		onDisk.Steps[1].Set != "4148" || onDisk.Owner.Session != "test" {
		t.Fatalf("the journal at the first change: %+v", onDisk)
	}
	if got := l.Changes(); len(got) != 3 || !strings.Contains(got[1], "mtu of eth0: 4148 was 1500") {
		t.Errorf("changes %q", got)
	}
	if err := l.Restore(); err != nil {
		t.Fatal(err)
	}
	want := []string{"irqbalance=stopped", "mtu=4148", "header-split=on", "header-split=off", "mtu=1500",
		"irqbalance=running"}
	if d := cmp.Diff(want, m.log); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
	if f := journals(t, l.opt.Dir); len(f) != 0 {
		t.Errorf("left %q", f)
	}
	if e, _ := os.ReadDir(l.opt.Dir); len(e) != 0 {
		t.Errorf("left %v", e)
	}
	if err := l.Restore(); err != nil || len(m.log) != len(want) {
		t.Errorf("restored again: %v, %q", err, m.log)
	}
}

// What a restart of the queues disturbs is as before at the end, although nobody
// asked for it.
func TestKeepsWhatARestartDisturbs(t *testing.T) {
	m := newMachine()
	m.values["rss"] = "0 1 0 1"
	m.after["channels"] = func(m *machine) { m.values["rss"] = "default" }
	before := clone(m.values)
	l := m.lease(t)
	if err := l.Apply(Want{"eth0", "channels", "2"}); err != nil {
		t.Fatal(err)
	}
	if m.values["rss"] != "default" {
		t.Fatal("the machine was not disturbed")
	}
	if err := l.Restore(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
}

// Unless somebody has set it meanwhile.
func TestKeepLeavesWhatOthersSet(t *testing.T) {
	m := newMachine()
	m.after["channels"] = func(m *machine) { m.values["rss"] = "1 1" }
	l := m.lease(t)
	if err := l.Apply(Want{"eth0", "channels", "2"}); err != nil {
		t.Fatal(err)
	}
	delete(m.after, "channels")
	m.values["rss"] = "0 0 1"
	err := l.Restore()
	if err == nil || !strings.Contains(err.Error(), "rss of eth0: left at 0 0 1") || m.values["rss"] != "0 0 1" ||
		m.values["channels"] != "4" {
		t.Errorf("%v, %v", err, m.values)
	}
}

func TestFailureRestoresAll(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(*machine)
		want   string
	}{
		"refused": {func(m *machine) { m.refuse["header-split"] = unix.EOPNOTSUPP }, "operation not supported"},
		"reverted": {func(m *machine) {
			m.after["header-split"] = func(m *machine) {
				m.values["header-split"] = "off"
			}
		}, "set header-split of eth0 to on: it was accepted without an error, but reads back off"},
		"other": {func(m *machine) {
			m.after["header-split"] = func(m *machine) {
				m.values["header-split"] = "half"
				delete(m.after,
					"header-split")
			}
		}, "reads back half"},
		"disturbs": {func(m *machine) {
			m.after["header-split"] = func(m *machine) {
				m.values["feature rx-gro"] = "on"
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			before := clone(m.values)
			c.break_(m)
			l := m.lease(t)
			err := l.Apply(Want{"eth0", "mtu", "4148"}, Want{"eth0", "header-split", "on"},
				Want{"eth0", "feature rx-gro", "off"})
			if c.want == "" {
				if err != nil || m.values["feature rx-gro"] != "off" {
					t.Errorf("a setting that a later one disturbed: %v, %v", err, m.values)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			delete(m.after, "header-split")
			if err := l.Restore(); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, m.values); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestChangedBySomebodyElse(t *testing.T) {
	m := newMachine()
	l := m.lease(t)
	if err := l.Apply(Want{"eth0", "mtu", "4148"}, Want{"eth0", "header-split", "on"}); err != nil {
		t.Fatal(err)
	}
	m.values["mtu"] = "9000"
	err := l.Restore()
	if err == nil || !strings.Contains(err.Error(), "left at 9000") ||
		!strings.Contains(err.Error(), "found 1500, set 4148") {
		t.Errorf("error %v", err)
	}
	if m.values["mtu"] != "9000" || m.values["header-split"] != "off" {
		t.Errorf("%v", m.values)
	}
	// It stays on record, is not repeated unasked, and can be forced.
	dir := l.opt.Dir
	if f := journals(t, dir); len(f) != 1 {
		t.Fatalf("journals %q", f)
	}
	boot, _ := bootID()
	one := func(o FinishOptions) *Report {
		return finishFake(t, journals(t, dir)[0], boot, m, o)
	}
	if r := one(FinishOptions{}); r != nil {
		t.Errorf("said again: %+v", r)
	}
	if r := one(FinishOptions{All: true}); r == nil || r.State != Owing || r.Steps[0].Result != Changed ||
		m.values["mtu"] != "9000" {
		t.Errorf("%+v", r)
	}
	if r := one(FinishOptions{All: true, Force: true, DryRun: true}); r == nil || r.Steps[0].Result != Would ||
		m.values["mtu"] != "9000" {
		t.Errorf("%+v", r)
	}
	if r := one(FinishOptions{All: true, Force: true}); r == nil || r.State != Finished || m.values["mtu"] != "1500" {
		t.Errorf("%+v, %v", r, m.values)
	}
	if f := journals(t, dir); len(f) != 0 {
		t.Errorf("journals %q", f)
	}
}

// holdEnv makes this test binary a process that holds a lease: it says so and
// waits to be killed.
const holdEnv = "ZCBENCH_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		l := New(Options{Dir: dir, Session: "first"})
		l.where.fake = newMachine().setting
		if err := l.Apply(Want{"eth0", "mtu", "4148"}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		await.Kill()
	}
	os.Exit(m.Run())
}

func TestSecondLeaseIsRefusedAndNamesTheFirst(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := out.Read(b); err != nil || string(b[:n]) != "held\n" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	second := func(want Want) error {
		l := New(Options{Dir: dir})
		l.where.fake = newMachine().setting
		return errors.Join(l.Apply(want), l.Restore())
	}
	var busy *Busy
	if err := second(Want{"eth0", "mtu", "9000"}); !errors.As(err, &busy) {
		t.Fatalf("a second lease: %v", err)
	}
	if busy.Owner.PID != cmd.Process.Pid || busy.Owner.Session != "first" || busy.Owner.SinceNs == 0 ||
		!strings.Contains(busy.Error(), "interface eth0 is leased to process") {
		t.Errorf("%v", busy)
	}
	if err := second(Want{"", "irqbalance", "stopped"}); err != nil {
		t.Errorf("another scope: %v", err)
	}
	// The living one is left alone and named.
	r, err := Finish(FinishOptions{Dir: dir, All: true})
	if err != nil || len(r) != 1 || r[0].State != Alive || r[0].Owner.PID != cmd.Process.Pid {
		t.Errorf("%+v, %v", r, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// Its lock died with it; its journal is for who can reach what it names: here
	// a namespace that does not exist.
	r, err = Finish(FinishOptions{Dir: dir})
	if err != nil || len(r) != 1 || r[0].State != Finished || len(r[0].Steps) != 1 || r[0].Steps[0].Result != gone {
		t.Errorf("%+v, %v", r, err)
	}
	if err := second(Want{"eth0", "mtu", "9000"}); err != nil {
		t.Errorf("after the death of the first: %v", err)
	}
}

// Everything that a process leases says for whom.
func TestServeSession(t *testing.T) {
	ServeSession("20260102-030405678", "zcbench run --sut ssh:a")
	defer ServeSession("", "")
	dir := t.TempDir()
	l := New(Options{Dir: dir})
	l.where.fake = newMachine().setting
	defer l.Restore()
	if err := l.Apply(Want{"eth0", "mtu", "9000"}); err != nil {
		t.Fatal(err)
	}
	const says = "session 20260102-030405678 of: zcbench run --sut ssh:a) since"
	if has := ownerIn(filepath.Join(dir,
		step{Dev: "eth0", Index: 1, Netns: 1}.scope().file)); has.PID != os.Getpid() ||
		!strings.Contains(has.String(), says) {
		t.Errorf("the lock says %v", has)
	}
	b, err := os.ReadFile(journals(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if j, err := parse(b); err != nil || !strings.Contains(j.Owner.String(), says) {
		t.Errorf("the journal says %v, %v", j, err)
	}
}

func TestOnPanic(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	l := m.lease(t)
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("the panic became %v", p)
			}
		}()
		defer OnPanic()
		if err := l.Apply(Want{"eth0", "mtu", "4148"}); err != nil {
			t.Error(err)
		}
		panic("boom")
	}()
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
}

func TestLeasesOfOneProcessNest(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	dir := t.TempDir()
	outer, inner := New(Options{Dir: dir}), New(Options{Dir: dir})
	outer.where.fake, inner.where.fake = m.setting, m.setting
	if err := errors.Join(outer.Apply(Want{"eth0", "mtu", "4148"}),
		inner.Apply(Want{"eth0", "mtu", "9000"})); err != nil {
		t.Fatal(err)
	}
	if err := inner.Restore(); err != nil || m.values["mtu"] != "4148" {
		t.Errorf("%v, %v", err, m.values)
	}
	if err := outer.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
	if e, _ := os.ReadDir(dir); len(e) != 0 {
		t.Errorf("left %v", e)
	}
}

func TestEverySettingHasItsPlace(t *testing.T) {
	for _, name := range []string{"mtu", "channels", "ring rx", "rx-buf-len", "feature rx-gro", "header-split",
		"coalesce rx-usecs", "napi 0", "irq 0", "interrupt 24", "rps 0", "xps 0", "rss",
		"gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size", "sysctl vm.nr_hugepages",
		"governor 0", "irqbalance"} {
		if rank(name) == len(order) {
			t.Errorf("%s has no place in the order of dependency", name)
		}
	}
	if rank("channels") > rank("rss") || rank("header-split") < rank("feature rx-gro-hw") ||
		rank("rule x") < rank("rss") {
		t.Error("the order is wrong")
	}
}

func FuzzJournal(f *testing.F) {
	old := `{"kind":"zcbench-lease","version":1,"boot_id":"b","owner":{"pid":1,"command":"x","since_utc_ns":1}}
{"steps":[{"dev":"eth0","ifindex":2,"netns":1,"setting":"mtu","before":"1500","set":"4148"},{"setting":"irqbalance","before":"running","keep":true}]}
{"became":{"1":"stopped"}}
{"reset":{"0":"9000"}}
{"undone":[1],"left":[0]}
`
	f.Add([]byte(old))
	f.Add(sealed(strings.Replace(old, `"version":1`, `"version":3`, 1)))
	f.Add(sealed(strings.Replace(old, `"version":1`, `"version":4`, 1) + `{"where":{"0":"at 7"}}` + "\n"))
	f.Add([]byte(`{"kind":"zcbench-lease","version":1}`))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := parse(b)
		if err != nil {
			return
		}
		for _, i := range j.owed(true) {
			if s := j.Steps[i]; s.Name == "" || s.Dev != "" && s.Index <= 0 {
				t.Errorf("step %+v", s)
			}
		}
		// What is cut off at any place parses too, with fewer or as many steps, but
		// for the first line.
		if cut := b[:len(b)/2]; slices.Contains(cut, '\n') {
			k, err := parse(cut)
			if err != nil || len(k.Steps) > len(j.Steps) {
				t.Errorf("a prefix: %v", err)
			}
		}
	})
}
