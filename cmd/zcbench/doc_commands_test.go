// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
)

// docCommand is a command in a page or in a command's examples.
type docCommand struct {
	at     string // page and line
	text   string
	inline bool // in a sentence, where it may be a name alone
}

// The words that a line of a page begins with if it is a command without a prompt.
const ours = `zcbench|zcrecv|zcsend|zcnvml|zcgpu|make|go`

var (
	prompted   = regexp.MustCompile(`^    (?:(\w+)?([$#]) )(.*)$`)
	unprompted = regexp.MustCompile(`^    ((?:\w+=\S+ |sudo )*(?:` + ours + `)(?: .*)?)$`)
	inSentence = regexp.MustCompile("`((?:" + ours + ") [^`]+)`")
	known      = regexp.MustCompile(`^(?:\w+=\S+ |sudo )*(?:` + ours + `|` + elsewhereWords() + `)\b`)
	aside      = regexp.MustCompile(`\s{2,}.*$|\s+# .*$`) // what stands beside a command explains it
)

// elsewhere are the programs of pages that are not this project's, and why no test runs them.
var elsewhere = map[string]string{
	"apt-get": "changes the host", "apt": "changes the host", "git": "asks another host", "cd": "of the shell",
	"install":     "changes the host",
	"ssh-copy-id": "asks another host", "ssh": "asks another host",
	"ip":   "changes the host; TestIntegrationHostsDoc runs those of docs/hosts.md",
	"ping": "asks another host", "ethtool": "needs a NIC", "sysctl": "changes the host",
	"systemctl": "changes the host", "modprobe": "changes the host",
	"nmcli": "changes the host", "tc": "changes the host", "benchstat": "a tool of others; TestGolden has its input",
	"perf":   "a tool of others",
	"gunzip": "a tool of others", "zcat": "a tool of others", "jq": "a tool of others", "sha256sum": "a tool of others",
	"python3": "a tool of others; TestKernelsParser",
	"sbatch":  "of Slurm; TestIntegrationSlurmPairs", "cp": "of the shell", "rm": "of the shell", "tar": "of the shell",
	"mkdir": "of the shell",
}

func elsewhereWords() string {
	var out []string
	for word := range elsewhere {
		out = append(out, regexp.QuoteMeta(word))
	}
	slices.Sort(out)
	return strings.Join(out, "|")
}

// notHere are commands of ours that are parsed and not run here, and why: the first that matches.
var notHere = []struct {
	match *regexp.Regexp
	why   string
}{
	{regexp.MustCompile(`ssh(\+sudo)?:`),
		"other hosts; TestIntegrationHostsDoc runs those of docs/hosts.md, between namespaces"},
	{regexp.MustCompile(`^zcbench (demo|lab demo)`), "takes a minute or two; TestIntegrationDemo, TestLabDemo"},
	{regexp.MustCompile(`^zcbench lab\b`), "boots a virtual machine; the lane lab"},
	{regexp.MustCompile(`^zcbench doctor .*--(dev|record|replay|host)`),
		"an interface, or a record, of that name; TestGoldenReplay, TestIntegrationDoctorRecordSSH"},
	{regexp.MustCompile(`^zcbench (run|matrix|loss-free) .*(netns:|--dev )`),
		"namespaces and interfaces of the user's; TestScript, TestIntegrationLossFree"},
	{regexp.MustCompile(`^zcbench decide .*netns:`), "namespaces of the user's; TestIntegrationDecide"},
	{regexp.MustCompile(`^zcbench tune `), "hosts or a file of the user's, and half an hour; TestIntegrationTune"},
	{regexp.MustCompile(`^zcbench firsthour .*netns:`), "namespaces of the user's; TestIntegrationFirstHour"},
	{regexp.MustCompile(`^zcbench share `), "writes a file here; TestShare"},
	{regexp.MustCompile(`exec:`), "containers and nodes of others; TestIntegrationExec, TestIntegrationExecPodman"},
	{regexp.MustCompile(`^zcbench ksft\b`), "the environment of the kernel's selftests; TestIntegrationKsft"},
	{regexp.MustCompile(`^zcbench compare --ktap `), "results of two kernels; TestCompareKTAP"},
	{regexp.MustCompile(`^zcbench fleet `), "results of many pairs; TestFleet"},
	{regexp.MustCompile(`^zcbench run --probe`), "an excerpt: it names no hosts"},
	{regexp.MustCompile(`^zcbench rerun --dry-run`), "results of this build; TestIntegrationRerun"},
	{regexp.MustCompile(`^zcbench (matrix|rerun) `), "runs for minutes to hours; TestScript has short ones"},
	{regexp.MustCompile(`^zcbench (probe|profile|counters)\b`), "root, interfaces and traffic; " +
		"TestIntegrationProbeTable, TestIntegrationProfileOutputs, TestIntegrationCountersPath"},
	{regexp.MustCompile(`^zcbench restore`), "would restore what others left on this host; TestIntegrationRestore"},
	{regexp.MustCompile(`^zcbench power (import|--source (rapl|redfish))|^zcbench .*--power `),
		"meters and their logs; the tests of package power"},
	{regexp.MustCompile(`^zcbench compare .*(--why|results/reference/)`),
		"runs with profiles, or of a whole experiment; TestGolden, TestGoldenWhy"},
	{regexp.MustCompile(`^zcbench (agent|completion|man)\b`), "TestMan, the tests of package bench/agent"},
	{regexp.MustCompile(`^(zcrecv|zcsend|zcnvml|zcgpu)\b`),
		"two hosts, or a GPU; the tests of cmd/zcrecv and cmd/zcsend"},
	{regexp.MustCompile(`^zcbench (run|matrix|report|export|compare|rerun|loss-free) [^-]*\b(A|B|DIR|FILE|NEW)\b`),
		"names no real folder"},
}

