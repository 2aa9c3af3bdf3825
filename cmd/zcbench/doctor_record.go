// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/internal/version"
	"golang.org/x/sys/unix"
)

// recordMade is what doctor --record prints with --json.
type recordMade struct {
	Record  string `json:"record"`
	Answers int    `json:"answers"`
}

// record writes what the host says of dev to a file that is not there yet.
func record(cmd *cobra.Command, spec, dev, path string, asJSON bool) error {
	if dev == "" {
		return cli.Usagef("--record needs the interface: --dev")
	}
	if _, err := os.Lstat(path); err == nil {
		return cli.Usagef("%s already exists: choose another name; nothing is overwritten", path)
	}
	f, err := recordOf(cmd, spec, dev)
	if err != nil {
		return err
	}
	if err := writeRecord(path, f); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(recordMade{path, len(f.Answers)})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: what %s answers about %s, %d answers, without addresses, names "+
		"or serial numbers.\nzcbench doctor --replay %s repeats this host's report. Read the file before you "+
		"send it.\n",
		path, spec, dev, len(f.Answers), path)
	return err
}

// recordOf lets a host's agent make the record.
func recordOf(cmd *cobra.Command, spec, dev string) (*tape.File, error) {
	ctx := cmd.Context()
	h, err := host.Dial(ctx, spec, host.Options{ToolVersion: version.Tool(), KeepLeases: true})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if _, err := interfaceOf(ctx, h, spec, dev); err != nil {
		return nil, err
	}
	bringHelper(cmd, h)
	f := new(tape.File)
	return f, h.Call(ctx, wire.OpRecord, wire.ModesParams{Dev: dev}, f)
}

// writeRecord makes the file, which only its user can read until they send it.
func writeRecord(path string, f *tape.File) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &fault.Error{Op: "make the record", Err: err, How: "choose another name or folder"}
	}
	err = f.Write(to)
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		err = errors.Join(err, os.Remove(path)) // ours: it was not there
	}
	return err
}

// replay diagnoses from a record.
func replay(path string) (*diagnosis, error) {
	text, err := readRecord(path)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	f, err := tape.Parse(path, text)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	r, err := doctor.Replay(f)
	if err != nil {
		return nil, cli.UsageError(fmt.Errorf("%s: %w", path, err))
	}
	return &diagnosis{Host: "of the record", ToolVersion: version.Tool(), RecordedBy: f.Tool, Dev: &r.Dev,
		Checks: r.Checks, Modes: r.Modes, replayed: true}, nil
}

// readRecord reads a file, as much as a record may have.
func readRecord(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe without a writer is not waited for
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a file", path))
	}
	return io.ReadAll(io.LimitReader(f, tape.MaxBytes+1))
}
