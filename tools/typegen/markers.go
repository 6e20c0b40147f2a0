package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// markers are the "+name=value" comment lines of one type or field.
type markers map[string][]string

func (m markers) first(names ...string) string {
	for _, name := range names {
		if values := m[name]; len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func (m markers) has(name string) bool { _, ok := m[name]; return ok }

// source holds the markers of one Go package: by type, and by type and field.
type source struct {
	types  map[string]markers
	fields map[string]map[string]markers
}

var sources = map[string]*source{}

// sourceOf reads the package from the module cache.
func sourceOf(importPath string) *source {
	if known, ok := sources[importPath]; ok {
		return known
	}
	found := &source{types: map[string]markers{}, fields: map[string]map[string]markers{}}
	sources[importPath] = found
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", importPath).Output()
	if err != nil {
		panic(importPath + ": " + err.Error())
	}
	onlySources := func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go") && !strings.HasPrefix(info.Name(), "zz_") &&
			!strings.HasPrefix(info.Name(), "generated.")
	}
	fileSet := token.NewFileSet()
	parsed, err := parser.ParseDir(fileSet, strings.TrimSpace(string(dir)), onlySources, parser.ParseComments)
	if err != nil {
		panic(err)
	}
	for _, pkg := range parsed {
		for _, name := range sortedKeys(pkg.Files) {
			found.readFile(fileSet, pkg.Files[name])
		}
	}
	return found
}

func (s *source) readFile(fileSet *token.FileSet, file *ast.File) {
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			s.readType(fileSet, file, general, spec.(*ast.TypeSpec))
		}
	}
}

func (s *source) readType(fileSet *token.FileSet, file *ast.File, general *ast.GenDecl, spec *ast.TypeSpec) {
	// Generator markers may stand in a comment block of their own, one empty line above the type's comment.
	line := fileSet.Position(general.Pos()).Line
	text := ""
	for _, group := range file.Comments {
		end := fileSet.Position(group.End()).Line
		if group.Pos() < general.Pos() && line-end <= 2 {
			text += commentText(group)
			continue
		}
		if general.Doc != nil && group.Pos() < general.Doc.Pos() && fileSet.Position(general.Doc.Pos()).Line-end <= 2 {
			text += commentText(group)
		}
	}
	s.types[spec.Name.Name] = parseMarkers(text)
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	fields := map[string]markers{}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			fields[name.Name] = parseMarkers(commentText(field.Doc))
		}
	}
	s.fields[spec.Name.Name] = fields
}

func commentText(group *ast.CommentGroup) string {
	text := ""
	if group != nil {
		for _, comment := range group.List {
			text += strings.TrimPrefix(comment.Text, "//") + "\n"
		}
	}
	return text
}

func parseMarkers(text string) markers {
	found := markers{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "+") {
			name, value, _ := strings.Cut(line[1:], "=")
			found[name] = append(found[name], strings.TrimSpace(value))
		}
	}
	return found
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, filepath.ToSlash(key))
	}
	sort.Strings(keys)
	return keys
}
