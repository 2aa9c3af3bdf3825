// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
)

func TestJudge(t *testing.T) {
	r := &request{job: guest.Job{N: 3, Args: []string{"/a/test"}}}
	bad := []string{"WARNING: x"}
	for _, x := range []struct {
		name    string
		res     *guest.Result
		gone    error
		exit    int
		says    string
		spoiled bool
	}{
		{"fine", &guest.Result{}, nil, 0, "", false},
		{"status", &guest.Result{Exit: 42}, nil, 42, "", false},
		{"missing", &guest.Result{NotFound: true, Err: "no such file"}, nil, exitNotFind, "no such file", false},
		{"no program", &guest.Result{NotExec: true, Err: "exec format error"}, nil, exitNotExec, "exec format error",
			false},
		{"missing, kernel", &guest.Result{NotFound: true, Err: "no", Complaints: bad}, nil, ExitTrouble, "WARNING: x",
			true},
		{"kernel", &guest.Result{Exit: 3, Complaints: bad}, nil, ExitTrouble, "the command itself exited with 3", true},
		{"time", &guest.Result{TimedOut: true, Complaints: bad}, nil, ExitTimeout, "still running", true},
		{"files", &guest.Result{Err: "no space"}, nil, ExitTrouble, "no space", true},
		{"dead", nil, errors.New("it exited without a report"), ExitTrouble, "it exited without a report", true},
		{"slow", nil, errSlow, ExitTimeout, "in time", true},
	} {
		out := judge(r, x.res, x.gone)
		if out.exit != x.exit || (out.spoiled != "") != x.spoiled || (out.err != nil) != (x.says != "") {
			t.Errorf("%s: %+v", x.name, out)
		}
		if out.err != nil && (!strings.Contains(out.err.Error(), x.says) || !strings.Contains(out.err.Error(),
			"/a/test (command 3 of this machine)")) {
			t.Errorf("%s: %v; must say %q and which command", x.name, out.err, x.says)
		}
	}
}
