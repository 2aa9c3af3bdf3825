// SPDX-License-Identifier: MIT

package host

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
)

// One line in transports adds a way to an agent: hosts of its kind are read, are in help texts and
// messages, and an agent is started there, to which the program was copied if need be.
func TestOneLineAddsATransport(t *testing.T) {
	before := transports
	defer func() { transports = before }()
	var cache = t.TempDir()
	transports = append(before[:len(before):len(before)],
		transport{kind: "shell", forms: []string{"shell:NAME"},
			parse: func(_, rest string) (Spec, error) {
				if rest == "" {
					return Spec{}, errNoForm
				}
				return Spec{Dest: rest}, nil
			},
			far: func(_ Spec, script, _ string) (*exec.Cmd, error) {
				cmd := exec.Command("/bin/sh", "-c", script)
				cmd.Env = append(cmd.Environ(), "XDG_CACHE_HOME="+cache)
				return cmd, nil
			},
			by:     func(Spec) string { return "sh" },
			starts: func(s Spec) string { return "a shell for " + s.Dest }},
		transport{kind: "beside", forms: []string{"beside"},
			parse: func(string, string) (Spec, error) { return Spec{}, nil }})

	for _, wrong := range []string{"shell", "shell:", "beside:x", "other"} {
		if _, err := ParseSpec(wrong); err == nil || !strings.Contains(err.Error(), "shell:NAME, beside") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for spec, far := range map[string]bool{"shell:x": true, "beside": false} {
		h, err := Dial(t.Context(), spec, Options{ToolVersion: version.Tool(), KeepLeases: true})
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		defer h.Close()
		var modes []wire.ModeSupport
		if err := h.Call(t.Context(), wire.OpModes, nil, &modes); err != nil || len(modes) == 0 {
			t.Errorf("%s: the agent does not answer: %v", spec, err)
		}
		if h.Spec.Far() != far || (h.Spec.Starts() == "a shell for x") != far || h.Spec.Name != spec {
			t.Errorf("%s: %+v, far %v, starts %q", spec, h.Spec, h.Spec.Far(), h.Spec.Starts())
		}
	}
}
