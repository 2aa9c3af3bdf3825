// SPDX-License-Identifier: MIT

package remedy

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write docs/errors.md and docs/fixes.md anew")

// docs/errors.md and docs/fixes.md are made of the table:
//
//	go test ./internal/remedy -run TestPages -update
func TestPages(t *testing.T) {
	for path, want := range map[string]string{"../../docs/errors.md": errorsPage(),
		"../../docs/fixes.md": fixesPage()} {
		got, err := os.ReadFile(path)
		if err == nil && string(got) == want {
			continue
		}
		if !*update {
			t.Errorf("%s is not what the table says: go test ./internal/remedy -run TestPages -update (%v)", path, err)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// told once: rows that say the same of several ways to lack a capability are one.
func once(rows []Row) (out []Row) {
	for _, r := range rows {
		if r.need != nil && len(out) > 0 && out[len(out)-1].need == r.need {
			continue
		}
		if r.need != nil {
			n := r.need
			r.If, r.Kernel, r.Look = nil, n.kernel, ""
			r.Cause = fmt.Sprintf("%s over %s ([who has it](#privileges))", privilege.NotRoot.Cause(n.caps...),
				overWord[n.over])
			r.Do = privilege.NotRoot.Do(n.caps...)
			if n.or != "" {
				r.Do += ", or " + n.or
			}
		}
		out = append(out, r)
	}
	return out
}

var overWord = map[privilege.Over]string{privilege.Machine: "the machine", privilege.Net: "the network namespace",
	privilege.Own: "the own user namespace", privilege.File: "the machine's files"}

func errnoWord(e unix.Errno) string {
	if e == 0 {
		return "any other"
	}
	return fault.ErrnoName(e)
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// cells are cause, fix, and where both come from.
func (r Row) cells() string {
	cause, from := r.Cause, "`"+r.Kernel+"`"
	if r.Look != "" {
		cause += " (" + strings.TrimSuffix(r.Look, ",") + ")"
	}
	if r.If != nil {
		from = r.If.From + "; " + from
	}
	return cell(cause) + " | " + cell(cmp.Or(r.Do, NoFix)) + " | " + cell(from)
}

const errorsHead = `# Errors, by call

What zcbench asks of the kernel, the error numbers that the kernel may answer, what the cause may be
and what to do about it. When a call has failed, zcbench looks at the state of the host: of several
rows of one error number, you see the first whose state holds. This page is generated from the table
in internal/remedy; [fixes.md](fixes.md) says what each fix does to the host.

DEV, PATH, ADDRESS, PORT and VALUE stand for what the call was about. If a call does not list an
error number, look at the groups that the call belongs to: *netlink: ethtool: rings-get* is one of
*netlink: ethtool*, of *netlink*, and of *every call*. For an error number that is listed nowhere,
zcbench says "%s".
`

// group is the heading that a call stands under.
func group(c Call, all []Call) Call {
	// "netlink" has rows of its own, and so has "netlink: ethtool".
	if c.within() == Any || slices.ContainsFunc(all, func(x Call) bool { return x.within() == c }) {
		return c
	}
	return c.within()
}

func errorsPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, errorsHead, NoFix)
	var groups []Call
	all, calls := once(table()), Calls()
	for _, c := range calls {
		if g := group(c, calls); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		title := string(g)
		if g == Any {
			title = "Every call"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| call | errno | cause | what to do | looked at; the kernel's place "+
			"|\n|---|---|---|---|---|\n", title)
		last := Call("-")
		for _, r := range all {
			if group(r.Call, calls) != g {
				continue
			}
			name := ""
			if r.Call != last {
				name, last = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(string(r.Call), string(g)), ": "),
					"all of them"), r.Call
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, errnoWord(r.Errno), r.cells())
		}
	}
	b.WriteString("\n## Privileges\n\nA capability counts only in the user namespace that gave it. What zcbench " +
		"says of one that is\n" +
		"missing depends on whom it finds itself to be (`/proc/thread-self/status`, " +
		"`/proc/thread-self/ns`):\n\n| found | what to do |\n|---|---|\n")
	for _, r := range privilege.Reasons {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(r.Cause(unix.CAP_NET_ADMIN)), cell(r.Do(unix.CAP_NET_ADMIN)))
	}
	b.WriteString("| the capability is there, and a seccomp filter is in force | allow the call in its seccomp " +
		"profile, or run on the host |\n" +
		"| the capability is there, and no filter | allow it in the security module, or run on another host |\n")
	return b.String()
}

const fixesHead = `# Fixes, and what they do to the host

Everything that zcbench advises when the kernel has refused something, sorted by what following the
advice does to the host. We read each fix with one question: does it harm, and can it be undone?
zcbench itself follows none of them. With ` + "`ethtool -G`, `-L`" + ` or a new MTU many drivers take the link
down for a moment: do that from a console, or through another interface than the one that you are
logged in through. This page is generated from the table in internal/remedy;
[errors.md](errors.md) has the causes.
`

func fixesPage() string {
	var b strings.Builder
	b.WriteString(fixesHead)
	for _, s := range []struct {
		effect effect
		title  string
	}{{harmless, "Change nothing on the host"}, {undoable, "Change the host until undone, or until it boots"},
		{lasting, "Change the host for good"}} {
		type fix struct{ do, undo string }
		var fixes []fix
		of := map[fix][]string{}
		for _, r := range once(table()) {
			f := fix{r.Do, r.Undo}
			if r.Effect != s.effect || r.Do == "" {
				continue
			}
			if of[f] == nil {
				fixes = append(fixes, f)
			}
			where := strings.TrimPrefix(string(r.Call)+" "+errnoWord(r.Errno), " ")
			if !slices.Contains(of[f], where) {
				of[f] = append(of[f], where)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if len(fixes) == 0 {
			b.WriteString("None.\n")
			continue
		}
		if s.effect == harmless {
			b.WriteString("| fix | of |\n|---|---|\n")
		} else {
			b.WriteString("| fix | undone by | of |\n|---|---|---|\n")
		}
		for _, f := range fixes {
			b.WriteString("| " + cell(f.do))
			if s.effect != harmless {
				b.WriteString(" | " + cell(f.undo))
			}
			b.WriteString(" | " + cell(strings.Join(of[f], "; ")) + " |\n")
		}
	}
	return b.String()
}
