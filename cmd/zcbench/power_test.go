// SPDX-License-Identifier: MIT

package main

import (
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/power/powertest"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

const powerExperiment = `name: watts
factors:
  rx: [tcp, uring]
  tx: [tcp]
  message: [1M]
repetitions: %d
warmup: false
duration: 1s
rest: 5s
gates: {retrans_per_gb: off, drops_per_gb: off, foreign_cores: off, throughput_cv: off, cpu_cv: off, drift: off, replace: 0}
`

// rowsOf are a CSV file's rows by column.
func rowsOf(t *testing.T, path string) []map[string]string {
	t.Helper()
	_, rows := table(t, path)
	return rows
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An experiment with power, from its file to CSV, table and report; then a log
// of a meter is joined with it.
func TestIntegrationMatrixPower(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	needRoot(t)
	dir := t.TempDir()
	file, out := filepath.Join(dir, "watts.yaml"), filepath.Join(dir, "out")
	reps := long.Rounds(1, 2) // of two cells
	if err := os.WriteFile(file, fmt.Appendf(nil, powerExperiment, reps), 0o644); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2-of-the-bmc"
	bmc, ca := redfishBMC(t, "admin", secret)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", secret)
	meter := func(host string, watts int) string {
		return fmt.Sprintf("%s:command=while :; do echo %d; sleep 0.1; done?name=meter&uncertainty=1%%&scope=wall",
			host, watts)
	}
	p := built.Start(t, "zcbench", "matrix", file, "--out", out, "--power", meter("sut", 120), "--power",
		meter("tg", 80),
		"--power", "rapl?root="+powertest.Powercap(t, 60), "--power", "sut:redfish="+bmc+"?name=bmc&ca="+ca,
		"--power-guard", "1s", "--power-idle", "1200ms")
	arguments := cmdlines(t, p)
	status := p.Wait(await.Hang)
	if status > 1 {
		t.Fatalf("exit status %d: %s", status, &p.Err)
	}
	if want := "rest 5s is not used: CPU use at rest is measured together with idle power, for 1.2s after 1s " +
		"of guard"; !strings.Contains(p.Err.String(), want) {
		t.Errorf("no %q in\n%s", want, &p.Err)
	}
	rows := rowsOf(t, filepath.Join(out, results.RunsFile))
	if len(rows) != 4*reps {
		t.Fatalf("%d rows, want %d runs x 2 hosts", len(rows), 2*reps)
	}
	ok := map[string]bool{} // cells with an ok run; a machine with other work can spoil all
	bad, counted := 0, 0
	for i, r := range rows {
		want, source := 120.0, "command=meter"
		if r["role"] == "tg" {
			want = 80
		}
		if r["verdict"] == "ok" {
			ok[r["cell_id"]] = true
		} else {
			bad = 1
			t.Logf("row %d: %s: %s", i, r["verdict"], r["reason"])
		}
		if r["verdict"] == "failed" || r["power_w"] != strconv.Itoa(int(want)) ||
			r["power_idle_w"] != r["power_w"] || r["power_source"] != source || r["power_scope"] != "wall" {
			t.Errorf("row %d: %s, power_w %q, idle %q, of %q; want %v", i, r["verdict"], r["power_w"],
				r["power_idle_w"], r["power_source"], want)
			continue
		}
		if r["throughput_gbps"] == "" && r["verdict"] != "ok" {
			continue // late, see above: nothing came of it
		}
		counted++
		// By hand: T^2 / P, to the last digit.
		g := number(t, r["throughput_gbps"])
		if got := strconv.FormatFloat(g*g/want, 'g', -1, 64); number(t, r["roi_power"]) != number(t, got) {
			t.Errorf("row %d: roi_power %s, by hand %s", i, r["roi_power"], got)
		}
		if i%2 == 0 {
			if total := g * g / 200; number(t, r["roi_power_total"]) != total {
				t.Errorf("row %d: roi_power_total %s, by hand %v", i, r["roi_power_total"], total)
			}
		}
		if j := want * number(t, r["duration_s"]) / (number(t, r["bytes"]) / 1e9); number(t, r["joule_per_gb"]) != j {
			t.Errorf("row %d: joule_per_gb %s, by hand %v", i, r["joule_per_gb"], j)
		}
	}
	if status != bad || counted == 0 {
		t.Errorf("exit status %d, want %d, with %d figures: %s", status, bad, counted, &p.Err)
	}
	metrics := rowsOf(t, filepath.Join(out, results.MetricsFile))
	for _, name := range []string{"power_command_meter_uncertainty_w", "power_command_meter_net_joule_per_gb",
		"power_rapl_w", "power_idle_after_to_s", "power_window_late_s", "power_sampler_cores"} {
		if n := len(slices.DeleteFunc(slices.Clone(metrics),
			func(r map[string]string) bool { return r["metric"] != name })); n != 4*reps {
			t.Errorf("%d metrics %s, want one a run and host", n, name)
		}
	}
	samples := rowsOf(t, filepath.Join(out, results.SamplesFile))
	for name, value := range map[string]string{"power_command_meter_watts_w": "120",
		"power_redfish_bmc_board_w": "210"} {
		if !slices.ContainsFunc(samples, func(r map[string]string) bool {
			return r["metric"] == name &&
				r["value"] == value && r["unit"] == "W"
		}) {
			t.Errorf("samples.csv has no %s of %s W", name, value)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, results.ReportFile))
	if err != nil || len(ok) > 0 && !strings.Contains(string(page), "Return on cost") || len(ok) > 0 &&
		!strings.Contains(string(page), "power TG<small>W</small>") ||
		len(ok) > 0 && !strings.Contains(string(page), "command=meter (wall)") {
		t.Errorf("the report has no power: %v", err)
	}
	for name, text := range map[string]string{"the results": contents(t, out), "the output": p.Out.String() +
		p.Err.String(), "the processes' arguments": arguments} {
		if strings.Contains(text, secret) || text == "" {
			t.Errorf("the BMC's password is in %s, or they are empty", name)
		}
	}
	before := contents(t, out)
	importLog(t, dir, out)
	if after := contents(t, out); after != before {
		t.Error("joining a log changed the results it was joined with")
	}
}

// contents are those of all files of a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s\n%s\n", path, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// cmdlines waits for a command's agents and returns all their arguments.
func cmdlines(t *testing.T, p *built.Process) string {
	t.Helper()
	var pids []int
	await.Until(t, "two agents", func() bool { pids = agentsOf(t, p); return len(pids) >= 2 })
	var all strings.Builder
	for _, pid := range append(pids, p.Process.Pid) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		all.Write(append(b, '\n'))
	}
	return all.String()
}

// redfishBMC is a BMC that draws 210 W; ca is the file with its certificate.
func redfishBMC(t *testing.T, user, password string) (url, ca string) {
	t.Helper()
	const chassis = "/redfish/v1/Chassis"
	resources := map[string]string{
		chassis: `{"Members": [{"@odata.id": "` + chassis + `/1U"}]}`,
		chassis + "/1U": `{"Id": "1U", "EnvironmentMetrics": {"@odata.id": "` + chassis +
			`/1U/EnvironmentMetrics"}}`,
		chassis + "/1U/EnvironmentMetrics": `{"PowerWatts": {"Reading": 210}}`,
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, resources[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o644); err != nil {
		t.Fatal(err)
	}
	return s.URL, ca
}

// importLog joins a log of 300 W under load and 100 W at rest, 10 times a
// second, by a clock that is 2 s ahead.
func importLog(t *testing.T, dir, out string) {
	t.Helper()
	j, err := results.Read(filepath.Join(out, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "wt310.csv")
	text := "stamp;P\n"
	const second, guard = int64(time.Second), int64(time.Second) // the experiment's
	last := j.Records[len(j.Records)-1].StartUTCNs + 10*second
	for at := j.Records[0].StartUTCNs - 10*second; at < last; at += second / 10 {
		watts := 100
		for _, r := range j.Records {
			if at > r.StartUTCNs-guard && at < r.StartUTCNs+int64(*r.SUT.DurationS*1e9)+guard {
				watts = 300
			}
		}
		text += fmt.Sprintf("%d.%09d;%d\n", (at+2*second)/second, at%second, watts)
	}
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	join := func(want int, to string, args ...string) *built.Process {
		p := built.Start(t, "zcbench", append([]string{"power", "import", out, "--out", to}, args...)...)
		if got := p.Wait(await.Hang); got != want {
			t.Errorf("%q: exit status %d, want %d: %s", args, got, want, &p.Err)
		}
		return p
	}
	spec := "sut:csv=" + log + "?watts=P&uncertainty=0.5%&name=wt&offset="
	beside, lead := filepath.Join(dir, "beside"), filepath.Join(dir, "lead")
	join(0, beside, "--log", spec+"2s")
	p := join(0, lead, "--log", spec+"2s", "--lead", "--json")
	var s report.Summary
	if err := json.Unmarshal(p.Out.Bytes(), &s); err != nil || len(s.Cells) != 2 {
		t.Errorf("%v, %s", err, &p.Out)
	}
	for _, c := range s.Cells {
		if w := c.SUT.PowerW; c.OK > 0 && (w == nil || w.Median != 300 || c.TG.PowerW.Median != 80) {
			t.Errorf("%s: power %+v", c.Cell.ID, w)
		}
	}
	for folder, want := range map[string]string{beside: "120", lead: "300"} {
		for _, r := range rowsOf(t, filepath.Join(folder, results.RunsFile)) {
			if r["role"] == "sut" && r["power_w"] != want || r["role"] == "tg" && r["power_w"] != "80" {
				t.Errorf("%s: %s has power_w %s", folder, r["role"], r["power_w"])
			}
		}
		seen := 0
		for _, r := range rowsOf(t, filepath.Join(folder, results.MetricsFile)) {
			for name, want := range map[string]float64{"w": 300, "idle_w": 100, "net_w": 200,
				"uncertainty_w": 1.5 / math.Sqrt(3), "net_uncertainty_w": 1 / math.Sqrt(3)} {
				if r["metric"] != "power_csv_wt_"+name {
					continue
				}
				if seen++; number(t, r["value"]) != want {
					t.Errorf("%s: %s is %s, want %v", folder, r["metric"], r["value"], want)
				}
			}
		}
		if seen != 5*len(j.Records) {
			t.Errorf("%s: %d figures of the log, want 5 of each of %d runs", folder, seen, len(j.Records))
		}
	}
	// What cannot be joined leaves nothing.
	none := filepath.Join(dir, "none")
	if p := join(1, none, "--log", spec+"1h"); !strings.Contains(p.Err.String(),
		"the logs cover no run: the runs' windows begin from 20") {
		t.Errorf("an hour off: %s", &p.Err)
	}
	join(2, none, "--log", "rapl")
	join(2, none, "--log", spec+"x")
	join(2, none, "--log", "csv="+log+".no")
	if p := join(2, lead, "--log", spec+"2s"); !strings.Contains(p.Err.String(), "already has results") {
		t.Errorf("a folder with results: %s", &p.Err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a folder was made for nothing")
	}
	p = built.Start(t, "zcbench", "power", "import", beside, "--log", spec+"2s", "--out", none)
	if got := p.Wait(await.Hang); got != 2 || !strings.Contains(p.Err.String(), "?name=other") {
		t.Errorf("the same log twice: exit status %d, %s", got, &p.Err)
	}
}

// What was shown and written is forgotten: each reading is written once, and the
// mean is that of all.
func TestWatchForgets(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "hwmon0"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"name": "power_meter", "power1_average": "143500000"} {
		if err := os.WriteFile(filepath.Join(root, "hwmon0", name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := power.ParseSpec("hwmon?root=" + root)
	if err != nil {
		t.Fatal(err)
	}
	src, err := power.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	w := watched{started: counter.Monotonic(), sources: make([]power.Running, 1)}
	w.sampler = power.Start([]power.Source{src}, 10*time.Millisecond)
	defer w.sampler.Close()
	var text strings.Builder
	rows := csv.NewWriter(&text)
	n := 0
	await.Until(t, "several readings at a time, three times", func() bool {
		await.Pause("readings come meanwhile", 100*time.Millisecond)
		before := w.sources[0].Readings
		now := counter.Monotonic()
		if _, err := w.take(now, rows); err != nil {
			t.Fatal(err)
		}
		if left := w.sampler.Traces(0, now-1)[0].Samples; len(left) > 1 { // one may have been under way
			t.Errorf("%d readings were written and are kept", len(left))
		}
		if w.sources[0].Readings > before+1 {
			n++
		}
		return n == 3
	})
	if mean, most, ok := w.sources[0].Mean(0); !ok || math.Abs(mean-143.5) > 1e-9 || most != 143.5 {
		t.Errorf("mean %v, most %v", mean, most)
	}
	if lines := strings.Count(text.String(), "\n"); lines != w.sources[0].Readings || lines < 6 {
		t.Errorf("%d lines of %d readings", lines, w.sources[0].Readings)
	}
}

// A meter that alternates between 200 and 201 W tells 20 W apart, and not a thousandth of one.
func TestPowerCanResolve(t *testing.T) {
	const meter = "command=while :; do echo 200; sleep .13; echo 201; sleep .17; done?name=meter"
	for watts, want := range map[string]struct {
		status int
		text   string
	}{
		"20W": {0, "It tells 20 W in 8 of 10 cases with"}, "0.001": {1, "It does not tell 0.001 W"},
		"much": {2, "such as 20W"}, "-3": {2, "such as 20W"}, "": {2, "such as 20W"},
	} {
		p := built.Start(t, "zcbench", "power", "--source", meter, "--interval", "100ms", "--duration", "2s",
			"--can-resolve", watts)
		got := p.Wait(await.Hang)
		text := strings.Join(strings.Fields(p.Out.String()+p.Err.String()), " ")
		if got != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%q: exit status %d, want %d: %s", watts, got, want.status, text)
		}
	}
}
