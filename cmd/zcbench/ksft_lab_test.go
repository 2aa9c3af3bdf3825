// SPDX-License-Identifier: MIT

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/ktap/ktaptest"
	"github.com/zcbench/zcbench/internal/long"
)

// ksftInLab is ksft on the soft NIC of a kernel of the lab, with the flags args: its exit status,
// its subtests, and the folder of its results.
func ksftInLab(t *testing.T, kernel string, args ...string) (status int, all []ktaptest.Subtest, results string) {
	t.Helper()
	out := t.TempDir()
	lab := []string{"lab", "exec", "--kernel", kernel, "--count-time", "--timeout", "20m", "--out", out}
	for _, v := range []string{"NETIF=sn0", "LOCAL_V4=10.77.0.1", "REMOTE_V4=10.77.0.2", "REMOTE_TYPE=netns",
		"REMOTE_ARGS=tg"} {
		lab = append(lab, "--env", v)
	}
	lab = append(lab, "--", "zcbench", "ksft", "--netns", "sut", "--duration", "300ms", "--message-size", "256K",
		"--out", "/out/ksft")
	p := built.Start(t, "zcbench", append(lab, args...)...)
	status = p.Wait(20 * time.Minute)
	text := p.Out.String()
	if i := strings.Index(text, "KTAP version"); i > 0 {
		text = text[i:]
	}
	t.Logf("%s %q: exit status %d\n%s", kernel, args, status, text)
	all, err := ktaptest.Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, &p.Err)
	}
	kernelsParser(t, text, all)
	return status, all, filepath.Join(out, "ksft")
}

// The lab's kernels, by which of them is newer: 7.2 and 7.3.
const older, newer = "sid", "trixie-backports"

// All modes on a NIC that has queues for them, on both kernels: the modes of zero copy are ok. Then
// the kernels beside each other, as a bisect has them: all that counted with the older one does so
// with the newer, and long buffers of devmem are found to be what the older one has not.
func TestLabKsft(t *testing.T) {
	needLabHere(t)
	long.Test(t)
	found := map[string]string{}
	for _, kernel := range []string{older, newer} {
		status, all, dir := ksftInLab(t, kernel)
		found[kernel] = dir
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
			allowed := []string{"ok", "SKIP"} // what this kernel lacks
			if slices.Contains([]string{"tcp/tcp", "zcrx/tcp", "devmem/tcp", "tcp/devmem", "tcp/uring-zc",
				"tcp-mmap/tcp"}, s.Name) {
				allowed = allowed[:1]
			}
			if !slices.Contains(allowed, s.Status()) || strings.HasPrefix(s.Reason, "no time") {
				t.Errorf("%s: %s is %s (%s), want one of %q", kernel, s.Name, s.Status(), s.Reason, allowed)
			}
		}
		if d := cmp.Diff(ksftModes(), names); d != "" || status != 0 {
			t.Errorf("%s: exit status %d\n%s", kernel, status, d)
		}
	}
	out, said, status := compared(t, "--ktap", found[older], found[newer], "--if-unsure", "125")
	t.Logf("exit status %d\n%s", status, out)
	if all, err := ktaptest.Parse(out); err != nil || status != 0 || len(all) == 0 {
		t.Errorf("exit status %d, %v\n%s%s", status, err, out, said)
	}

	buffers := map[string]string{}
	for kernel, want := range map[string]string{older: "SKIP", newer: "ok"} {
		_, all, dir := ksftInLab(t, kernel, "--modes", "devmem", "--rx-buf-len", "32K")
		buffers[kernel] = dir
		if len(all) != 1 || all[0].Status() != want {
			t.Errorf("%s: %+v, want %s", kernel, all, want)
		}
	}
	out, said, status = compared(t, "--ktap", buffers[newer], buffers[older], "--if-unsure", "125")
	t.Logf("exit status %d\n%s", status, out)
	if all, err := ktaptest.Parse(out); err != nil || status != 1 || len(all) != 1 || all[0].Status() != "not ok" {
		t.Errorf("exit status %d, %v\n%s%s", status, err, out, said)
	}
}
