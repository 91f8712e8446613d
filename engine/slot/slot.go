// Package slot computes the hash slot of a key as Redis Cluster does.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package slot

import (
	"strings"
)

// Count is the number of slots of a cluster.
const Count = 16384

// Of returns the slot of a key or channel: CRC-16 of the text in its first pair of braces. Without such a pair, or
// with nothing in it, the whole key counts (Redis Cluster specification).
func Of(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^key[i]]
	}
	return crc % Count
}

// crcTable is the byte table of CRC-16/XMODEM.
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

// FitsCluster reports whether a lock with that key works in a cluster: its channel, as Redisson names it, must lie in
// the key's slot. It does not for keys with only an opening or only a closing brace, or with nothing in the first pair.
func FitsCluster(key string) bool {
	_, rest, opened := strings.Cut(key, "{")
	if !opened {
		return !strings.Contains(key, "}")
	}
	tag, _, closed := strings.Cut(rest, "}")
	return closed && tag != ""
}

// OneSlot reports whether two keys lie in one slot of a cluster, so that one script can use both.
func OneSlot(key, other string) bool { return Of(key) == Of(other) }
