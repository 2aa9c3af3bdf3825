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
	m := &monitor{sock, bufio.NewReader(sock)}
	if _, err := m.in.ReadBytes('\n'); err != nil {
		return nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	return m, m.do("qmp_capabilities", nil, nil, nil)
}

// do has QEMU execute a command, which may bring a file along, and stores what it
// answers in answer unless that is nil.
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

// save writes the state of the whole machine to a file while the machine runs, which
// goes on afterwards. One that fails leaves it running too.
func (m *monitor) save(to *os.File) error {
	steps := []struct {
		command string
		args    map[string]any
		file    *os.File
	}{
		{"migrate-set-parameters", map[string]any{"max-bandwidth": int64(math.MaxInt64)}, nil},
		{"getfd", map[string]any{"fdname": "state"}, to},
		{"migrate", map[string]any{"uri": "fd:state"}, nil},
	}
	for _, s := range steps {
		if err := m.do(s.command, s.args, s.file, nil); err != nil {
			return err
		}
	}
	if err := m.saved(); err != nil {
		return err
	}
	return m.do("cont", nil, nil, nil)
}

// savePatience is how long it may take: some 200 MB go into the page cache.
const savePatience = time.Minute

// saved waits until all is written.
func (m *monitor) saved() error {
	for limit := time.Now().Add(savePatience); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
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
			return fmt.Errorf("QEMU's migrate: %s: %s", st.Status, st.Why)
		}
	}
	if err := m.do("migrate_cancel", nil, nil, nil); err != nil {
		return err
	}
	return fmt.Errorf("not written within %v", savePatience)
}
