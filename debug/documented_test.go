package debug

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedIn returns the fields in the tables of a page, by the headings of the tables. A * marks fields that may be
// left out.
func documentedIn(page string) map[string][]string {
	fields := make(map[string][]string)
	for _, section := range strings.Split(page, "\n### ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		for _, line := range strings.Split(body, "\n") {
			if strings.HasPrefix(line, "#") {
				break
			}
			cells := strings.Split(line, " | ")
			for _, field := range regexp.MustCompile("`(\\w+)`(\\*?)").FindAllStringSubmatch(cells[0], -1) {
				fields[heading] = append(fields[heading], field[1]+field[2])
			}
		}
	}
	return fields
}

// fieldsOf returns the fields of a type as JSON has them, with a * if they may be left out. Fields of an embedded
// struct count as its own, unless it has one of that name.
func fieldsOf(of reflect.Type) (fields []string) {
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if strings.HasPrefix(options, "omit") {
			name += "*"
		}
		fields = append(fields, name)
	}
	return fields
}

// tables are the types that the JSON consists of, by the headings of their tables.
var tables = map[string]any{
	"process":                               process{},
	"locks.json: whole":                     listJSON{},
	"locks.json: an element of locks":       lockJSON{},
	"locks.json: heldHere":                  hereJSON{},
	"locks.json: an element of mostWaiters": nameCount{},
	"locks.json: an element of errors":      listError{},
	"stats.json: whole":                     statsJSON{},
	"stats.json: an element of engines":     engineJSON{},
	"stats.json: an element of nodes":       nodeJSON{},
	"stats.json: stats":                     statsOut{},
	"stats.json: a histogram":               histogramJSON{},
	"stats.json: an element of buckets":     bucketJSON{},
	"events.json: whole":                    eventsJSON{},
	"events.json: an element of events":     eventJSON{},
}

// Every field of the JSON is in the document, and the document has no other: programs read them.
func TestJSON_EachField_Documented(t *testing.T) {
	page, err := os.ReadFile("../docs/operate/page-json.md")
	require.NoError(t, err)
	documented := documentedIn(string(page))
	for heading, value := range tables {
		assert.ElementsMatch(t, fieldsOf(reflect.TypeOf(value)), documented[heading], heading)
		delete(documented, heading)
	}
	assert.Empty(t, documented)
}

// Each struct that the JSON consists of is one with a table, so that no new one goes without.
func TestJSON_EachStruct_Compared(t *testing.T) {
	compared := map[reflect.Type]bool{}
	for _, value := range tables {
		compared[reflect.TypeOf(value)] = true
	}
	for of := range compared {
		for _, f := range reflect.VisibleFields(of) {
			inner := f.Type
			for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
				assert.True(t, compared[inner], "%v of %v", f.Name, of)
			}
		}
	}
}

// A field that a table lacks, or has too many, is found.
func TestDocumentedIn_Tables_AreRead(t *testing.T) {
	assert.Equal(t, map[string][]string{"one": {"a", "b*", "c"}, "two": {"d"}},
		documentedIn("# Page\n\n### one\n\n| field | unit |\n| --- | --- |\n| `a`, `b`* | `x` |\n| `c` | y |\n\n## More\n| `no` | no |\n### two\n| `d` | z |\n"))
	assert.Equal(t, []string{"id", "name", "closed", "nodes", "stats"}, fieldsOf(reflect.TypeOf(engineJSON{})))
	assert.Contains(t, fieldsOf(reflect.TypeOf(statsOut{})), "Held", "of the embedded struct")
}
