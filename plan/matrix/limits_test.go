// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
)

// Bounds of what any text may cost: many times what was measured, on a busy machine.
const (
	mostTime   = 5 * time.Second
	mostMemory = 384 << 20 // bytes allocated in all, most of them freed again
)

// frugally parses a text and fails where that costs more than it may.
func frugally(t *testing.T, what string, data []byte) (*Spec, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := cpuTime(t)
	s, err := Parse("x.yaml", data)
	if d := cpuTime(t) - from; d > mostTime {
		t.Errorf("%s: %d bytes took %v of a CPU", what, len(data), d)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostMemory {
		t.Errorf("%s: %d bytes took %d MiB", what, len(data), n>>20)
	}
	return s, err
}

// cpuTime is what this process has had of the machine, which is what it costs however
// busy that is.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func numbers(from, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(from+i))
	}
	return strings.Join(out, ",")
}

func stairs(depth int, step string) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + step + "\n")
	}
	return b.String()
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%06d: 1\n", i)
	}
	return b.String()
}

// What is too deep, too long or too much is told with its place, and cheaply.
func TestTooMuch(t *testing.T) {
	kind.Timed(t)
	const head = "name: x\nfactors: {rx: devmem, tx: tcp, mtu: "
	many := "[" + numbers(1500, 100) + "], token_batch: [" + numbers(1, 100) + "]}\n"
	bomb := "a: &a [x, x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%[1]c [*%c, *%[2]c]\n", c, c-1)
	}
	for what, c := range map[string]struct{ text, want string }{
		"brackets, 60 kB":  {strings.Repeat("[", 60_000), "x.yaml:1:"},
		"brackets, 200 kB": {strings.Repeat("[", 200_000), "x.yaml:1:1: the file exceeds 128 KiB"},
		"some brackets": {"name: " + strings.Repeat("[", 33),
			"x.yaml:1:38: lists and mappings nested more than 32 deep"},
		"empty lines": {"name: x\ndescription: |\n" + strings.Repeat("\n", 120_000),
			"x.yaml:6002:1: more than 6000 lines"},
		"empty lines, CRLF": {"name: x\ndescription: |\n" + strings.Repeat("\r\n", 60_000), "more than 6000 lines"},
		"empty lines, few":  {"name: x\ndescription: |\n" + strings.Repeat("\n", maxLines-4), "empty"},
		"empty lines, CR":   {"name: x\ndescription: |\n" + strings.Repeat("\r", 120_000), "more than 6000 lines"},
		"braces":            {strings.Repeat("{", 20_000), "x.yaml:1:33: lists and mappings nested more than 32 deep"},
		"braces with keys":  {strings.Repeat("{a: ", 10_000), "lists and mappings nested more than 32 deep"},
		"pairs, odd": {strings.Repeat("[}", 5_000) + strings.Repeat("]", 4_000),
			"lists and mappings nested more than 32 deep"},
		"dashes": {strings.Repeat("- ", 20_000),
			"x.yaml:1:65: lists and mappings nested more than 32 deep"},
		"questions":          {strings.Repeat("? ", 20_000), "more than"},
		"keys in a line":     {strings.Repeat("a: ", 9_000), "more than"},
		"stairs":             {stairs(300, "a:"), "x.yaml:33:"},
		"stairs of dashes":   {stairs(300, "-"), "x.yaml:33:"},
		"stairs of quotes":   {stairs(300, `"a":`), "x.yaml:33:"},
		"tags":               {strings.Repeat("!!map ", 4_000), "a tag, which experiment files must not use"},
		"anchors":            {strings.Repeat("&a ", 8_000), "an anchor"},
		"aliases":            {strings.Repeat("*a ", 8_000), "alias"},
		"alias bomb":         {bomb, "x.yaml:1:4: an anchor"},
		"merge":              {"name: x\n<<: {a: 1}\n", "x.yaml:2:1: an anchor or alias"},
		"unknown keys":       {keys(5_001), "x.yaml:5001:8: more than 5000 keys"},
		"fewer unknown keys": {keys(5_000), `x.yaml:1:1: unknown key "k000000"`},
		"50,000 keys":        {keys(50_000), "exceeds 128 KiB"},
		"values": {"name: [" + strings.Repeat("1,", 20_000) + "1]",
			"more than 30000 keys, values and signs"},
		"documents":          {strings.Repeat("---\n", 6_000), "empty"},
		"a long name":        {"name: " + strings.Repeat("x", 100_000), "is not a name"},
		"a long quoted text": {"name: \"" + strings.Repeat(`\"`, 60_000) + "\"", "is not a name"},
		"a long key":         {strings.Repeat("x", 100_000) + ": 1", "unknown key"},
		"runs": {head + many + "repetitions: 1000\n",
			"10000 cells, 1001 times each, make 10010000 runs, more than the 100000"},
		"runs, no warm-up": {head + "[" + numbers(1500, 101) + "]}\nrepetitions: 1000\nwarmup: false\n",
			"make 101000 runs"},
		"values of a factor": {head + "1500, message: [" + numbers(1, 10_001) + "]}\n", "message has 10001 values"},
		"combinations": {"name: x\ninclude:\n" + strings.Repeat("- {rx: [tcp, uring], tx: tcp, rx_buf_len: ["+
			powers()+"], token_batch: ["+numbers(1, 400)+"]}\n", 20),
			"more than 100000 combinations"},
		"excludes": {head + many + "exclude:\n" + strings.Repeat("- {rx: tcp}\n", 1001), "more than 1000 excludes"},
		"excludes that match nothing": {head + many + "repetitions: 1\nexclude:\n" +
			strings.Repeat("- {mtu: [1500, 1501], token_batch: 200}\n", 1000),
			"this exclude matches no cell"},
	} {
		_, err := frugally(t, what, []byte(c.text))
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) ||
			len(err.Error()) > 1200 {
			t.Errorf("%s: %.300v\nwant %s", what, err, c.want)
		}
	}
}

