package redisson

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// maxBuiltAge is how long a program built from earlier sources is kept.
const maxBuiltAge = time.Hour

// Program is the built Java program.
type Program struct {
	java   string // the command
	folder string // contains interop.jar and lib/
}

// Build builds the program unless it was built before from the same sources. It returns exec.ErrNotFound if Java
// (17 or newer, with its compiler) or Maven is not installed. Maven needs its repositories the first time. Several
// processes may build at once: the first one to finish wins.
func Build(ctx context.Context) (*Program, error) {
	java, err := findTool("java")
	if err != nil {
		return nil, err
	}
	source, err := sources()
	if err != nil {
		return nil, err
	}
	sum, err := hash(source)
	if err != nil {
		return nil, err
	}
	target := filepath.Join(source, "target")
	p := &Program{java: java, folder: filepath.Join(target, sum)}
	if p.built() {
		return p, nil
	}
	if _, err := findTool("javac"); err != nil {
		return nil, err
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return nil, fmt.Errorf("redisson: %w", err)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return nil, err
	}
	staging, err := os.MkdirTemp(target, "building-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(staging)
	cmd := exec.CommandContext(ctx, maven, "-q", "-B", "-Dtarget="+staging, "package")
	cmd.Dir = source
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("redisson: %v: %w\n%s", cmd.Args, err, output)
	}
	if err := os.Rename(staging, p.folder); err != nil && !p.built() {
		return nil, err
	}
	return p, removeOld(target, p.folder)
}

// removeOld removes programs built from earlier sources, unless one is so new that another process may run it.
func removeOld(target, but string) error {
	folders, err := filepath.Glob(filepath.Join(target, "*"))
	for _, folder := range folders {
		stat, gone := os.Stat(folder)
		if gone == nil && folder != but && time.Since(stat.ModTime()) > maxBuiltAge {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}
	return err
}

func (p *Program) built() bool {
	_, err := os.Stat(p.jar())
	return err == nil
}

func (p *Program) jar() string { return filepath.Join(p.folder, "interop.jar") }

// Version returns the version of Redisson in the program.
func (p *Program) Version() string {
	jars, _ := filepath.Glob(filepath.Join(p.folder, "lib", "redisson-[0-9]*.jar"))
	if len(jars) == 0 {
		return "unknown"
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "redisson-"), ".jar")
}

// findTool prefers JAVA_HOME, as Maven does.
func findTool(tool string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", tool)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", fmt.Errorf("redisson: %w", err)
	}
	return path, nil
}

// sources returns the path of interop/java in the repository that contains the working folder.
func sources() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(at, "interop", "java")
		if _, err := os.Stat(filepath.Join(source, "pom.xml")); err == nil {
			return source, nil
		}
		above := filepath.Dir(at)
		if above == at {
			return "", errors.New("redisson: no interop/java in or above the working folder")
		}
		at = above
	}
}

// hash returns a hash of the names and contents of all sources.
func hash(source string) (string, error) {
	sum := sha256.New()
	add := func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(name), len(text), text)
		return err
	}
	if err := add(filepath.Join(source, "pom.xml")); err != nil {
		return "", err
	}
	err := filepath.WalkDir(filepath.Join(source, "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(path)
	})
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), err
}
