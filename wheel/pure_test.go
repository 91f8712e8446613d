package wheel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The wheel has no clock, no goroutine and nothing that blocks. So it can be used where blocking is forbidden (Netty
// 16, testHashedWheelTimerStartStop of the BlockHound module). Time is an argument.
func TestWheel_PureGo(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			checkPure(t, name)
		}
	}
}

func checkPure(t *testing.T, name string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	require.NoError(t, err)
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		assert.Contains(t, []string{"errors", "fmt", "math", "math/bits", "time"}, path, name)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			assert.Fail(t, "not pure", "%s: %T", name, n)
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" {
				assert.True(t, slices.Contains([]string{"Duration"}, n.Sel.Name), "%s: time.%s", name, n.Sel.Name)
			}
		}
		return true
	})
}
