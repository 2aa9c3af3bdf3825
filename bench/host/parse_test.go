// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/zcbench/zcbench/internal/fault"
)

func TestReadMark(t *testing.T) {
	const mark = markWord + " abc"
	for _, c := range []struct {
		in, err string
		want    farHost
	}{
		{in: mark + " ready 0 Linux x86_64 6.18.1\n{\"id\":1}\n", want: farHost{"ready", 0, "Linux", "x86_64",
			"6.18.1"}},
		{in: "hello\r\nworld " + mark + " x\n\n" + mark + " missing 1000 Linux aarch64 7.0\r\n{\"id\":1}\n",
			want: farHost{"missing", 1000, "Linux", "aarch64", "7.0"}},
		{in: strings.Repeat("x", 30000) + "\n" + mark + " damaged 0 Linux x86_64 6\n{\"id\":1}\n",
			want: farHost{"damaged", 0, "Linux", "x86_64", "6"}},
		{in: "no shell for you\n", err: "no shell for you"},
		{in: "", err: "did not run our command"},
		{in: mark + " ready 0 Linux", err: "did not run our command"},
		{in: mark + " ready 0\n", err: "id and uname"},
		{in: mark + " ready nobody Linux x86_64 6\n", err: "id -u"},
		{in: mark + " steady 0 Linux x86_64 6\n", err: "steady"},
		{in: strings.Repeat("motd\n", maxNoise), err: "and no end"},
	} {
		r := bufio.NewReader(strings.NewReader(c.in))
		got, err := readMark(r, mark, false)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.60q: %+v, %v", c.in, got, err)
		}
		if rest, _ := io.ReadAll(r); err == nil && string(rest) != "{\"id\":1}\n" {
			t.Errorf("%.60q: left is %q", c.in, rest)
		}
	}
}

func TestKernelTooOld(t *testing.T) {
	for kernel, ok := range map[string]bool{"6.18.1-amd64": true, "3.2": true, "3.10.0-1160.el7": true, "3.1.9": false,
		"2.6.32": false, "4": true, "": false, "7.2-rc1": true, "5.x": true} {
		if err := (farHost{system: "Linux", machine: "x86_64", kernel: kernel}).check(); (err == nil) != ok {
			t.Errorf("%q: %v", kernel, err)
		}
	}
}

