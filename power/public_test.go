// SPDX-License-Identifier: MIT

package power

import (
	"strings"
	"testing"
)

// A command is named by its program, and by nothing that could be secret.
func TestCommandsName(t *testing.T) {
	for text, want := range map[string]string{
		"curl -u admin:SECRET https://bmc":        "command=curl",
		"/opt/meter/watts --token SECRET":         "command=watts",
		"PASS=SECRET USER=me /bin/curl x":         "command=curl",
		"env PASS=SECRET curl":                    "command=env",
		`PASS="SECRET SECRET" curl`:               "command",
		"PASS=$(cat SECRET) curl":                 "command",
		"echo 5 # SECRET":                         "command=echo",
		"curl;SECRET":                             "command",
		"while :; do echo 5; sleep 1; done":       "command=while",
		"\x1b]0;SECRET\a":                         "command",
		"SECRET=":                                 "command",
		strings.Repeat("SECRET", 20) + " --watts": "command",
	} {
		s, err := ParseSpec("sut:command=" + text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.String() != want || strings.Contains(s.Public(), "SECRET") || !strings.HasPrefix(s.Public(), "sut:"+want) {
			t.Errorf("%q is %q, in results %q; want %q", text, s, s.Public(), want)
		}
	}
}

// What a command says when it fails is told without its own arguments.
func TestCommandsErrors(t *testing.T) {
	for _, text := range []string{
		"echo admin:SECRET-1 is wrong >&2; exit 3",
		"echo 'SECRET-1 refused' >&2",
		"echo token=SECRET-1",
		"printf '%s\\n' 'x SECRET-1@host'",
		"cat /SECRET-1/SECRET-2",
		"X=SECRET-1; ls $X$X",
	} {
		s, err := ParseSpec("command=" + text)
		if err != nil {
			t.Fatal(err)
		}
		src, err := Open(s)
		if err == nil {
			src.Close()
			t.Errorf("%s: no error", text)
		} else if strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "…") {
			t.Errorf("%s: %v", text, err)
		}
	}
	// What is no argument is told: it says what went wrong.
	src, err := Open(Spec{Name: "command", Target: "my-meter --watts"})
	if err == nil {
		src.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "my-meter") || !strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
}

// No text that could be a password is repeated in an error, or accepted where it
// would be in results.
func TestSpecsWithSecrets(t *testing.T) {
	for _, text := range []string{"curl -u admin:SECRET", "https://admin:SECRET@bmc",
		"redfish=https://admin:SECRET@bmc", "snmp=SECRET@pdu", "snmp=apc@SECRET@pdu?outlet=1",
		"ptdaemon=admin:SECRET@host", "scpi=admin:SECRET@host"} {
		if _, err := ParseSpec(text); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
