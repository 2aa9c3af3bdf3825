// SPDX-License-Identifier: MIT

package host

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCommand(t *testing.T) {
	for in, want := range map[string][]string{
		"srun -w n1 -N1 -n1 --overlap -u":       {"srun", "-w", "n1", "-N1", "-n1", "--overlap", "-u"},
		"kubectl exec -i POD --":                {"kubectl", "exec", "-i", "POD", "--"},
		"  a   b  ":                             {"a", "b"},
		`a 'b c' "d \" e" f\ g ''`:              {"a", "b c", `d " e`, "f g", ""},
		`sh -c 'exec "$@"' -`:                   {"sh", "-c", `exec "$@"`, "-"},
		`a b'c'"d"\e`:                           {"a", "bcde"},
		`a "b\n" x~y x#y n[1-2] {{.ID}} k=v %d`: {"a", `b\n`, "x~y", "x#y", "n[1-2]", "{{.ID}}", "k=v", "%d"},
		"/opt/a b":                              {"/opt/a", "b"},
		"srun --export=ALL -w ü":                {"srun", "--export=ALL", "-w", "ü"},
		"kubectl --token-file=/x exec":          {"kubectl", "--token-file=/x", "exec"},
		"curl http://a:80/x@y":                  {"curl", "http://a:80/x@y"},
	} {
		got, err := parseCommand(in)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%q: %v -want +got\n%s", in, err, d)
		}
	}
	for in, want := range map[string]string{
		"":                                       "no command",
		"   ":                                    "no command",
		"''":                                     "is no program",
		"-x":                                     "is no program",
		"A=b srun":                               "env A=...",
		"a 'b":                                   "column 3: ' without",
		"ä \"b":                                  "column 3: \" without",
		`a b\`:                                   "column 4: nothing after",
		"a | b":                                  "column 3: | means",
		"a b>c":                                  "column 4: > means",
		"a; b":                                   "column 2: ; means",
		"kubectl exec $POD":                      "column 14: $ means",
		"a \"$b\"":                               "column 4: $ means something to a shell, also in double quotes",
		"a `b`":                                  "column 3: ` means",
		"a *":                                    "column 3: * means",
		"a ~/x":                                  "column 3: ~ means",
		"a #x":                                   "column 3: # means",
		"a\nb":                                   "column 2: a character that is no plain text",
		"a \x1b[2J":                              "column 3: a character",
		"a \xff":                                 "column 3: a character",
		"kubectl --token=SECRET exec":            "word 2: --token: results folders and ps show the whole command",
		"x --db-password SECRET":                 "word 2: --db-password:",
		"x http://me:SECRET@host/":               "word 2: the password in a URL",
		"env KUBE_TOKEN=SECRET x":                "word 2: KUBE_TOKEN:",
		"env SSHPASS=SECRET sshpass -e ssh h":    "word 2: SSHPASS: ",
		"env AUTH=SECRET x":                      "word 2: AUTH: ",
		"AUTH=SECRET x":                          "word 1: AUTH: ",
		"sshpass -p SECRET ssh h":                "word 2: what sshpass takes for a password",
		"curl -u me:SECRET h":                    "word 2: what curl takes for a password",
		"curl -H 'Authorization: Bearer SECRET'": "word 3: a header",
		"curl https://h/x?token=SECRET":          "column 17: ? means",
		"curl 'https://h/x?token=SECRET'":        "word 2: a parameter of a URL",
		"sh -c 'sshpass -p SECRET ssh h'":        "word 3: what sshpass takes",
		"sshpass -p SECRET ssh h | x":            "column 25: | means",
		"A=SECRET srun":                          "env A=... PROGRAM",
		strings.Repeat("x", 2049):                "too long",
	} {
		got, err := parseCommand(in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") ||
			strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if _, err := ParseSpec(Exec + in); err == nil || strings.Contains(err.Error(), "SECRET") ||
			strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: the host: %v", in, err)
		}
	}
}

// What is a word to us is the same word to a shell.
func TestSplitWordsAsAShell(t *testing.T) {
	for _, in := range []string{`a 'b c' "d \" \\ \x e" f\ g '' \' "" a''b`, `x~y x#y k=v "a b"c'd e'\f`,
		"a 'ü\"' \"'\""} {
		sameAsShell(t, in)
	}
}

func sameAsShell(t *testing.T, in string) {
	t.Helper()
	words, err := splitWords(in)
	if err != nil || strings.ContainsAny(in, "[{\x00\n\t") || len(words) == 0 {
		return
	}
	out, err := exec.Command("/bin/sh", "-c", `printf '<%s>' `+in).Output()
	if want := "<" + strings.Join(words, "><") + ">"; err != nil || string(out) != want {
		t.Errorf("%q: a shell has %q, we have %q (%v)", in, out, want, err)
	}
}

// FuzzSplitWords: whatever is taken apart is what a shell has, or an error with its place.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"srun -w n1", `a 'b' "c\"" \d`, "a $b", "'", `"`, `\`, "a \\\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := parseCommand(in); err == nil {
			sameAsShell(t, in)
		} else if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q", err)
		}
	})
}

// A host is one word of the command that helps.
func TestShell(t *testing.T) {
	for in, want := range map[string]string{"ssh:root@a": "ssh:root@a", "exec:srun -w n1": "'exec:srun -w n1'",
		"exec:sh -c 'a'": `'exec:sh -c '\''a'\'''`, "": "''"} {
		if got := Shell(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// What is no host at all is not repeated where it may have a secret.
func TestHostsNotRepeated(t *testing.T) {
	for _, in := range []string{"exex:curl -u me:SECRET h", "ssh:root:SECRET@h", "ssh://root:SECRET@h:22",
		"ssh+sudo:a:SECRET@", "https://me:SECRET@h/", "sshpass -p SECRET ssh h",
		"exec:sshpass -p SECRET ssh h > x"} {
		if _, err := ParseSpec(in); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", in, err)
		}
	}
}
