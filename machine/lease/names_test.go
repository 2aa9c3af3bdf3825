// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A folder that the user names may be anything: what is not ours in it stays, and so
// does its mode.
func TestFolderWithOtherThings(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"as /etc": 0o755, "as /tmp": 0o777 | os.ModeSticky} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			others := []string{".pwd.lock", "dpkg.lock", "host.lock.bak", "eth0.lease", "dhclient-1.lease"}
			for _, f := range others {
				if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dead := filepath.Join(dir, "host.lock") // what a dead process of ours has left
			if err := errors.Join(os.WriteFile(dead, nil, 0o600), os.Chmod(dir, mode)); err != nil {
				t.Fatal(err)
			}
			t.Setenv(DirEnv, dir)
			Dir()
			for _, o := range []FinishOptions{{Dir: dir}, {Dir: dir, All: true}, {Dir: dir, All: true, Adopt: true}} {
				if _, err := Finish(o); err != nil {
					t.Log(err)
				}
			}
			for _, f := range others {
				if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
					t.Error(err)
				}
			}
			st, err := os.Stat(dir)
			if err != nil || st.Mode()&(os.ModePerm|os.ModeSticky) != mode {
				t.Errorf("the folder is %v, was %v; %v", st.Mode(), mode, err)
			}
			if _, err := os.Stat(dead); name == "as /etc" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the lock of the dead is left: %v", err)
			}
		})
	}
}
