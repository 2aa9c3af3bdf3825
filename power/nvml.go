package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var nvmlKind = kind{inBand: true, summary: "NVIDIA GPUs (NVML)", example: "nvml",
	options: []string{"helper"},
	open:    func(s Spec) (Source, error) { return openNVML(s) },
	survey: func() (string, error) {
		names, err := listGPUs(Spec{})
		return strings.Join(names, ", "), err
	}}

// NVMLHelper is the program that loads NVIDIA's library. A program that loads a
// library cannot be static, which zcbench is, so that it runs on any host and in
// the lab.
const NVMLHelper = "zcnvml"

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

func nvmlHelper(s Spec) (string, error) {
	if p := s.Options.Get("helper"); p != "" {
		return p, nil
	}
	p := FindNVMLHelper()
	if p == "" {
		return "", &Unavailable{NVMLHelper + ", which loads NVIDIA's library, is neither beside zcbench nor in PATH",
			"make build, and keep bin/" + NVMLHelper + " beside the zcbench that you start: it is copied to ssh hosts with it"}
	}
	return p, nil
}

// FindNVMLHelper is where the helper lies on this host, beside this program or in
// PATH; "" if nowhere.
func FindNVMLHelper() string {
	if self, err := os.Executable(); err == nil {
		p := filepath.Join(filepath.Dir(self), NVMLHelper)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	p, err := exec.LookPath(NVMLHelper)
	if err != nil {
		return ""
	}
	return p
}

// NeedsNVMLHelper reports whether any of the sources is read by the helper,
// where nobody says where it is.
func NeedsNVMLHelper(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == "nvml" && s.Options.Get("helper") == "" })
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
		return nil, &Unavailable{"NVML knows no GPU", "check nvidia-smi"}
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