// runHere are commands that TestDocCommandsRun runs.
var runHere = regexp.MustCompile(
	`^zcbench( version| doctor| explain .*| power --source list| matrix --dry-run experiments/.*| .* --help| --help` +
		`| run --sut local --tg local .*| (report|export --\w+) out/.*| compare out/.*)?$`)

// placeholders are words that stand for the user's own.
var placeholders = strings.NewReplacer(" WORD", " zcrx", " COMMAND", " run", " GATE", " drift", " PID", " 1234",
	" -- ...", " -- CMD", "FILE.yaml", "experiments/quick.yaml", " ...", "")

// docCommands are all commands of the pages and of the commands' own examples.
func docCommands(t *testing.T) (out []docCommand) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, commandsIn(strings.TrimPrefix(page, "../../"), string(b))...)
	}
	for _, c := range all() {
		for i, line := range strings.Split(strings.ReplaceAll(c.Example, "\\\n", ""), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, docCommand{at: fmt.Sprintf("%s --help, example %d", c.CommandPath(), i+1),
					text: line})
			}
		}
	}
	return out
}

func commandsIn(page, text string) (out []docCommand) {
	lines := strings.Split(text, "\n")
	ktap := false // its diagnostics look like a prompt of root's
	for i := 0; i < len(lines); i++ {
		if ktap = strings.TrimSpace(lines[i]) == "KTAP version 1" || ktap && strings.HasPrefix(lines[i], "    "); ktap {
			continue
		}
		at, line := fmt.Sprintf("%s:%d", page, i+1), lines[i]
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}
		switch m := prompted.FindStringSubmatch(line); {
		case m != nil && (m[2] == "$" || m[1] != "" || known.MatchString(m[3])): // else a comment in a file
			out = append(out, docCommand{at: at, text: aside.ReplaceAllString(m[3], "")})
		case m != nil:
		case unprompted.MatchString(line):
			out = append(out, docCommand{at: at, text: aside.ReplaceAllString(strings.TrimSpace(line), "")})
		case !strings.HasPrefix(line, "    "):
			for _, m := range inSentence.FindAllStringSubmatch(line, -1) {
				out = append(out, docCommand{at: at, text: m[1], inline: true})
			}
		}
	}
	return out
}

// Every command in the pages is one that there is, with flags that it has, and either a test
// runs it or it is known why none can.
func TestDocCommands(t *testing.T) {
	n, run := 0, 0
	for _, c := range docCommands(t) {
		for _, part := range shellParts(c.text) {
			n++
			words := shellWords(part)
			for len(words) > 0 && (words[0] == "sudo" || regexp.MustCompile(`^\w+=`).MatchString(words[0])) {
				words = words[1:]
			}
			if len(words) == 0 {
				continue
			}
			words[0] = filepath.Base(words[0])
			if err := fits(t, words, c.inline); err != nil {
				t.Errorf("%s: %s: %v", c.at, part, err)
				continue
			}
			line := strings.Join(words, " ")
			switch words[0] {
			case "zcbench", "zcrecv", "zcsend", "zcnvml", "zcgpu":
				if runHere.MatchString(line) && reason(line) == "" {
					run++
				} else if reason(line) == "" && !c.inline {
					t.Errorf("%s: %s: no test runs it, and notHere does not say why", c.at, line)
				}
			}
		}
	}
	if n < 150 || run < 10 {
		t.Errorf("%d commands, of which %d can run here: the form of the pages is another one", n, run)
	}
}

func reason(line string) string {
	for _, x := range notHere {
		if x.match.MatchString(line) && !(strings.Contains(line, " --dry-run ") && runHere.MatchString(line) &&
			!strings.Contains(line, "ssh")) {
			return x.why
		}
	}
	return ""
}

