// SPDX-License-Identifier: MIT

package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

var nvmlKind = sourceKind{inBand: true, summary: "NVIDIA GPUs (NVML)", example: "nvml",
	options: []string{"helper"},
	reaches: func(s Spec) []Reach {
		if p := s.Options.Get("helper"); p != "" {
			return []Reach{{Does: Runs, What: p}}
		}
		return nil // our own, or none
	},
	open: func(s Spec) (Source, error) { return openNVML(s) },
	survey: func() (string, error) {
		names, err := listGPUs(Spec{})
		return strings.Join(names, ", "), err
	}}

// openNVML keeps the helper running. It prints a line of milliwatts, one number
// per GPU, at an interval.
func openNVML(s Spec) (Source, error) {
	path, err := nvmlHelper(s)
	if err != nil {
		return nil, err
	}
	names, err := listGPUs(s)
	if err != nil {
		return nil, err
	}
	c := &command{text: "exec " + quote(path) + " --interval 100ms", parse: parseMilliwatts,
		info: Info{Name: s.String(), Scope: ScopeGPU, MinInterval: 100 * time.Millisecond, Averages: time.Second, Uncertainty: s.declared(0.05), Device: strings.Join(names, ", ")}}
	for i := range names {
		c.info.Channels = append(c.info.Channels, Channel{Name: fmt.Sprintf("gpu%d", i), Kind: Power, Scope: ScopeGPU, Resolution: 0.001})
	}
	if err := c.try(); err != nil {
		return nil, err
	}
	return c, nil
}

// listGPUs are the names of the GPUs.
func listGPUs(s Spec) ([]string, error) {
	path, err := nvmlHelper(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*readTime) // the driver may have to wake the GPUs
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--list")
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	out, err := cmd.Output()
	if why := strings.TrimSpace(stderr.String()); err != nil && why != "" {
		return nil, &Unavailable{short120(why), "install the NVIDIA driver, with libnvidia-ml.so.1"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", NVMLHelper, plainTimeout(err))
	}
	names := strings.Split(strings.TrimSpace(string(out)), "\n")
	if names[0] == "" {
		return nil, &Unavailable{"NVML reports no GPU", "check nvidia-smi"}
	}
	return names, nil
}

func short120(s string) string {
	if len(s) > 120 {
		s = s[:120] + "..."
	}
	return strings.ReplaceAll(s, "\n", " ")
}

// parseMilliwatts reads the helper's line: a number per GPU, "-" for none.
func parseMilliwatts(line string, v []int64) error {
	f := strings.Fields(line)
	if len(f) != len(v) {
		return fmt.Errorf("%s prints %q for %d GPUs", NVMLHelper, short(line), len(v))
	}
	for i, text := range f {
		if text == "-" {
			return errNoReading // of one GPU: then there is no sum
		}
		mw, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return errors.New(NVMLHelper + " prints " + strconv.Quote(short(line)))
		}
		if v[i], err = micro(float64(mw) / 1e3); err != nil {
			return err
		}
	}
	return nil
}

// quote makes a word of the shell's.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
