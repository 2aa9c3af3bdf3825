// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeQEMU answers each command with the next of the lines and keeps what came.
type fakeQEMU struct {
	t       *testing.T
	sock    *os.File
	answers []string // for each command one or more lines
	got     chan string
	file    chan *os.File // the one that came along, if any
}

func newFakeQEMU(t *testing.T, answers ...string) (*monitor, *fakeQEMU) {
	t.Helper()
	ours, theirs, err := socketPair("monitor")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	q := &fakeQEMU{t, theirs, append([]string{`{"return": {}}`}, answers...), make(chan string, 16),
		make(chan *os.File, 1)}
	go q.serve()
	m, err := newMonitor(ours)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-q.got; got != `{"execute":"qmp_capabilities"}` {
		t.Errorf("the first command is %s", got)
	}
	return m, q
}

func (q *fakeQEMU) serve() {
	defer q.sock.Close()
	fmt.Fprintln(q.sock, `{"QMP": {"version": {}, "capabilities": ["oob"]}}`)
	in := bufio.NewReader(&withRights{q})
	for _, a := range q.answers {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		q.got <- strings.TrimSpace(line)
		fmt.Fprintln(q.sock, a)
	}
}

// withRights reads a socket and keeps the file that comes along.
type withRights struct{ q *fakeQEMU }

func (r *withRights) Read(p []byte) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := unix.Recvmsg(int(r.q.sock.Fd()), p, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return 0, io.EOF
	}
	all, _ := unix.ParseSocketControlMessage(rights[:got])
	for _, m := range all {
		if fds, err := unix.ParseUnixRights(&m); err == nil {
			r.q.file <- os.NewFile(uintptr(fds[0]), "came along")
		}
	}
	return n, nil
}

func TestMonitorSaves(t *testing.T) {
	ok := `{"return": {}}`
	m, q := newFakeQEMU(t, ok, ok, `{"event": "MIGRATION"}`+"\n"+ok,
		`{"return": {"status": "active"}}`, `{"event": "STOP"}`+"\n"+`{"return": {"status": "completed"}}`,
		`{"return": {"status": "finish-migrate"}}`, `{"return": {"status": "postmigrate"}}`, ok,
		`{"return": {"status": "running"}}`)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := m.save(to); err != nil {
		t.Fatal(err)
	}
	if !m.running() {
		t.Error("it does not run")
	}
	for _, want := range []string{
		`{"execute":"migrate-set-parameters","arguments":{"max-bandwidth":9223372036854775807}}`,
		`{"execute":"getfd","arguments":{"fdname":"state"}}`,
		`{"execute":"migrate","arguments":{"uri":"fd:state"}}`,
		`{"execute":"query-migrate"}`, `{"execute":"query-migrate"}`,
		`{"execute":"query-status"}`, `{"execute":"query-status"}`, `{"execute":"cont"}`, `{"execute":"query-status"}`,
	} {
		if got := <-q.got; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f := <-q.file
	f.WriteString("state")
	f.Close()
	if got, err := io.ReadAll(from); string(got) != "state" || err != nil {
		t.Errorf("what came along is no way to the reader, or we hold it open: %q, %v", got, err)
	}
}

func TestMonitorErrors(t *testing.T) {
	ok := `{"return": {}}`
	for _, x := range []struct {
		answers []string
		want    string
	}{
		{[]string{`{"error": {"class": "GenericError", "desc": "no such parameter"}}`},
			"QEMU's migrate-set-parameters: no such parameter"},
		{[]string{ok, ok, ok, `{"return": {"status": "failed", "error-desc": "No space left on device"}}`},
			"QEMU's migrate: failed No space left on device"},
		{[]string{ok, "what?"}, "QEMU's getfd: invalid character"},
		{nil, "QEMU's migrate-set-parameters: "}, // it is gone
	} {
		m, _ := newFakeQEMU(t, x.answers...)
		to, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.save(to); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%q: %v, want %s", x.answers, err, x.want)
		}
		if m.running() {
			t.Errorf("%q: it is said to run", x.answers)
		}
	}
}
