//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package busywait

const canLook = false

func readable(uintptr, []byte) bool { return true }
