package engine

import "strings"

// slotCount is how many slots a cluster has.
const slotCount = 16384

// slotOf is the slot of a key or of a channel: CRC-16 of what stands in its first pair of braces, or of
// all of it when there is none or nothing in it (Redis Cluster specification).
func slotOf(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return crc % slotCount
}

// crcTable is CRC-16/XMODEM's, by byte.
var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= polynomial
			}
		}
		table[i] = crc
	}
	return table
}()

// FitsCluster reports whether a lock of that key can work in a cluster: whether its channel, as Redisson
// names it, lies in the key's slot whatever the name. Names with only an opening or only a closing brace
// or with nothing in the first pair do not.
func FitsCluster(key string) bool {
	_, rest, opened := strings.Cut(key, "{")
	if !opened {
		return !strings.Contains(key, "}")
	}
	tag, _, closed := strings.Cut(rest, "}")
	return closed && tag != ""
}
