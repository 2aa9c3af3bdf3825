package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/stream"
)

// agentDirEnv names the folder on ssh hosts that keeps our program, instead of
// ~/.cache/zcbench/agent.
const agentDirEnv = "ZCBENCH_AGENT_DIR"

// defaultAgentDir is expanded by the far shell.
const defaultAgentDir = "${XDG_CACHE_HOME:-$HOME/.cache}/zcbench/agent"

// uploadTime is how long the far host may take to answer, and to take the
// program.
const (
	answerTime = 30 * time.Second
	uploadTime = 5 * time.Minute
)

// oldestKernel is what Go programs need (the release notes of Go 1.24). What
// each mode needs beyond it, the mode's own probe says.
var oldestKernel = [2]int{3, 2}

// machines are the names that uname -m has for the architectures of Go.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l", "riscv64": "riscv64",
	"ppc64le": "ppc64le", "s390x": "s390x", "loong64": "loongarch64"}

// program is what the far host is to run.
type program struct {
	path, sum string // sum: SHA-256, hexadecimal
	dir       string // on the far host, in its shell's words
	home      string // the folder in dir: the sum of the agent's program
	name      string // the file there
	machine   string
}

func readProgram(path string) (program, error) {
	p := program{path: path, name: "zcbench", dir: defaultAgentDir, machine: machines[runtime.GOARCH]}
	if d := os.Getenv(agentDirEnv); d != "" {
		if !regexp.MustCompile(`^/[A-Za-z0-9._/+-]*$`).MatchString(d) {
			return p, specErrorf("%s=%q: must be an absolute path of letters, digits and ./_+-", agentDirEnv, d)
		}
		p.dir = d
	}
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return p, err
	}
	p.sum = hex.EncodeToString(h.Sum(nil))
	p.home = p.sum
	return p, nil
}

// agentScript tells, in a line that begins with mark, what the far host is, and
// becomes the agent if all is well. Login shells may have printed before it.
func (p program) agentScript(mark string, sudo bool) string {
	become := ""
	if sudo {
		become = `[ "$u" = 0 ] || exec sudo -n -- "$b" agent; `
	}
	return `d="` + p.dir + "/" + p.sum + `"; b="$d/zcbench"; s=missing; u=$(id -u); k=$(uname -s); m=$(uname -m); ` +
		`if [ -f "$b" ]; then h=$(sha256sum <"$b"); if [ "${h%% *}" = ` + p.sum + ` ]; then s=ready; touch -c "$d" 2>/dev/null; else s=damaged; fi; fi; ` +
		`echo; echo "` + mark + ` $s $u $k $m $(uname -r)"; ` +
		`[ "$s $k/$m" = "ready Linux/` + p.machine + `" ] || exit 0; ` + become + `exec "$b" agent`
}

// uploadScript takes the program from its standard input, unless it is there. It
// becomes visible whole and verified, or not at all; what was not used for a
// month goes.
func (p program) uploadScript() string {
	return `umask 077; d="` + p.dir + "/" + p.home + `"; b="$d/` + p.name + `"; t="$d/.part.$$"; ` +
		`if [ -f "$b" ]; then h=$(sha256sum <"$b"); if [ "${h%% *}" = ` + p.sum + ` ]; then echo; echo ` + thereWord + `; exit 0; fi; fi; c() { rm -f "$t"; }; mkdir -p "$d" || exit 1; ` +
		`[ -O "$d" ] || { echo "$d belongs to somebody else" >&2; exit 1; }; ` +
		`trap c EXIT; trap "exit 1" HUP INT TERM PIPE; cat >"$t" || exit 1; h=$(sha256sum <"$t") || exit 1; ` +
		`[ "${h%% *}" = ` + p.sum + ` ] || { echo "the program did not arrive as it was sent: ${h%% *}" >&2; exit 1; }; ` +
		`chmod 700 "$t" && mv -f "$t" "$b" || exit 1; ` +
		`find "$d/.." -mindepth 1 -maxdepth 1 -type d -name "[0-9a-f]*" -mtime +30 -exec rm -rf {} +; exit 0`
}

