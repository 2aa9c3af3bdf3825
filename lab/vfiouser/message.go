// SPDX-License-Identifier: MIT

package vfiouser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// The commands that a client sends.
const (
	cmdVersion    = 1
	cmdDMAMap     = 2
	cmdDMAUnmap   = 3
	cmdGetInfo    = 4
	cmdRegionInfo = 5
	cmdIRQInfo    = 7
	cmdSetIRQs    = 8
	cmdRead       = 9
	cmdWrite      = 10
	cmdReset      = 13
)

const (
	headerBytes = 16
	flagReply   = 1
	flagNoReply = 1 << 4
	flagError   = 1 << 5
	typeMask    = 0xf
)

const (
	maxTransfer = 64 << 10 // bytes that a client may read or write at once
	maxMessage  = headerBytes + 16 + maxTransfer
	maxFDs      = 16 // with a message
)

// le is the order of bytes of both ends, which are on one x86 host.
var le = binary.LittleEndian

// message is a command with the descriptors that came with it, which are whoever's who takes them.
type message struct {
	id, command uint16
	flags       uint32
	data        []byte
	fds         []int
}

// closeFDs closes the descriptors that nobody has taken.
func (m *message) closeFDs() {
	for _, fd := range m.fds {
		unix.Close(fd)
	}
	m.fds = nil
}

// take returns the descriptors, which are then the caller's.
func (m *message) take() []int {
	fds := m.fds
	m.fds = nil
	return fds
}

// readMessage reads one command. io.EOF: the client has closed the connection between two.
func readMessage(c *net.UnixConn) (*message, error) {
	var head [headerBytes]byte
	oob := make([]byte, unix.CmsgSpace(4*maxFDs))
	n, oobn, _, _, err := c.ReadMsgUnix(head[:], oob)
	m := &message{}
	if oobn > 0 {
		m.fds = rights(oob[:oobn])
	}
	if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
		m.closeFDs()
		return nil, io.EOF
	}
	if err == nil && n < len(head) {
		_, err = io.ReadFull(c, head[n:])
	}
	size := le.Uint32(head[4:])
	switch {
	case err != nil:
	case size < headerBytes || size > maxMessage:
		err = fmt.Errorf("a message of %d bytes", size)
	case le.Uint32(head[8:])&typeMask != 0:
		err = errors.New("a message that is no command")
	default:
		m.id, m.command, m.flags = le.Uint16(head[:]), le.Uint16(head[2:]), le.Uint32(head[8:])
		m.data = make([]byte, size-headerBytes)
		_, err = io.ReadFull(c, m.data)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		m.closeFDs()
		return nil, err
	}
	return m, nil
}

// rights returns the descriptors of a message's ancillary data.
func rights(oob []byte) (fds []int) {
	all, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for _, c := range all {
		if got, err := unix.ParseUnixRights(&c); err == nil {
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return fds
}

// reply answers m with data, or with an errno.
func reply(c *net.UnixConn, m *message, data []byte, errno unix.Errno) error {
	if m.flags&flagNoReply != 0 {
		return nil
	}
	flags := uint32(flagReply)
	if errno != 0 {
		flags, data = flags|flagError, nil
	}
	b := make([]byte, headerBytes, headerBytes+len(data))
	le.PutUint16(b, m.id)
	le.PutUint16(b[2:], m.command)
	le.PutUint32(b[4:], uint32(headerBytes+len(data)))
	le.PutUint32(b[8:], flags)
	le.PutUint32(b[12:], uint32(errno))
	_, err := c.Write(append(b, data...))
	return err
}
