package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// explainedFolders are the packages in which each struct type says what it is for, also an unexported one. A reader
// finds there who owns it and what its zero value means.
var explainedFolders = []string{".", "actor", "actor/quorum", "engine", "engine/coordinator", "engine/histogram", "engine/mpsc", "engine/wire", "wheel"}

// Each struct type of these packages has a doc comment.
func TestStructs_SourceDocumented(t *testing.T) {
	all := parseAll(t, os.DirFS("../.."))
	for _, folder := range explainedFolders {
		require.True(t, slices.ContainsFunc(all.files, func(f *parsed) bool { return f.folder == folder }), folder)
	}
	for _, v := range all.undocumentedStructs() {
		t.Error(v)
	}
}

// Struct types without a comment are found in these packages, alone or in a group, and others are not.
func TestStructs_Undocumented_Found(t *testing.T) {
	for _, c := range []struct {
		name, path, source string
		want               []string
	}{
		{"without a comment", "actor/a.go", "type t struct{}", []string{"actor/a.go:2: the struct t has no comment"}},
		{"with one", "actor/a.go", "// t is.\ntype t struct{}", nil},
		{"in a group with a comment", "engine/a.go", "// Some of them.\ntype (\n\t// t is.\n\tt struct{}\n\tu struct{}\n)", []string{"engine/a.go:6: the struct u has no comment"}},
		{"a comment behind it", "engine/a.go", "type (\n\tt struct{} // the key of something\n)", nil},
		{"generic", "wheel/a.go", "type t[T any] struct{}", []string{"wheel/a.go:2: the struct t has no comment"}},
		{"no struct", "actor/a.go", "type t int", nil},
		{"in a function", "actor/a.go", "func f() { type t struct{} }", nil},
		{"in a test", "actor/a_test.go", "type t struct{}", nil},
		{"in another package", "internal/a/a.go", "type t struct{}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := &source{set: token.NewFileSet(), names: map[string]map[string]bool{}, imports: map[string]map[string]string{}}
			all.parse(t, c.path, []byte("package a\n"+c.source+"\n"))
			require.Equal(t, c.want, all.undocumentedStructs())
		})
	}
}

// undocumentedStructs reports the struct types of explainedFolders without a comment.
func (s *source) undocumentedStructs() (violations []string) {
	for _, f := range s.files {
		if !slices.Contains(explainedFolders, f.folder) || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, d := range f.syntax.Decls {
			types, is := d.(*ast.GenDecl)
			if !is || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				of := spec.(*ast.TypeSpec)
				_, isStruct := of.Type.(*ast.StructType)
				alone := !types.Lparen.IsValid() && types.Doc != nil
				if isStruct && !alone && of.Doc == nil && of.Comment == nil {
					violations = append(violations, fmt.Sprintf("%s:%d: the struct %s has no comment", f.path, s.set.Position(of.Pos()).Line, of.Name.Name))
				}
			}
		}
	}
	return violations
}