// thereWord says that the program need not be copied.
const thereWord = "zcbench-is-there"

// startSSH makes the agent run on a host behind ssh, copying this program there
// if it has not got it.
func startSSH(ctx context.Context, s Spec, bin string) (*process, error) {
	prog, err := readProgram(bin)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		p, far, err := prog.knock(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case p != nil:
			return p, nil
		}
		if err := far.check(prog); err != nil {
			return nil, err
		}
		if again {
			return nil, fmt.Errorf("the program was copied there, but is then %s", far.state)
		}
		if err := prog.upload(ctx, s); err != nil {
			return nil, err
		}
	}
}

// knock connects. It returns the agent, or what the far host is like where that
// cannot run yet.
func (prog program) knock(ctx context.Context, s Spec) (*process, farHost, error) {
	mark := markWord + " " + strings.ToLower(rand.Text())
	cmd, err := sshCommand(s.Dest, prog.agentScript(mark, s.Sudo))
	if err != nil {
		return nil, farHost{}, err
	}
	p, err := startProcess(cmd, startHere)
	if err != nil {
		return nil, farHost{}, err
	}
	var far farHost
	err = p.within(ctx, answerTime, func() (err error) { far, err = readMark(p.stdout, mark); return err })
	if err == nil && far.check(prog) == nil && far.state == "ready" {
		return p, far, nil
	}
	var silent *noMarkError
	if err != nil && !errors.As(err, &silent) {
		p.kill()
	}
	werr := p.end()
	switch {
	case err == nil:
		return nil, far, nil
	case errors.As(err, &silent):
		return nil, far, explain(p.stderr.String(), silent.said, werr)
	}
	return nil, far, err
}

// within runs f, which reads from the process, and kills the process if that
// takes too long.
func (p *process) within(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	stop := context.AfterFunc(ctx, p.kill)
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// upload copies the program.
func (prog program) upload(ctx context.Context, s Spec) error {
	cmd, err := sshCommand(s.Dest, prog.uploadScript())
	if err != nil {
		return err
	}
	f, err := os.Open(prog.path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := startProcess(cmd, startHere)
	if err != nil {
		return err
	}
	var out []byte
	err = p.within(ctx, uploadTime, func() error {
		_, cerr := io.Copy(p.stdin, f)
		p.stdin.Close()
		out, _ = io.ReadAll(io.LimitReader(p.stdout, 4096))
		return cerr
	})
	werr := p.end()
	if werr == nil && (err == nil || strings.Contains(string(out), thereWord)) { // then it did not read on
		return nil
	}
	if werr == nil || ctx.Err() != nil {
		return fmt.Errorf("copy the program there: %w", err)
	}
	e := explain(p.stderr.String(), string(out), werr)
	if e.How == "" {
		e.How = "the folder is ~/.cache/zcbench/agent there, 20 MB are needed: make room, or choose another with " + agentDirEnv + "=/PATH"
	}
	e.Op = "copy the program there: " + e.Op
	return e
}

// farHost is what the far host said of itself.
type farHost struct {
	state                   string // of the program there: ready, missing, damaged
	uid                     int
	system, machine, kernel string
}

// check refuses a host on which this program cannot run.
func (f farHost) check(p program) error {
	if f.system != "Linux" || f.machine != p.machine {
		return &stream.Error{Op: fmt.Sprintf("it is %s/%s, and this zcbench is built for Linux/%s", f.system, f.machine, p.machine),
			How: "both hosts need the architecture of this program: start zcbench from a machine like them"}
	}
	var v [2]int
	for i, part := range strings.SplitN(f.kernel, ".", 3) {
		if i < 2 {
			v[i], _ = strconv.Atoi(strings.TrimFunc(part, func(r rune) bool { return r < '0' || r > '9' }))
		}
	}
	if v[0] < oldestKernel[0] || v[0] == oldestKernel[0] && v[1] < oldestKernel[1] {
		return &stream.Error{Op: fmt.Sprintf("its kernel is %s, older than %d.%d", f.kernel, oldestKernel[0], oldestKernel[1]), How: "use a newer kernel there"}
	}
	return nil
}
