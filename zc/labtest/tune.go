// SPDX-License-Identifier: MIT

package labtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// tunePlan has each factor of the modes that take queues over, alone and two together.
const tunePlan = `name: tune
sut: {host: "netns:%s", dev: %s}
tg: {host: "netns:%s"}
touch: verify
message: 256K
area_bytes: 8M
turn: %v
duration: %v
ramp_up: %v
repetitions: 1
stall: 1m
gates: {foreign_cores: off, replace: 0, copied: 0}
include:
  - {rx: [zcrx, devmem], tx: tcp, rx_buf_len: 16K}
  - {rx: [zcrx, devmem], tx: tcp, read: 64K}
  - {rx: [zcrx, devmem], tx: tcp, read: 64K, rx_buf_len: 16K}
  - {rx: zcrx, tx: tcp, area: udmabuf}
  - {rx: devmem, tx: tcp, token_batch: 64}
  - {rx: devmem, tx: tcp, area: pages}
`

// Tune runs zcbench tune with modes that take queues over: each setting was tried or is told, all
// payload that counts was verified and none of it copied, and all is put back. On a machine so busy
// that turns are late, nothing is found: then what was tried is held to the same.
func Tune(t *testing.T) {
	Need(t)
	before := DeviceState(t) + slowStart(t)
	turn, dir := turnsLengths[0], t.TempDir()
	file, out := filepath.Join(dir, "tune.yaml"), filepath.Join(dir, "out")
	text := fmt.Sprintf(tunePlan, RXNS, RXDev, TXNS, turn, 4*turn, 2*turn)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("zcbench", "tune", "--for", "throughput", file, "--for-time", fmt.Sprint(450*turn),
		"--out", out).CombinedOutput()
	if after := DeviceState(t) + slowStart(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	t.Logf("%v: %s", err, said)
	search := filepath.Join(out, "search")
	if err == nil {
		checkTuned(t, out, search)
		return
	}
	if _, spoilt := checkTried(t, "", search); spoilt == 0 {
		t.Errorf("%v: %s", err, said)
	}
}

func checkTuned(t *testing.T, out, search string) {
	t.Helper()
	var found struct {
		Modes  []struct{ Mode string }
		Cannot []struct{ Mode, What, Reason string }
	}
	b, err := os.ReadFile(filepath.Join(out, "tune.json"))
	if err == nil {
		err = json.Unmarshal(b, &found)
	}
	told := fmt.Sprint(found.Cannot)
	counted, spoilt := checkTried(t, told, search, out)
	if err != nil || len(found.Modes) != 2 && spoilt == 0 {
		t.Errorf("%v: %s", err, b)
	}
	if counted < 8 && spoilt == 0 || !strings.Contains(told, "area=pages") {
		t.Errorf("%d runs counted, %d were spoilt; told: %s", counted, spoilt, told)
	}
}

// checkTried holds the runs of journals to it that each setting was tried or is told, and that what
// counts, or would if nothing else had disturbed it, was verified and not copied. It counts both.
func checkTried(t *testing.T, told string, dirs ...string) (counted, spoilt int) {
	t.Helper()
	tried := map[string]bool{}
	for _, dir := range dirs {
		j, err := results.Read(filepath.Join(dir, results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Records {
			r := &j.Records[i]
			tried[strings.TrimSuffix(r.Cell.ID, " ")] = true
			switch {
			case r.Verdict == results.OK:
				counted++
			case r.FailedGate() == plan.ByEnvironment:
				spoilt++
			default:
				continue
			}
			h := r.SUT
			if h.Mismatches == nil || *h.Mismatches != 0 || h.Bytes == nil || *h.Bytes == 0 || h.ZeroCopyBytes == nil ||
				*h.ZeroCopyBytes != *h.Bytes || *h.CopiedBytes != 0 {
				t.Errorf("%s: %s bytes, %s mismatches, %s without a copy, %s copied", r.Cell.ID, count(h.Bytes),
					count(h.Mismatches), count(h.ZeroCopyBytes), count(h.CopiedBytes))
			}
		}
	}
	for _, mode := range []string{"zcrx", "devmem"} {
		for _, set := range []string{"rx_buf_len=16Ki", "read=64Ki", map[string]string{"zcrx": "area=udmabuf",
			"devmem": "token_batch=64"}[mode]} {
			if id := mode + "/tcp " + set; !tried[id] && !strings.Contains(told, id) {
				t.Errorf("%s was neither tried nor told: %v", id, tried)
			}
		}
	}
	return counted, spoilt
}
