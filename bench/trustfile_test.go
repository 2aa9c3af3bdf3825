// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

const reaching = `
name: reaching
factors: {rx: tcp, tx: tcp}
power:
  - rapl
  - sut:command=/opt/meter -u admin:SECRET "$HOME"
  - tg:redfish=https://bmc.example
  - csv=meter.csv
  - nvml?helper=/opt/helper
`

// The dry run prints in full what the file's power sources run, ask and open, and what
// that takes.
func TestDryRunOfAFilesPower(t *testing.T) {
	for _, x := range []struct {
		state, end string
		trusted    bool
	}{{state: "needs --trust-file",
		end: "\nrunning this needs --trust-file, because the file names what is marked so\n"},
		{state: "allowed by --trust-file", trusted: true}} {
		want := strings.ReplaceAll(`
programs to be started
  power: SUT: /bin/sh -c '/opt/meter -u admin:SECRET "$HOME"'   (x.yaml:6:5, STATE)
  power: /opt/helper   (x.yaml:9:5, STATE)

addresses and paths used to read power
  TG: contacts https://bmc.example with the secrets of ZCBENCH_REDFISH_*   (x.yaml:7:5, STATE)
  opens meter.csv   (x.yaml:8:5, STATE)
`, "STATE", x.state) + x.end
		var b bytes.Buffer
		p := preview{spec: experiment(t, reaching).Spec, trusted: x.trusted}
		p.programs(&b)
		p.reached(&b)
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
}

// The dry run prints the programs that make memory, and a file with one is not run.
func TestMemoryOfAFile(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: devmem, tx: [tcp, devmem], area: [heap, 'fd:/opt/make --gpu 0']}\n"+
		"tx_area: 'fd:/opt/fill'\n")
	want := "\nprograms to be started\n  memory: SUT: /opt/make --gpu 0   (x.yaml:2:42, needs --trust-file)\n" +
		"  memory: TG: /opt/fill   (x.yaml:3:10, needs --trust-file)\n" +
		"\nrunning this needs --trust-file, because the file names what is marked so\n"
	var b bytes.Buffer
	p := preview{spec: e.Spec}
	p.programs(&b)
	p.reached(&b)
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	_, err := e.Run(t.Context())
	var at *matrix.Error
	if !errors.As(err, &at) || at.Line != 2 || !errors.As(err, new(*inputError)) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(e.Dir); err == nil {
		t.Error("there are results")
	}
}

// The dry run marks the sysctls that measuring does not need, and a file with one is not run: no
// host is reached, and nothing is written.
func TestSysctlsOfAFile(t *testing.T) {
	const text = "name: x\nfactors: {rx: tcp, tx: tcp}\nsut:\n  host: netns:zcbench-no-such\n  settings:\n    " +
		"sysctl:\n" +
		"      net.core.rmem_max: 1000000\n      net.ipv4.conf.all.rp_filter: 0\ntg: {host: " +
		"\"netns:zcbench-no-such\"}\n"
	for _, trusted := range []bool{false, true} {
		e := experiment(t, text)
		e.TrustFile = trusted
		state, end := "needs --trust-file",
			"\nrunning this needs --trust-file, because the file names what is marked so\n"
		if trusted {
			state, end = "allowed by --trust-file", ""
		}
		want := "\nset on the hosts for the runs, and restored\n  SUT:\n    sysctl net.core.rmem_max = 1000000\n" +
			"    sysctl net.ipv4.conf.all.rp_filter = 0   (x.yaml:8:7, " + state + ")\n  TG: nothing\n" + end
		var b bytes.Buffer
		p := preview{spec: e.Spec, missing: func(plan.Cell) *Missing { return nil }, trusted: trusted}
		p.settings(&b)
		p.reached(&b)
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		_, err := e.Run(t.Context())
		var at *matrix.Error
		if refused := errors.As(err, &at) && at.Line == 8 && errors.As(err, new(*inputError)); refused == trusted ||
			err == nil {
			t.Errorf("trusted %v: %v", trusted, err)
		}
		if _, err := os.Stat(e.Dir); err == nil {
			t.Error("there are results")
		}
	}
}

