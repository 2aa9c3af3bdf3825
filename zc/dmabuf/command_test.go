// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
	"golang.org/x/sys/unix"
)

const handsOver = "DMABUF_TEST_HANDS_OVER"

func TestMain(m *testing.M) {
	if os.Getenv(saysNo) != "" {
		fmt.Fprintln(os.Stderr, strings.Join(os.Args, " "), "said no")
		os.Exit(3)
	}
	if what := os.Getenv(handsOver); what != "" {
		err := handover.Serve(handover.FD, func(size int64) (*handover.Offer, error) { return offered(what, size) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// offered makes what a program hands over.
func offered(what string, size int64) (*handover.Offer, error) {
	if what == "memfd" {
		fd, err := unix.MemfdCreate("x", 0)
		return &handover.Offer{DMABuf: fd, Size: size}, errors.Join(err, unix.Ftruncate(fd, size))
	}
	m, err := NewUdmabuf(2 * int(size))
	if err != nil {
		return nil, err
	}
	switch what {
	case "part":
		return &handover.Offer{DMABuf: m.FD, Size: size, Offset: size}, nil
	case "beyond":
		return &handover.Offer{DMABuf: m.FD, Size: 3 * size}, nil
	case "crooked":
		return &handover.Offer{DMABuf: m.FD, Size: size, Offset: 100}, nil
	}
	return &handover.Offer{DMABuf: m.FD, Size: m.Size}, nil
}

// A descriptor that is no dmabuf, or of another size, is refused: what a NIC writes into is known.
func TestForeignDescriptors(t *testing.T) {
	for what, want := range map[string]string{"memfd": "not a dmabuf but \"/memfd:x (deleted)\"",
		"beyond": "12288 bytes at 0, in a dmabuf of 8192", "crooked": "at 100"} {
		t.Setenv(handsOver, what)
		_, err := Make("fd:/proc/self/exe", 4096)
		if what != "memfd" {
			needsUdmabuf(t, err)
		}
		if err == nil || !strings.Contains(err.Error(), want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix: %s", what, err, fault.Fix(err))
		}
	}
}

func needsUdmabuf(t *testing.T, err error) {
	t.Helper()
	if _, serr := os.Stat("/dev/udmabuf"); serr != nil {
		t.Skip(err)
	}
}

// A dmabuf of another program's that the CPU can map needs no copies; of one that is partly
// payload's, a NIC that receives is given nothing.
func TestForeignDMABuf(t *testing.T) {
	t.Setenv(handsOver, "whole")
	m, err := Make("fd:/proc/self/exe", 4096)
	needsUdmabuf(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if !m.Whole() || m.Bytes == nil || m.Size != 8192 {
		t.Errorf("%+v", m)
	}
	got := make([]byte, 3)
	if err := errors.Join(m.Write(8000, []byte("abc")), m.Read(8000, got)); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv(handsOver, "part")
	part, err := Make("fd:/proc/self/exe", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if part.Whole() || part.Offset != 4096 || fault.Fix(NotWhole(part)) == "" {
		t.Errorf("%+v is whole: %v", part, NotWhole(part))
	}
}

// Words of the options are read strictly, and what is meant is said.
func TestFind(t *testing.T) {
	for word, want := range map[string]string{"pages": "", "thp": "", "huge": "", "udmabuf": "", "heap": "",
		"heap:reserved": "", "heap:linux,cma@1": "", "drm:/dev/dri/card1": "", "fd:hand-over --gpu 0": "",
		"": "is not memory that is known", "haep": "did you mean heap?", "heap:": "nothing after the colon",
		"heap:../null": "not a name of a heap", "heap:.x": "not a name of a heap",
		"pages:4k": "takes nothing after its name",
		"drm":      "name the driver's node", "fd": "name the command", "fd: ": "name the command",
		"fd:a\nb":               "one line",
		"fd:x --token=abcdefgh": "let it read that from a file",
	} {
		if _, _, err := Find(word); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", word, err, want)
		}
	}
	if !Runs("fd:x") || Runs("heap:fd") || Runs("fdx:y") {
		t.Error("which run programs")
	}
}

// What the kernel says of memory that it does not give a NIC has words and a fix; what it says of
// anything else is left to others.
func TestRefusedByNIC(t *testing.T) {
	m := &Memory{FD: -1, Place: "0000:41:00.0"}
	for ack, want := range map[string]string{
		"Failed to bind dmabuf to device": "at 0000:41:00.0 does not let this NIC attach",
		"Failed to map dmabuf attachment": "has no address of the memory", "tcp-data-split is disabled": ""} {
		if why, fix := m.Refused(nil, ack); !strings.Contains(why, want) || (why == "") != (want == "") ||
			(fix == "") != (want == "") {
			t.Errorf("%s: %q, %q", ack, why, fix)
		}
	}
}
