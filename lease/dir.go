package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// DirEnv names the folder of journals and locks, for tests and containers.
const DirEnv = "ZCBENCH_LEASE_DIR"

// Dir is the folder of journals and locks: /run/zcbench, which a reboot empties
// as it does the settings; for a user who may not write there, zcbench below
// $XDG_STATE_HOME.
func Dir() (string, error) {
	if d := os.Getenv(DirEnv); d != "" {
		return d, os.MkdirAll(d, 0o755)
	}
	const run = "/run/zcbench"
	err := os.MkdirAll(run, 0o755)
	if err == nil && os.Geteuid() == 0 {
		return run, nil
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, herr := os.UserHomeDir()
		if herr != nil {
			return "", errors.Join(fmt.Errorf("find a folder for the journals of leases: %w", err), herr)
		}
		state = filepath.Join(home, ".local/state")
	}
	d := filepath.Join(state, "zcbench")
	return d, os.MkdirAll(d, 0o755)
}

// bootID tells one boot of the machine from the next.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("tell this boot from others: %w: mount /proc", err)
	}
	return strings.TrimSpace(string(b)), nil
}
