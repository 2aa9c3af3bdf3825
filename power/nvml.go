// SPDX-License-Identifier: MIT

package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/helper"
)

var nvmlKind = sourceKind{inBand: true, summary: "NVIDIA GPUs (NVML)", example: "nvml",
	options: []string{"helper", "gpu"},
	check: func(s Spec) error {
		_, err := numbersFrom(s, "gpu", 0)
		return err
	},
	reaches: func(s Spec) []Reach {
		if p := s.Options.Get("helper"); p != "" {
			return []Reach{{Does: Runs, What: p}}
		}
		return nil // our own, or none
	},
	open:   func(s Spec) (Source, error) { return openNVML(s) },
	survey: func() (info, error) { return surveyed(kinds["nvml"].open(Spec{Name: "nvml"})) }}

// openNVML keeps the helper running. It prints a line of milliwatts, one number
// per GPU, at an interval.
func openNVML(s Spec) (_ Source, err error) {
	path, program, err := nvmlHelper(s)
	if err != nil {
		return nil, err
	}
	c := &command{text: "exec " + quote(path) + " --interval 100ms", program: program,
		info: info{Name: s.String(), Scope: scopeGPU, MinInterval: 100 * time.Millisecond,
			Averages: max(time.Second, s.averages()), Uncertainty: s.declared(0.05)}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	names, err := listGPUs(path, program)
	if err != nil {
		return nil, err
	}
	if c.info.Channels, c.info.NoSum, err = gpuChannels(s, names); err != nil {
		return nil, err
	}
	c.info.Device = strings.ReplaceAll(strings.Join(names, ", "), "\t", ", ")
	channels := c.info.Channels
	c.parse = func(line string, v []int64) error { return parseMilliwatts(line, v, channels) }
	if err := c.try(); err != nil {
		return nil, err
	}
	return c, nil
}

// gpuChannels makes the channels of the GPUs, those of the sum and the others. NVML has a reading
// for each GPU, but where a board has several, NVIDIA's documents differ on whether it is that of
// the GPU or of the board, so that those of one board are not added.
func gpuChannels(s Spec, names []string) (out []channel, no *unavailable, err error) {
	named, err := numbersFrom(s, "gpu", 0)
	if err != nil {
		return nil, nil, err
	}
	boards := map[string][]string{}
	for i, n := range names {
		id := strconv.Itoa(i)
		ch := channel{Name: "gpu" + id, Kind: power, Scope: scopeGPU, Resolution: 0.001,
			Part: len(named) > 0 && !slices.Contains(named, id)}
		for _, word := range strings.Split(n, "\t")[1:] {
			if pci, ok := strings.CutPrefix(word, "pci "); ok {
				ch.Place = pci
			} else if len(named) == 0 {
				boards[word] = append(boards[word], id)
			}
		}
		out = append(out, ch)
	}
	for _, n := range named {
		if i, _ := strconv.Atoi(n); i >= len(names) {
			return nil, nil, fmt.Errorf("no gpu %s: there are %d, from 0", n, len(names))
		}
	}
	for _, board := range slices.Sorted(maps.Keys(boards)) {
		if on := boards[board]; len(on) > 1 {
			no = &unavailable{fmt.Sprintf("GPUs %s are on one board, and the reading of each may be that of the board",
				strings.Join(on, ", ")),
				fmt.Sprintf("name those that are to be added: nvml?gpu=%s, or nvml?gpu=%s", on[0],
					strings.Join(on, ";"))}
		}
	}
	return out, no, nil
}

// listGPUs asks the helper for the names of the GPUs. After tabs follow the PCI address, and the
// board where that has several.
func listGPUs(path string, program *os.File) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*readTime) // the driver may have to wake the GPUs
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--list")
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	if program != nil {
		cmd.ExtraFiles = []*os.File{program}
	}
	out, err := cmd.Output()
	if why := strings.TrimSpace(stderr.String()); err != nil && why != "" {
		return nil, &unavailable{short120(why), "install the NVIDIA driver, with libnvidia-ml.so.1"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", helper.NVML, plainTimeout(err))
	}
	names := strings.Split(strings.TrimSpace(string(out)), "\n")
	if names[0] == "" {
		return nil, &unavailable{"NVML reports no GPU", "check nvidia-smi"}
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
func parseMilliwatts(line string, v []int64, channels []channel) error {
	f := strings.Fields(line)
	if len(f) != len(v) {
		return fmt.Errorf("%s prints %q for %d GPUs", helper.NVML, short(line), len(v))
	}
	for i, text := range f {
		part := channels[i].Part
		if text == "-" && part {
			continue
		}
		if text == "-" {
			return errNoReading // of one GPU: then there is no sum
		}
		mw, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return errors.New(helper.NVML + " prints " + strconv.Quote(short(line)))
		}
		if v[i], err = micro(float64(mw) / 1e3); err != nil && !part {
			return fmt.Errorf("gpu%d: %w", i, err)
		}
	}
	return nil
}

// quote makes a word of the shell's.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
