// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/lazy"
)

// ProfilesDir is the folder of runs' profiles in a results folder: RUN_ID-sut.pb.gz and
// RUN_ID-tg.pb.gz, which `go tool pprof` opens.
const ProfilesDir = "profiles"

var fileWord = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ProfileFile returns the path, within a results folder, of the profile of one end ("sut" or "tg")
// of a run.
func ProfileFile(runID, end string) (string, error) {
	if !fileWord().MatchString(runID) || len(runID) > 200 {
		return "", fmt.Errorf("no file can be named after run %+.80q", runID)
	}
	return filepath.Join(ProfilesDir, runID+"-"+end+".pb.gz"), nil
}

// Attached is what belongs to a run and is in no journal: the profiles of its ends, as pprof has
// them. Records that were read have none.
type Attached struct{ SUT, TG []byte }

// Attach writes what is attached to a run beside the journal, on disk when it returns. It
// comes before [Writer.Append]: a run that is in the journal has all of it, and a kill between the
// two leaves files of a run that never was, which nobody reads.
func (w *Writer) Attach(r *Record) error {
	for _, e := range []struct {
		name    string
		profile []byte
	}{{"sut", r.Attached.SUT}, {"tg", r.Attached.TG}} {
		if len(e.profile) == 0 {
			continue
		}
		name, err := ProfileFile(r.RunID, e.name)
		if err != nil {
			return err
		}
		if err := w.in.WriteBinary(name, e.profile); err != nil {
			return fmt.Errorf("keep the profile of run %s: %w", r.RunID, err)
		}
	}
	return nil
}
