package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// inspectGoMod returns how the direct requirements of a go.mod differ from the allowed dependencies.
func inspectGoMod(text string) (violations []string) {
	direct := directRequirements(text)
	for _, name := range direct {
		if _, ok := dependencies[name]; !ok {
			violations = append(violations, fmt.Sprintf("go.mod: %s is not one of the dependencies", name))
		}
	}
	for name := range dependencies {
		if !slices.Contains(direct, name) {
			violations = append(violations, fmt.Sprintf("go.mod: %s is not required directly (go mod tidy?)", name))
		}
	}
	slices.Sort(violations)
	return violations
}

// directRequirements returns the modules that a go.mod requires without the mark "// indirect". "go mod tidy"
// maintains that mark.
func directRequirements(text string) (modules []string) {
	inBlock := false
	for line := range strings.Lines(text) {
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		switch {
		case len(words) == 0:
			continue
		case inBlock && words[0] == ")":
			inBlock = false
			continue
		case words[0] == "require" && len(words) == 2 && words[1] == "(":
			inBlock = true
			continue
		case words[0] == "require" && len(words) == 3:
			words = words[1:]
		case !inBlock:
			continue
		}
		if strings.TrimSpace(comment) != "indirect" {
			modules = append(modules, strings.Trim(words[0], `"`))
		}
	}
	return modules
}
