// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// monitor speaks with a running QEMU (its docs/interop/qmp-intro). It is good for one
// goroutine.
type monitor struct {
	sock *os.File // non-blocking
	in   *bufio.Reader
}

// newMonitor takes the greeting.
func newMonitor(sock *os.File) (*monitor, error) {
	_ = sock.SetDeadline(time.Now().Add(monitorPatience))
	defer sock.SetDeadline(time.Time{})
	m := &monitor{sock, bufio.NewReader(sock)}
	if _, err := m.in.ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	return m, m.do("qmp_capabilities", nil, nil, nil)
}

// do makes QEMU execute a command, to which a file may be attached, and stores the result in answer
// unless that is nil.
func (m *monitor) do(command string, args any, file *os.File, answer any) error {
	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, args})
	if err == nil {
		err = m.send(append(line, '\n'), file)
	}
	var got json.RawMessage
	if err == nil {
		got, err = m.answer()
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(got, answer)
	}
	if err != nil {
		return fmt.Errorf("QEMU's %s: %w", command, err)
	}
	return nil
}

func (m *monitor) send(line []byte, file *os.File) error {
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	raw, err := m.sock.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var serr error
	err = raw.Write(func(fd uintptr) bool {
		n, serr = unix.SendmsgN(int(fd), line, rights, nil, 0)
		return !errors.Is(serr, unix.EAGAIN)
	})
	switch {
	case err != nil:
		return err
	case serr != nil:
		return serr
	case n < len(line):
		return fmt.Errorf("it took %d of %d bytes", n, len(line))
	}
	return nil
}

// answer passes over events.
func (m *monitor) answer() (json.RawMessage, error) {
	for {
		line, err := m.in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var a struct {
			Event  string          `json:"event"`
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		switch err := json.Unmarshal(line, &a); {
		case err != nil:
			return nil, err
		case a.Error != nil:
			return nil, errors.New(a.Error.Desc)
		case a.Event == "":
			return a.Return, nil
		}
	}
}

// savePatience is how long saving may take: some 200 MB go into the page cache.
const savePatience = time.Minute

// save makes QEMU write the state of the whole running machine to a pipe or socket; the machine
// goes on afterwards. After an error it may stand still: see [monitor.running].
func (m *monitor) save(to *os.File) error {
	_ = m.sock.SetDeadline(time.Now().Add(savePatience))
	defer m.sock.SetDeadline(time.Time{})
	err := m.do("migrate-set-parameters", map[string]any{"max-bandwidth": int64(math.MaxInt64)}, nil, nil)
	if err == nil {
		err = m.do("getfd", map[string]any{"fdname": "state"}, to, nil)
	}
	to.Close() // QEMU has its own, whose end is what the reader waits for
	if err == nil {
		err = m.do("migrate", map[string]any{"uri": "fd:state"}, nil, nil)
	}
	if err == nil {
		err = m.migrated()
	}
	// The state is complete before the machine has come to rest, and to go on is refused
	// until it has.
	if err == nil {
		err = m.await("postmigrate")
	}
	if err == nil {
		err = m.do("cont", nil, nil, nil)
	}
	return err
}

// migrated waits until all is written.
func (m *monitor) migrated() error {
	for ; ; time.Sleep(monitorPause) {
		var st struct {
			Status string `json:"status"`
			Why    string `json:"error-desc"`
		}
		switch err := m.do("query-migrate", nil, nil, &st); {
		case err != nil:
			return err
		case st.Status == "completed":
			return nil
		case st.Status == "failed" || st.Status == "cancelled":
			return fmt.Errorf("QEMU's migrate: %s %s", st.Status, st.Why)
		}
	}
}

const monitorPause = 2 * time.Millisecond

// state asks what the machine does: "running", "paused" and others of QEMU's RunState.
func (m *monitor) state() (string, error) {
	var st struct {
		Status string `json:"status"`
	}
	err := m.do("query-status", nil, nil, &st)
	return st.Status, err
}

// await waits for a state.
func (m *monitor) await(want string) error {
	for {
		switch got, err := m.state(); {
		case err != nil || got == want:
			return err
		}
		time.Sleep(monitorPause)
	}
}

// monitorPatience is how long QEMU may take for an answer that needs nothing done.
const monitorPatience = 10 * time.Second

// running reports whether the machine runs for certain.
func (m *monitor) running() bool {
	_ = m.sock.SetDeadline(time.Now().Add(monitorPatience))
	defer m.sock.SetDeadline(time.Time{})
	got, err := m.state()
	return err == nil && got == "running"
}
