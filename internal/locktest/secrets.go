package locktest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
)

// Parts of a user and of a password that occur in no other text.
const (
	MarkedUser     = "uSeRn4mE"
	MarkedPassword = "s3cr3tPW"
	MarkedDigits   = "54321" // also a port; fewer digits stand by chance in what is printed of an id, a port or an address in memory
)

// Leaked returns a part of the user or of the password that a text contains, or "".
func Leaked(text string) string {
	for _, part := range []string{MarkedUser, MarkedPassword, "s3cr3t", "uSeR", MarkedDigits} {
		if strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// Repeat replies to each command, an array of strings, until the other side closes.
func Repeat(conn net.Conn, reply string) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var words, length int
		if _, err := fmt.Sscanf(lines.Text(), "*%d", &words); err != nil {
			return
		}
		command := ""
		for i := range words {
			if lines.Scan(); i == 0 {
				_, _ = fmt.Sscanf(lines.Text(), "$%d", &length)
			}
			if lines.Scan(); i == 0 {
				command = lines.Text()
			}
		}
		if _, err := fmt.Fprintf(conn, "-"+reply+"\r\n", command); err != nil {
			return
		}
	}
}
