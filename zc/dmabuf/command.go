// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/handover"
)

// mostCommand bounds a command, bytes.
const mostCommand = 1000

// commands take memory that any program hands over: for hardware that we do not know.
var commands = Provider{Name: "fd", Arg: ":COMMAND", Help: "a dmabuf that a program hands over", Runs: true,
	Check: func(arg string) error {
		words := strings.Fields(arg)
		at, what := cmdline.Secret(words)
		switch {
		case len(words) == 0:
			return errors.New("name the command that hands the memory over, as fd:COMMAND")
		case len(arg) > mostCommand || strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("a command is one line of at most %d bytes", mostCommand)
		case at >= 0:
			return fmt.Errorf("word %d of the command has what may be %s, and results have the command: let it "+
				"read that from a file", at+1, what)
		}
		return nil
	},
	Open: func(arg string, size int) (*Memory, error) {
		words := strings.Fields(arg) // no shell: it dies with this process
		return HandedOver(fmt.Sprintf("fd:%.60s", arg), exec.Command(words[0], words[1:]...), size)
	}}

// HandedOver makes memory by a program that speaks the protocol of package handover. name is what
// errors call it.
func HandedOver(name string, cmd *exec.Cmd, size int) (*Memory, error) {
	h, err := handover.Start(name, cmd, int64(size))
	if err != nil {
		return nil, err
	}
	m := &Memory{Offset: h.Offset, Size: h.Size, Place: strings.ToLower(h.Place), Name: h.Name, maker: cmd.Process.Pid}
	m.Closes(h.Close)
	m.keep(h.DMABuf)
	if err := m.adopt(name); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if h.Copier != nil { // the CPU's view, if there is one, need not be what the device has written
		m.Device = h.Copier
	} else if err := m.seeIfShown(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), m.Close())
	}
	return m, nil
}
