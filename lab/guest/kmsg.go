package guest

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// complaint matches the kernel messages that mean something is broken: a
// failed assertion, a crash, a reference or a page that leaked, a hang.
var complaint = regexp.MustCompile(`WARNING:|BUG:|kernel BUG|Oops|UBSAN|KASAN|general protection fault|` +
	`refcount_t:|stalled pool release|page_pool.*leak|memory leak|waiting for \S+ to become free|` +
	`blocked for more than|detected stalls|soft lockup|Unable to handle kernel|` +
	`scheduling while atomic|Kernel panic|softnic: leak`)

// kmsg follows the kernel's messages.
type kmsg struct {
	mu   sync.Mutex
	bad  []string
	last time.Time // when the last message was taken
}

// followKmsg copies /dev/kmsg to w line by line (Documentation/ABI/testing/dev-kmsg)
// and keeps the complaints.
func followKmsg(w io.Writer) *kmsg {
	k := &kmsg{last: time.Now()}
	f, err := os.Open("/dev/kmsg")
	if err != nil {
		k.bad = append(k.bad, err.Error())
		return k
	}
	go func() {
		buf := make([]byte, 8192) // one read is one record
		for {
			n, err := unix.Read(int(f.Fd()), buf)
			if err == unix.EPIPE || err == unix.EINTR { // overwritten before it was read: go on with the next
				continue
			}
			if err != nil {
				return
			}
			line := formatKmsg(string(buf[:n]))
			io.WriteString(w, line+"\n")
			k.take(line)
		}
	}()
	return k
}

func (k *kmsg) take(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = time.Now()
	if complaint.MatchString(line) {
		k.bad = append(k.bad, line)
	}
}

// complaints waits until the messages have been quiet for a moment.
func (k *kmsg) complaints() []string {
	for {
		time.Sleep(20 * time.Millisecond)
		k.mu.Lock()
		bad, quiet := k.bad, time.Since(k.last) > 50*time.Millisecond
		k.mu.Unlock()
		if quiet {
			return bad
		}
	}
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
