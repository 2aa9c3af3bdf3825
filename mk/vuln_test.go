// SPDX-License-Identifier: MIT

package mk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The check for known vulnerabilities passes only if the database was asked and
// knows of none: one that cannot be reached is said, in words of its own.
func TestVuln(t *testing.T) {
	for _, x := range []struct {
		name, tool string
		status     int
		say, not   string
	}{
		{"none", "echo No vulnerabilities found.", 0, "no known vulnerability", "NOT CHECKED"},
		{"some", "echo 'Vulnerability #1: GO-2026-0001'; exit 3", 3, "GO-2026-0001", "no known vulnerability"},
		{"some with a tag", `case "$*" in *giouring*) echo GO-2026-0002; exit 3;; esac`, 3, "GO-2026-0002",
			"no known vulnerability"},
		{"no such host", `echo 'govulncheck: fetching vulnerabilities: Get ` +
			`"https://db.example/index/modules.json.gz": dial tcp: no such host' >&2; exit 1`, 2, "NOT CHECKED",
			"no known vulnerability"},
		{"refused", `echo 'govulncheck: fetching vulnerabilities: HTTP GET /index/db.json returned unexpected ` +
			`status: 403 Forbidden' >&2; exit 1`, 2, "GOVULNDB", "no known vulnerability"},
		{"unreachable later", `case "$*" in *giouring*) echo 'fetching vulnerabilities: connection refused' >&2; ` +
			`exit 1;; esac`, 2, "NOT CHECKED", "no known vulnerability"},
		{"another failure", "echo 'loading packages: syntax error' >&2; exit 1", 1, "syntax error", "NOT CHECKED"},
		{"killed", "kill -9 $$", 1, "FAILED", "no known vulnerability"},
	} {
		t.Run(x.name, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(tool, fmt.Appendf(nil, "#!/bin/bash\n%s\n", x.tool), 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("./vuln.sh", tool).CombinedOutput()
			status := 0
			if e := (*exec.ExitError)(nil); errors.As(err, &e) {
				status = e.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if status != x.status || !strings.Contains(string(out), x.say) || strings.Contains(string(out), x.not) {
				t.Errorf("exit status %d, want %d and %q:\n%s", status, x.status, x.say, out)
			}
		})
	}
	if out, err := exec.Command("./vuln.sh", "/nonexistent/govulncheck").CombinedOutput(); err == nil {
		t.Errorf("without the tool it passes: %s", out)
	}
}
