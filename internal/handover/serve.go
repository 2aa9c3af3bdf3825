// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Offer is memory that a program hands over.
type Offer struct {
	DMABuf       int    // its descriptor
	Size, Offset int64  // the caller's part of it, in bytes
	Place        string // the PCI address of its device; "": none, or not known
	Name         string // of the device, for people
	Copier              // nil: it copies nothing
}

// Copier copies between the memory, by offsets in the caller's part, and the host's.
type Copier interface {
	io.ReaderAt
	io.WriterAt
}

// Serve answers on the socket fd: it has memory made, hands it over, and copies, until the other
// side closes. What cannot be made is told there, with its fix, and returned.
func Serve(fd int, create func(size int64) (*Offer, error)) error {
	s := server{fd: fd}
	line, fds, err := receive(fd)
	defer closeAll(fds)
	if err != nil {
		return err
	}
	var size int64
	var v int
	if _, err := fmt.Sscanf(line, "memory %d %d", &v, &size); err != nil || v != version || len(fds) != 1 {
		return s.fail(fmt.Errorf("unknown request %.40q: this program speaks version %d", line, version))
	}
	if s.copies, err = unix.Mmap(fds[0], 0, CopyBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return s.fail(fmt.Errorf("mmap of the memory for copies: %w", err))
	}
	defer unix.Munmap(s.copies)
	offer, err := create(size)
	if err != nil {
		return s.fail(err)
	}
	copies, place := 0, offer.Place
	if offer.Copier != nil {
		copies = 1
	}
	if place == "" {
		place = "-"
	}
	if err := send(fd, fmt.Sprintf("dmabuf %d %d %d %s\n%.200s", offer.Size, offer.Offset, copies, place,
		offer.Name), offer.DMABuf); err != nil {
		return err
	}
	for {
		line, fds, err := receive(fd)
		closeAll(fds)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.copy(line, offer)
		}
		if err != nil {
			return err
		}
	}
}

type server struct {
	fd     int
	copies []byte
}

// copy does one request.
func (s *server) copy(line string, offer *Offer) error {
	var verb string
	var off, n int64
	_, err := fmt.Sscanf(line, "%s %d %d", &verb, &off, &n)
	switch {
	case err != nil, n < 0 || n > int64(len(s.copies)), off < 0 || off > offer.Size-n:
		err = fmt.Errorf("bad request %.60q", line)
	case offer.Copier == nil:
		err = errors.New("this program copies nothing")
	case verb == "read":
		_, err = offer.ReadAt(s.copies[:n], off)
	case verb == "write":
		_, err = offer.WriteAt(s.copies[:n], off)
	default:
		err = fmt.Errorf("unknown request %.60q", line)
	}
	if err != nil {
		return send(s.fd, failure(err))
	}
	return send(s.fd, "ok")
}

// fail tells the other side why, and returns it.
func (s *server) fail(err error) error {
	return errors.Join(err, send(s.fd, failure(err)))
}

// failure words an error, with its fix.
func failure(err error) string {
	line := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	out := "error " + line(err.Error())
	if fix := fault.Fix(err); fix != "" {
		out += "\n" + line(fix)
	}
	return out[:min(len(out), mostMsg)]
}