func powers() string {
	var out []string
	for n := 4096; n <= 1<<19; n *= 2 {
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, ",")
}

// As much as is allowed is made, and cheaply.
func TestJustNotTooMuch(t *testing.T) {
	kind.Timed(t)
	deep := "name: x\nfactors: {rx: tcp, tx: tcp}\ndescription: \"" + strings.Repeat("[{", 1000) + "\" # " +
		strings.Repeat("[", 1000) + "\n"
	s, err := frugally(t, "brackets in texts", []byte(deep))
	if err != nil || len(s.Cells) != 1 {
		t.Errorf("brackets in texts: %v", err)
	}
	full := "name: x\nfactors: {rx: devmem, tx: tcp, mtu: [" + numbers(1500, 100) + "], token_batch: [" +
		numbers(1, 100) + "]}\nrepetitions: 9\n"
	if s, err = frugally(t, "a full plan", []byte(full)); err != nil || len(s.Cells) != maxCells ||
		len(s.Runs()) != maxRuns {
		t.Errorf("a full plan: %v", err)
	}
}

// Only text is parsed. Columns are those that an editor shows.
func TestNoText(t *testing.T) {
	const ok = "name: x\nfactors: {rx: tcp, tx: tcp}\n"
	for what, c := range map[string]struct{ text, want string }{
		"UTF-16":           {"\xff\xfen\x00a\x00", "x.yaml:1:1: the file is UTF-16"},
		"Latin-1":          {ok + "description: caf\xe9\n", "x.yaml:3:17: byte 0xe9 is not UTF-8"},
		"cut short":        {ok + "description: é \xc3", "x.yaml:3:16: byte 0xc3"},
		"NUL":              {ok + "a\x00: 1\n", "x.yaml:3:2: a control character, U+0000"},
		"escape":           {ok + "# \x1b]0;x\a\n", "x.yaml:3:3: a control character, U+001B"},
		"C1":               {ok + "# \u009b31m\n", "U+009B"},
		"quoted escape":    {"name: \"x\\e[31m\"\nfactors: {rx: tcp, tx: tcp}\n", "x.yaml:1:7: "},
		"quoted NUL":       {ok + "description: \"a\\0\"\n", "x.yaml:3:14: "},
		"quoted key":       {ok + "\"a\\x07\": 1\n", "x.yaml:3:1: "},
		"mark, then wrong": {"\ufeffname: x\nnome: y\n", `x.yaml:2:1: unknown key "nome"`},
		"mark, wrong soon": {"\ufeffnome: x\n", `x.yaml:1:1: unknown key "nome"`},
		"mark, wrong late": {"\ufeffname: a b\n", "x.yaml:1:7: "},
	} {
		_, err := Parse("x.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x00\x1b\a") {
			t.Errorf("%s: %q, want %q", what, err, c.want)
		}
	}
	marked, err := Parse("x.yaml", []byte("\ufeff"+ok))
	if err != nil {
		t.Fatal(err)
	}
	if marked.Hash() != mustParse(t, ok).Hash() {
		t.Error("a byte order mark changes the plan")
	}
	if s := mustParse(t, strings.ReplaceAll(ok, "\n", "\r\n")+
		"description: |\r\n  two\r\n  lines, é\r\n"); s.Hash() == "" {
		t.Error("lines of another system")
	}
}