// A command that prints on its standard output before our program's words is refused, and so is
// one whose standard input is a terminal; an empty line is none of its words.
func TestReadMarkAlone(t *testing.T) {
	const mark = markWord + " abc"
	for in, want := range map[string]string{
		"\r\n" + mark + " ready 0 Linux x86_64 6.18.1\n": "",
		"Defaulted container\x1b[2J x\n" + mark +
			" ready 0 Linux x86_64 6.18.1\n": `something before our program's words: "Defaulted container[2J x"`,
		"0: " + mark + " ready 0 Linux x86_64 6.18.1\n":   `puts "0:" before each line`,
		"\n" + mark + " terminal 0 Linux x86_64 6.18.1\n": "its standard input is a terminal",
	} {
		_, err := readMark(bufio.NewReader(strings.NewReader(in)), mark, true)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			fault.Fix(err) == "") {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// What commands say on their way out: their own words, whatever the exit status, and what to do.
func TestExplainCommands(t *testing.T) {
	for _, c := range []struct{ by, stderr, exit, op, how string }{
		{"srun", "srun: error: Unable to create step for job 7: Invalid node name specified\n", "1",
			"srun: exit status 1: srun: error: Unable to create step", "-w a node of it"},
		{"kubectl", "Error from server (NotFound): pods \"x\" not found\n", "1",
			"kubectl: exit status 1: Error from server (NotFound): pods \"x\" not found", "kubectl get pods"},
		{"kubectl", "error: Internal error occurred: exec: \"/bin/sh\": stat /bin/sh: no such file or directory\n", "1",
			"kubectl: exit status 1", "zcbench agent"},
		{"podman", "Error: no container with name or ID \"c\" found: no such container\n", "125",
			"podman: exit status 125: Error: no container", "podman ps"},
		{"env", "", "255", "env: exit status 255", ""},
	} {
		e := explain(c.by, c.stderr, "", exitStatus(t, c.exit))
		if !strings.HasPrefix(e.Op, c.op) || !strings.Contains(e.How, c.how) || c.how == "" && e.How != "" {
			t.Errorf("%q: %q, fix %q", c.stderr, e.Op, e.How)
		}
	}
	for _, c := range []struct {
		exit  string
		heard bool
		want  string
	}{{"1", true, "the connection is lost: kubectl: exit status 1"}, {"0", true, "the agent ended"},
		{"0", false, "the agent ended at once: it was given no input"}} {
		if e := farEnd("kubectl", "", exitStatus(t, c.exit), c.heard, silence, "zcbench restore"); e.Error() != c.want {
			t.Errorf("%+v: %v", c, e)
		}
	}
}

// exitStatus is the error of a command that ended so.
func exitStatus(t testing.TB, status string) error {
	err := exec.Command("/bin/sh", "-c", "exit "+status).Run()
	if err == nil && status != "0" {
		t.Fatal("exit status lost")
	}
	return err
}

func TestExplain(t *testing.T) {
	failed, one := exitStatus(t, "255"), exitStatus(t, "1")
	for _, c := range []struct {
		stderr, stdout string
		exit           error
		op, how        string
	}{
		{"Warning: Permanently added 'x' to the list of known hosts.\r\nx: Permission denied (publickey,password).\r\n",
			"", failed, "ssh: x: Permission denied (publickey,password).", "ssh-copy-id"},
		{"", "", failed, "ssh: ssh exited without a message, exit status 255", ""},
		{"\x1b[31mbad\x07\n", "", one, "ssh: exit status 1: [31mbad", ""},
		{"", "git only\n", one, "ssh: exit status 1: it printed: git only", ""},
		{"", "", nil, "the remote shell exited without a message", ""},
		{"sudo: a password is required\n", "", one, "ssh: exit status 1: sudo: a password is required", "visudo"},
		{"a\nb\nc\nd\ne\n", "", failed, "ssh: b; c; d; e", ""},
	} {
		e := explain("ssh", c.stderr, c.stdout, c.exit)
		if e.Op != c.op || !strings.Contains(e.How, c.how) || c.how == "" && e.How != "" {
			t.Errorf("%q: %q, fix %q", c.stderr, e.Op, e.How)
		}
	}
	// What breaks in the middle is a lost link; what ends by itself is not.
	if e := farEnd("ssh", "Timeout, server box not responding.\n", failed, true, silence,
		"zcbench restore"); e.Error() != "the connection is lost: ssh: Timeout, server box not responding." ||
		fault.Fix(e) == "" {
		t.Errorf("%v", e)
	}
	if e := farEnd("ssh", "zcbench: nothing heard\n", one, true, silence, ""); strings.Contains(e.Error(), "lost") {
		t.Errorf("%v", e)
	}
}

// FuzzReadMark: whatever a login shell prints ends in a host or an error, and
// what follows the mark is left alone.
func FuzzReadMark(f *testing.F) {
	const mark = markWord + " abc"
	f.Add("", " ready 0 Linux x86_64 6.1")
	f.Add("motd\r\n\x00\xff", " missing 4294967296 a b c d")
	f.Add(mark+" ready\n", "\n")
	f.Fuzz(func(t *testing.T, noise, rest string) {
		r := bufio.NewReader(strings.NewReader(noise + "\n" + mark + rest + "\n{}\n"))
		far, err := readMark(r, mark, len(noise)%2 == 1)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		if far.state != "ready" && far.state != "missing" && far.state != "damaged" && far.state != "refused" ||
			far.uid < 0 && !strings.Contains(noise+rest, "-") {
			t.Errorf("%+v", far)
		}
		if left, _ := io.ReadAll(r); !strings.HasSuffix(string(left), "{}\n") {
			t.Errorf("left is %q", left)
		}
	})
}

// FuzzExplain: what ssh and the far side print becomes one line that cannot play
// with a terminal.
func FuzzExplain(f *testing.F) {
	for _, h := range slices.Concat(hints, execHints) {
		f.Add(h.words, "", 255)
	}
	f.Add("\x1b]0;x\x07\r\n@@@@\n", "\x00\xff", 1)
	exits := map[int]error{}
	f.Fuzz(func(t *testing.T, stderr, stdout string, status int) {
		if status %= 3; exits[status] == nil && status != 0 {
			exits[status] = exitStatus(t, []string{"0", "1", "255"}[max(status, -status)])
		}
		for _, e := range []error{explain("ssh", stderr, stdout, exits[status]),
			explain("srun", stderr, stdout, exits[status]),
			farEnd("ssh", stderr, exits[status], true, silence, ""), farEnd("kubectl", stderr, exits[status],
				len(stdout) > 0, silence, "")} {
			s := e.Error()
			if s == "" || len(s) > 20000 ||
				strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r < 0x80 }) {
				t.Errorf("%q", s)
			}
		}
	})
}

// FuzzParseSpec: no host becomes an option of ssh, or words of a shell.
func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"local", "netns:a", "ssh:root@b", "ssh+sudo:me@[fd00::1]:22", "ssh://b:1", "ssh:-oX=y",
		"ssh:a b", "ssh:[fe80::1%eth0]:22", "ssh:fe80::1%$(x)", "exec:srun -w 'n1' -N1", "exec:-x", "exec:\"\" a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseSpec(in)
		if err == nil && s.Kind == "exec" && (len(s.Command) == 0 || s.Command[0] == "" || s.Command[0][0] == '-' ||
			strings.ContainsFunc(in, unicode.IsControl)) {
			t.Errorf("%q: command %q", in, s.Command)
		}
		if err != nil || s.Kind != "ssh" {
			return
		}
		if s.Dest == "" || s.Dest[0] == '-' || strings.ContainsFunc(s.Dest, odd) || s.Port < 0 || s.Port > 65535 {
			t.Errorf("%q: destination %q, port %d", in, s.Dest, s.Port)
		}
		if _, zone, zoned := strings.Cut(s.Dest, "%"); zoned && (len(zone) == 0 || len(zone) > 15 ||
			strings.Contains(zone, ":")) {
			t.Errorf("%q: zone %q", in, zone)
		}
	})
}

// odd is a character that a name needs not, and that means something to some shell.
func odd(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("'\"`$&|;<>(){}[]*?!#~=,/^", r)
}
