// Typegen writes Berth's table of Kubernetes types, and the samples that its codecs are tested with.
//
//	go run . -table ../../src/api/generated_types.inc -samples ../../src/api/testdata/samples.txt
//
// Only names, numbers and markers of the Go API modules are read; no sentence of theirs is copied.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

func main() {
	tablePath := flag.String("table", "", "the C++ table to write")
	samplesPath := flag.String("samples", "", "the samples to write")
	flag.Parse()
	if *tablePath != "" {
		write(*tablePath, renderTable(buildTable()))
	}
	if *samplesPath != "" {
		write(*samplesPath, renderSamples())
	}
}

func write(path string, content []byte) {
	if err := os.WriteFile(path, content, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inputsHash covers what the table is made from, so that a test without Go can say when it is stale.
func inputsHash() string {
	names, err := filepath.Glob("*.go")
	if err != nil {
		panic(err)
	}
	names = append(names, "go.mod")
	sort.Strings(names)
	sum := fnv.New64a()
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		sum.Write([]byte(name + "\n"))
		sum.Write(content)
	}
	return fmt.Sprintf("%016x", sum.Sum64())
}

func renderTable(t *table) []byte {
	var fields, types, out bytes.Buffer
	first := 0
	for _, m := range t.messages {
		fmt.Fprintf(&types, "{%q,%q,%q,%d,%d,%s},\n", m.group, m.version, m.name, first, len(m.fields), flagsText(m.flags))
		fmt.Fprintf(&fields, "// %d %s\n", m.index, m.key())
		for _, f := range m.fields {
			f.render(&fields)
		}
		first += len(m.fields)
	}
	fmt.Fprintf(&out, "// Written by tools/typegen; do not edit. Inputs: %s\n", inputsHash())
	fmt.Fprintf(&out, "#ifdef BERTH_TYPE_FIELDS\n%s#else\n%s#endif\n", fields.String(), types.String())
	return out.Bytes()
}

func (f *field) render(out *bytes.Buffer) {
	message := "kNoType"
	if f.message != nil {
		message = fmt.Sprint(f.message.index)
	}
	listType := "None"
	if f.listType != "" {
		listType = strings.ToUpper(f.listType[:1]) + f.listType[1:]
	}
	fmt.Fprintf(out, "{%q,%q,%q,%q,%q,%s,%d,{%d,%d},K::%s,S::%s,L::%s,%s},\n", f.json, f.goType, f.mergeKey, f.mapKeys,
		f.gate, message, f.proto, f.embed[0], f.embed[1], f.kind, f.shape, listType, flagsText(f.flags))
}

func flagsText(flags []string) string {
	if len(flags) == 0 {
		return "0"
	}
	return strings.Join(flags, "|")
}