// The results of an experiment are in out/ and nowhere else.
func TestNames(t *testing.T) {
	const rest = "\nfactors: {rx: tcp, tx: tcp}\n"
	for _, name := range []string{"..", ".", "../x", "a/b", `'a\b'`, ".hidden", "-x", `"~"`, "~root", `""`, `"a b"`,
		`"a\tb"`, "'a\u00a0b'", strings.Repeat("x", 101)} {
		_, err := Parse("x.yaml", []byte("name: "+name+rest))
		if err == nil || !strings.Contains(err.Error(), "x.yaml:1:7: ") ||
			!strings.Contains(err.Error(), "is not a name") {
			t.Errorf("name %s: %v", name, err)
		}
	}
	for _, name := range []string{"a", "a..b", "x.", "battle-of-the-zcs", "é_1"} {
		mustParse(t, "name: "+name+rest)
	}
	for _, dev := range []string{"..", ".", "a/b", "sixteen-letters-", "a:b", `""`} {
		if _, err := Parse("x.yaml", []byte("name: x"+rest+"sut: {dev: "+dev+"}\n")); err == nil ||
			!strings.Contains(err.Error(), "x.yaml:3:12: ") {
			t.Errorf("dev %s: %v", dev, err)
		}
	}
	for _, word := range []string{"/x", "a.b", `"a b"`, "x;y", "CUBIC", `"\u0301"`} {
		if _, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: tcp, tx: tcp, congestion: "+word+
			"}\n")); err == nil {
			t.Errorf("congestion %s is a name", word)
		}
	}
}

// A file sets what is on the list and nothing else; what it may not is told with its
// place, before a host is asked.
func TestSettingsOnTheList(t *testing.T) {
	const head = "name: x\nfactors: {rx: tcp, tx: tcp}\nsut:\n  settings:\n"
	for text, want := range map[string]string{
		"    sysctl:\n      kernel.core_pattern: \"|/x %p\"\n": `x.yaml:6:7: zcbench does not ` +
			`set sysctl "kernel.core_pattern": it is not on the list; `,
		"    sysctl: {kernel.modprobe: /tmp/x}\n": `x.yaml:5:14: zcbench does not ` +
			`set sysctl "kernel.modprobe"`,
		"    sysctl: {vm.drop_caches: 3}\n":          "x.yaml:5:14: ",
		"    sysctl: {fs.suid_dumpable: 1}\n":        "zcbench sets net.* ",
		"    sysctl: {net.core.bpf_jit_harden: 0}\n": "protects the kernel from its users",
		"    sysctl: {net/../kernel/core_pattern: x}\n": "is not a name such as " +
			"net.core.rmem_max",
		"    sysctl: {net.//.kernel.core_pattern: x}\n":                        "is not a name",
		"    sysctl: {net.core.rmem_max: \"|/x %p\"}\n":                        "x.yaml:5:33: ",
		"    sysctl: {net.core.rmem_max: \"1\\n2\"}\n":                         "x.yaml:5:33: ",
		"    sysctl: {net.core.rmem_max: " + strings.Repeat("1", 1025) + "}\n": "1025 bytes",
		"    sysctl: {net.core.rmem_max: [1]}\n":                               "a list",
		"    governor: ../performance\n":                                       "x.yaml:5:15: ",
		"    governor: a_name_that_is_too_long\n":                              "not a name of a governor",
		"    irqbalance: stopped\n":                                            `unknown key "irqbalance" in settings`,
		"    set: {\"mtu\": 1}\n":                                              "a mapping",
	} {
		_, err := Parse("x.yaml", []byte(head+text))
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v\nwant %s", text, err, want)
		}
	}
	s := mustParse(t, head+"    governor: performance\n    sysctl: {net.core.rmem_max: 1, vm.max_map_count: "+
		"524240, net.ipv4.tcp_rmem: 1 2 3}\n")
	if len(s.SUT.Settings.Sysctl) != 3 {
		t.Errorf("%+v", s.SUT.Settings)
	}
}

// A file that has no end is not read to it.
func TestReadFile(t *testing.T) {
	if _, err := ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "exceeds 128 KiB") {
		t.Errorf("/dev/zero: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.yaml")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	text := "name: x\nfactors: {rx: tcp, tx: tcp}\n"
	text += "#" + strings.Repeat("x", maxFile-len(text)-1)
	for more, ok := range map[string]bool{"": true, "x": false} {
		if err := os.WriteFile(path, []byte(text+more), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); (err == nil) != ok {
			t.Errorf("a file of %d bytes: %v", len(text+more), err)
		}
	}
}
