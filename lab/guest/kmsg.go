// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/lazy"
)

// complaint matches the kernel messages that mean something is broken: a
// failed assertion, a crash, a reference or a page that leaked, a hang.
var complaint = lazy.Regexp(`WARNING:|BUG:|kernel BUG|Oops|UBSAN|KASAN|general protection fault|` +
	`refcount_t:|stalled pool release|page_pool.*leak|memory leak|waiting for \S+ to become free|` +
	`blocked for more than|detected (?:expedited )?stall|self-detected stall|soft lockup|Unable to handle kernel|` +
	`scheduling while atomic|Kernel panic|softnic: leak`)

// kmsg follows the kernel's messages.
type kmsg struct {
	mu   sync.Mutex
	bad  []string
	mark string        // a message that is waited for
	seen chan struct{} // closed when it has come
}

// followKmsg copies /dev/kmsg to w line by line (Documentation/ABI/testing/dev-kmsg)
// and keeps the complaints.
func followKmsg(w io.Writer) *kmsg {
	k := &kmsg{}
	f, err := os.Open("/dev/kmsg")
	if err != nil {
		k.bad = append(k.bad, err.Error())
		return k
	}
	go func() {
		buf := make([]byte, 8192) // one read is one record
		for {
			n, err := unix.Read(int(f.Fd()), buf)
			if err == unix.EINTR {
				continue
			}
			if err == unix.EPIPE {
				k.take("WARNING: kernel messages were overwritten before they were read")
				continue
			}
			if err != nil {
				return
			}
			line := formatKmsg(string(buf[:n]))
			k.take(line)
			io.WriteString(w, line+"\n")
		}
	}()
	return k
}

func (k *kmsg) take(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mark != "" && strings.Contains(line, k.mark) {
		k.mark = ""
		close(k.seen)
	}
	if complaint().MatchString(line) {
		k.bad = append(k.bad, line)
	}
}

// kmsgPatience is how long reading what the kernel has said may take.
const kmsgPatience = 10 * time.Second

// complaints returns what the kernel has complained about up to now, and since the
// last call.
func (k *kmsg) complaints(mark string) []string {
	bad := k.pending(mark)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bad = nil
	return bad
}

// pending returns the complaints so far, without removing them: the next call has them too. It
// writes a message of its own, to see when all before it have been read.
func (k *kmsg) pending(mark string) []string {
	seen := make(chan struct{})
	k.mu.Lock()
	k.mark, k.seen = mark, seen
	k.mu.Unlock()
	err := say(mark)
	if err == nil {
		select {
		case <-seen:
		case <-time.After(kmsgPatience):
			err = fmt.Errorf("the kernel's messages could not all be read in %v", kmsgPatience)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.bad = append(k.bad, err.Error())
	}
	return slices.Clone(k.bad)
}

// say puts a line among the kernel's messages, as debugging information. The kernel
// lets every open file say a few.
func say(line string) error {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("<7>" + line + "\n")
	return err
}

// formatKmsg turns the record "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT\n KEY=VALUE"
// into a line as dmesg prints it.
func formatKmsg(rec string) string {
	head, text, ok := strings.Cut(rec, ";")
	if !ok {
		return rec
	}
	text, _, _ = strings.Cut(text, "\n")
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return text
	}
	us, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return text
	}
	return fmt.Sprintf("[%5d.%06d] %s", us/1e6, us%1e6, text)
}