// fits tells what is wrong with a command: a name, flag or value that there is not.
func fits(t *testing.T, words []string, inline bool) error {
	switch words[0] {
	case "zcbench":
		return parsed(words[1:], inline)
	case "zcrecv", "zcsend":
		p := built.Start(t, words[0], append(slices.Clone(words[1:]), "--help")...) // flags are looked at before
		if status := p.Wait(await.Hang); status != 0 {
			return fmt.Errorf("exit status %d: %s", status, &p.Err)
		}
		return nil
	case "zcnvml", "zcgpu":
		return nil
	case "make":
		return madeBy(words[1:])
	case "go":
		for _, w := range words[1:] {
			if dir, ok := strings.CutPrefix(strings.TrimSuffix(w, "/..."), "./"); ok && dir != "a" && dir != "b" &&
				dir != "some/package" {
				if _, err := os.Stat(filepath.Join("../..", dir)); err != nil {
					return err
				}
			}
			if strings.HasPrefix(w, "zcbench ") || strings.Contains(w, "/zcbench ") {
				return parsed(shellWords(w)[1:], true) // go test appends the program
			}
		}
		return nil
	}
	if elsewhere[words[0]] == "" {
		return fmt.Errorf("%s is neither a program of zcbench nor in the list elsewhere", words[0])
	}
	return nil
}

// parsed reads the arguments of zcbench as it would.
func parsed(args []string, inline bool) error {
	root := command()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	c.InitDefaultHelpFlag()
	if i := slices.Index(rest, "--help"); i >= 0 {
		rest = slices.Delete(slices.Clone(rest), i, i+1)
		inline = true
	}
	if err := c.ParseFlags(rest); err != nil {
		if inline && strings.Contains(err.Error(), "flag needs an argument") { // a flag's name alone
			return nil
		}
		return err
	}
	positional := c.Flags().Args()
	switch {
	case !c.Runnable() && len(positional) > 0, !c.HasParent() && len(positional) > 0:
		return fmt.Errorf("%s has no command %s", c.CommandPath(), positional[0])
	case inline && len(positional) == 0:
		return nil
	}
	return c.ValidateArgs(positional)
}

// madeBy tells which of make's targets there is not.
func madeBy(args []string) error {
	if slices.Contains(args, "-C") { // a makefile of others
		return nil
	}
	var rules []byte
	for _, name := range []string{"../../Makefile", "../../mk/lab.mk", "../../mk/field.mk", "../../mk/package.mk"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rules = append(rules, b...)
	}
	for _, target := range args {
		if strings.Contains(target, "=") || strings.HasPrefix(target, "-") {
			continue
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(rules) {
			return fmt.Errorf("make has no target %s", target)
		}
	}
	return nil
}

// shellParts are the commands of a line. Brackets around what may be left out are taken off, and
// placeholders filled in.
func shellParts(line string) (out []string) {
	if strings.Contains(line, "[-") {
		line = strings.NewReplacer("[", "", "]", "", " | ", " ").Replace(line)
	}
	line = placeholders.Replace(line + " ")
	for _, part := range regexp.MustCompile(` (?:&&|\|\||\||;|&) |[;&] `).Split(line, -1) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// shellWords are the words of a command, with quotes taken off.
func shellWords(line string) (out []string) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ' || r == '\n':
			if in {
				out = append(out, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		out = append(out, word.String())
	}
	return out
}

// Wrong commands are found out.
func TestWrongDocCommands(t *testing.T) {
	for line, inline := range map[string]bool{
		"zcbench dmeo": false, "zcbench run --duraton 1s": false, "zcbench run --flows many": false,
		"zcbench compare": false, "zcbench lab exce -- true": false,
		"zcbench explain": false, "make everything": false, "go test ./nosuch": false, "zcrecv --nosuch": false,
		"frobnicate x": false,
		`go test -exec "zcbench lab exce --" ./bpf`: false, "zcbench run nosuch": true,
	} {
		if line == "zcbench explain" {
			continue // lists the words
		}
		if err := fits(t, shellWords(line), inline); err == nil {
			t.Errorf("%s: nothing is wrong with it", line)
		}
	}
	got := commandsIn("p", "text `zcbench lab demo` and `zcbench`\n\n    $ zcbench run --a \\\n        --b     "+
		"what it does\n    # a comment\n    me# zcbench report x   # again\n    hosta$ odd thing\n    make demo  "+
		"    builds\n    key: value\n")
	var said []string
	for _, c := range got {
		said = append(said, c.at+" "+c.text)
	}
	if want := []string{"p:1 zcbench lab demo", "p:3 zcbench run --a --b", "p:6 zcbench report x", "p:7 odd thing",
		"p:8 make demo"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
