// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	pprof "github.com/google/pprof/profile"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
)

// Bounds of the profiles that one graph, or one report, is made of: how many are looked for, the
// bytes that they have unpacked, since few packed ones may be a great many, and the functions in
// their stacks, since few bytes may have a great many of them.
const (
	mostProfiles     = 4000
	mostProfileBytes = 256 << 20
	mostProfileSteps = 1 << 27
)

// ProfileReader reads the profiles that results folders keep, within bounds.
type ProfileReader struct {
	Files, Bytes, Steps int // that may still be read
}

// NewProfileReader may read as much as a graph is made of.
func NewProfileReader() *ProfileReader {
	return &ProfileReader{mostProfiles, mostProfileBytes, mostProfileSteps}
}

// ProfileBounds describes how much a graph may read, see [NewProfileReader].
func ProfileBounds() string {
	return fmt.Sprintf("%d profiles, of %v unpacked, with %d million functions in their stacks",
		mostProfiles, units.Bytes(mostProfileBytes), mostProfileSteps/1_000_000)
}

// ErrProfileBound says that a profile was not read because so many were before.
var ErrProfileBound = errors.New("reading stops before this profile")

// noProfile is the name of a file that is not there. Where the folder lies is nobody's business who
// reads a report.
type noProfile string

func (n noProfile) Error() string { return "there is no " + string(n) }

// Is matches [fs.ErrNotExist].
func (noProfile) Is(err error) bool { return err == fs.ErrNotExist }

// refusedProfile is a file that is refused, without where the folder lies.
type refusedProfile struct{ *results.Refused }

func (r *refusedProfile) Error() string { return r.Inside() }

func (r *refusedProfile) Unwrap() error { return r.Refused }

// Read reads the profile of a run's end. What cannot be read counts too, also what is not there,
// which is [fs.ErrNotExist]. Nothing is read once the context has ended.
func (k *ProfileReader) Read(ctx context.Context, in *results.Folder, run string, role ends.Role) (*pprof.Profile,
	error) {
	name, err := results.ProfileFile(run, string(role))
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	if k.Files <= 0 || k.Bytes <= 0 || k.Steps <= 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrProfileBound)
	}
	k.Files--
	f, err := in.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noProfile(name)
	}
	if r := (*results.Refused)(nil); errors.As(err, &r) {
		return nil, &refusedProfile{r}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	room := k.Bytes
	packed, err := io.ReadAll(io.LimitReader(f, int64(min(room, profile.MaxPacked))+1))
	if err != nil {
		k.Bytes -= len(packed)
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	p, unpacked, err := profile.ParseWithin(packed, room)
	k.Bytes -= max(len(packed), unpacked)
	switch {
	case k.Bytes < 0:
		return nil, fmt.Errorf("%s: %w", name, ErrProfileBound)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if k.Steps -= profile.Steps(p); k.Steps < 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrProfileBound)
	}
	return p, nil
}