// A file's sensors need nobody's leave, and nothing is said of it. A helper that a flag
// names is a program that is started.
func TestDryRunOfHarmlessPower(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\npower: [auto, later, rapl, sut:nvml]\n")
	var b bytes.Buffer
	p := preview{spec: e.Spec}
	p.programs(&b)
	p.reached(&b)
	if b.Len() > 0 {
		t.Errorf("%s", b.String())
	}
	flag, err := power.ParseSpec("nvml?helper=/opt/helper")
	if err != nil {
		t.Fatal(err)
	}
	p = preview{spec: experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\n").Spec,
		power: PowerOptions{Sources: []power.Spec{flag}}}
	p.programs(&b)
	p.reached(&b)
	if want := "\nprograms to be started\n  power: /opt/helper\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// A folder for payload is shown, with what it takes to write there.
func TestDryRunOfFolder(t *testing.T) {
	e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\nthen: write:/srv\n")
	for trusted, want := range map[bool]string{false: "  SUT: /srv   (%s:3:7, needs --trust-file)\n\nrunning this needs",
		true: "  SUT: /srv   (%s:3:7, allowed by --trust-file)\n"} {
		var b bytes.Buffer
		preview{spec: e.Spec, trusted: trusted}.reached(&b)
		file, _, _ := strings.Cut(e.Spec.PayloadFolders()[0].Place, ":")
		want := "\nfolders that payload is written to\n" + strings.ReplaceAll(want, "%s", file)
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

// A file is refused before hosts are reached or anything is written, also when it is
// resumed or its plan is that of another.
func TestUntrustedFileIsNotRun(t *testing.T) {
	for _, source := range []string{"command=touch /x", "nvml?helper=/x", "redfish=https://evil", "snmp=apc@evil",
		"scpi=evil", "ptdaemon=evil", "csv=/x", "ipmi?device=/x", "tg:rapl?root=/x", "hwmon?root=/x"} {
		for _, resume := range []bool{false, true} {
			e := experiment(t, "name: x\nfactors: {rx: tcp, tx: tcp}\nsut: {host: "+
				"\"netns:zcbench-no-such\"}\ntg: {host: \"netns:zcbench-no-such\"}\npower:\n  - "+source+"\n")
			if resume {
				e.Begin = ResumeChanged
			}
			e.StartPower = func(*Runner) (*PowerMeter, error) { t.Error("power is measured"); return nil, nil }
			_, err := e.Run(t.Context())
			var at *matrix.Error
			if !errors.As(err, &at) || at.Line != 6 || at.Column != 5 ||
				!strings.Contains(err.Error(), "--trust-file") || !errors.As(err, new(*inputError)) {
				t.Errorf("%s: %v", source, err)
			}
			if _, err := os.Stat(e.Dir); err == nil {
				t.Errorf("%s: there are results", source)
			}
			e.TrustFile = true
			if _, err := e.Run(t.Context()); err == nil || errors.As(err, &at) {
				t.Errorf("%s, trusted: %v", source, err)
			}
		}
	}
}

// The file's sources are recorded as those of flags are: a command by its program.
func TestIntegrationTrustedFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	ran := filepath.Join(t.TempDir(), "ran")
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: tcp", 1)+
		"warmup: false\npower: ['command=touch "+ran+"; echo 7']\n")
	// else its window were refused
	e.Power = PowerOptions{Sources: []power.Spec{e.Spec.Power.Sources[0].Spec}, Guard: 1250 * time.Millisecond}
	e.StartPower = func(r *Runner) (*PowerMeter, error) { return StartPower(t.Context(), e.Power, r) }
	if err := e.DryRun(t.Context(), new(bytes.Buffer)); err != nil {
		t.Errorf("a dry run is refused: %v", err)
	}
	if _, err := e.Run(t.Context()); !errors.As(err, new(*matrix.Error)) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("the file's command was run")
	}
	e.TrustFile = true
	recs, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err != nil || recs[0].SUT.PowerSource != "command=touch" {
		t.Errorf("%v; power of %s; %v", err, recs[0].SUT.PowerSource, recs[0].Warnings)
	}
	j, err := results.Read(filepath.Join(e.Dir, results.JournalFile))
	if err != nil || !strings.HasPrefix(j.Header.Plan.Power.Sources[0], "command=touch#") {
		t.Errorf("%v, %v", j.Header.Plan.Power, err)
	}
}
