package coordinator

// maxKeptNames is the largest number of names for which an empty map is kept.
const maxKeptNames = 1024

// peak is the largest size of a map since it was made. A map keeps the memory of all that it ever had, so its owner
// makes another once it is empty. The zero value is that of a new map. Owned by the coordinator.
type peak int

// note records the size of the map, after something was added.
func (p *peak) note(size int) { *p = max(*p, peak(size)) }

// outgrown reports whether to replace the map: it is empty, and has had more than maxKeptNames entries. Then it is that
// of the new map.
func (p *peak) outgrown(size int) bool {
	if size > 0 || *p <= maxKeptNames {
		return false
	}
	*p = 0
	return true
}
