// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	if err := s.pieces(line, offer); err != nil {
		return send(s.fd, failure(err))
	}
	return send(s.fd, "ok")
}

// pieces copies those of a request.
func (s *server) pieces(line string, offer *Offer) error {
	words, at := strings.Fields(line), int64(0)
	if len(words) < 3 || len(words)%2 == 0 || len(words) > 1+2*MostPieces {
		return fmt.Errorf("bad request %.60q", line)
	}
	if offer.Copier == nil {
		return errors.New("this program copies nothing")
	}
	for pair := range slices.Chunk(words[1:], 2) {
		off, oerr := strconv.ParseInt(pair[0], 10, 64)
		n, nerr := strconv.ParseInt(pair[1], 10, 64)
		if oerr != nil || nerr != nil || n < 0 || n > int64(len(s.copies))-at || off < 0 || off > offer.Size-n {
			return fmt.Errorf("bad request %.60q: piece %q", line, pair)
		}
		var err error
		switch p := s.copies[at : at+n]; words[0] {
		case "read":
			_, err = offer.ReadAt(p, off)
		case "write":
			_, err = offer.WriteAt(p, off)
		default:
			err = fmt.Errorf("unknown request %.60q", line)
		}
		if err != nil {
			return err
		}
		at += n
	}
	return nil
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
