package main

import (
	"encoding"
	"fmt"
	"path"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// field is one JSON member of a type. Members of embedded structs stand in their place among the outer ones.
type field struct {
	json, goType, mergeKey, mapKeys, gate string
	kind, shape, listType                 string
	message                               *message
	proto                                 int
	embed                                 [2]int
	flags                                 []string
}

type message struct {
	group, version, name string
	goType               reflect.Type
	flags                []string
	fields               []field
	index                int
}

type table struct {
	messages []*message
	byType   map[reflect.Type]*message
}

// scalars are the types with a JSON form of their own.
var scalars = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":         "Time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":    "MicroTime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":     "Duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":     "FieldsV1",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":     "Quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":   "IntOrString",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":      "RawJson",
	apiextensionsPath + ".JSON":                         "RawJson",
	apiextensionsPath + ".JSONSchemaPropsOrArray":       "SchemaOrArray",
	apiextensionsPath + ".JSONSchemaPropsOrBool":        "SchemaOrBool",
	apiextensionsPath + ".JSONSchemaPropsOrStringArray": "SchemaOrStrings",
}

const apiextensionsPath = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

func buildTable() *table {
	t := &table{byType: map[reflect.Type]*message{}}
	scheme := newScheme()
	for name, object := range metaKinds {
		t.addKind(metaVersion.WithKind(name), reflect.TypeOf(object).Elem())
	}
	for kind, goType := range scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && belongs(kind, goType) {
			t.addKind(kind, goType)
		}
	}
	sort.Slice(t.messages, func(a, b int) bool { return t.messages[a].key() < t.messages[b].key() })
	for i, m := range t.messages {
		m.index = i
	}
	return t
}

// belongs leaves out the option kinds that every group version registers again.
func belongs(kind schema.GroupVersionKind, goType reflect.Type) bool {
	return !strings.HasSuffix(goType.PkgPath(), "/meta/v1")
}

func (m *message) key() string { return m.group + "/" + m.version + "." + m.name }

func (t *table) addKind(kind schema.GroupVersionKind, goType reflect.Type) {
	m := t.add(goType)
	m.group, m.version = kind.Group, kind.Version
	m.flags = append(m.flags, "kTopLevel")
	found := sourceOf(goType.PkgPath()).types[goType.Name()]
	if found.has("genclient") {
		m.flags = append(m.flags, "kHasClient")
	}
	if found.has("genclient:nonNamespaced") {
		m.flags = append(m.flags, "kClusterScoped")
	}
}

func (t *table) add(goType reflect.Type) *message {
	if known, ok := t.byType[goType]; ok {
		return known
	}
	m := &message{name: goType.Name(), goType: goType, version: path.Base(goType.PkgPath())}
	m.group = groupOf(goType.PkgPath())
	if sourceOf(goType.PkgPath()).types[goType.Name()].first("structType") == "atomic" {
		m.flags = append(m.flags, "kAtomicStruct")
	}
	t.byType[goType] = m
	t.messages = append(t.messages, m)
	m.fields = t.fieldsOf(goType, nil)
	return m
}

// groupOf names the API group whose package this is.
func groupOf(pkgPath string) string {
	switch name := path.Base(path.Dir(pkgPath)); name {
	case "core":
		return ""
	case "apps", "autoscaling", "batch", "policy":
		return name
	case "meta":
		return metaVersion.Group
	case "rbac":
		return "rbac.authorization.k8s.io"
	case "flowcontrol":
		return "flowcontrol.apiserver.k8s.io"
	default:
		return name + ".k8s.io"
	}
}

func (t *table) fieldsOf(goType reflect.Type, embedded []int) []field {
	var out []field
	for i := 0; i < goType.NumField(); i++ {
		goField := goType.Field(i)
		name, options, _ := strings.Cut(goField.Tag.Get("json"), ",")
		if name == "-" || !goField.IsExported() {
			continue
		}
		number := protoNumber(goField.Tag.Get("protobuf"))
		if goField.Anonymous && name == "" {
			out = append(out, t.embeddedFields(goField, append(append([]int{}, embedded...), number))...)
			continue
		}
		f := field{json: name, proto: number}
		copy(f.embed[:], embedded)
		f.describe(t, goField, options, sourceOf(goType.PkgPath()).fields[goType.Name()][goField.Name])
		out = append(out, f)
	}
	return out
}

func (t *table) embeddedFields(goField reflect.StructField, embedded []int) []field {
	if goField.Type.Kind() != reflect.Struct || len(embedded) > 2 {
		panic("embedding not understood: " + goField.Name)
	}
	if goField.Type.Name() == "TypeMeta" {
		embedded = nil
	}
	out := t.fieldsOf(goField.Type, embedded)
	if goField.Type.Name() == "TypeMeta" {
		for i := range out {
			out[i].proto = 0
		}
	}
	return out
}

func protoNumber(tag string) int {
	number := 0
	if parts := strings.Split(tag, ","); len(parts) > 1 {
		fmt.Sscanf(parts[1], "%d", &number)
	}
	return number
}

func (f *field) describe(t *table, goField reflect.StructField, options string, found markers) {
	valueType := goField.Type
	if valueType.Kind() == reflect.Pointer {
		f.flag("kPointer")
		valueType = valueType.Elem()
	}
	f.goType = valueType.String()
	f.resolve(t, valueType)
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "omitempty":
			f.flag("kOmitEmpty")
		case "omitzero":
			f.flag("kOmitZero")
		}
	}
	if found.has("optional") || found.has("k8s:optional") {
		f.flag("kOptional")
	}
	for _, strategy := range strings.Split(goField.Tag.Get("patchStrategy"), ",") {
		switch strategy {
		case "merge":
			f.flag("kPatchMerge")
		case "replace":
			f.flag("kPatchReplace")
		case "retainKeys":
			f.flag("kPatchRetainKeys")
		}
	}
	if found.first("mapType", "structType") == "atomic" {
		f.flag("kAtomicValue")
	}
	f.mergeKey = goField.Tag.Get("patchMergeKey")
	f.listType = found.first("listType", "k8s:listType")
	keys := found["listMapKey"]
	if len(keys) == 0 {
		keys = found["k8s:listMapKey"]
	}
	f.mapKeys = strings.Join(keys, ",")
	f.gate = strings.Join(found["featureGate"], ",")
}

func (f *field) flag(name string) { f.flags = append(f.flags, name) }

// resolve finds the shape of the value and the kind of its elements.
func (f *field) resolve(t *table, valueType reflect.Type) {
	f.shape = "One"
	if valueType.Kind() == reflect.Slice && valueType.Elem().Kind() != reflect.Uint8 {
		f.shape = "List"
		if isItemsMessage(valueType) {
			f.flag("kItemsMessage")
		}
		valueType = valueType.Elem()
	} else if valueType.Kind() == reflect.Map {
		f.shape = "Map"
		valueType = valueType.Elem()
		if valueType.Kind() == reflect.Slice && valueType.Elem().Kind() != reflect.Uint8 {
			f.shape = "MapOfLists"
			if !isItemsMessage(valueType) {
				panic("a list in a map has no wire form: " + f.json)
			}
			valueType = valueType.Elem()
		}
	}
	if valueType.Kind() == reflect.Pointer {
		valueType = valueType.Elem()
	}
	f.kind = kindOf(valueType)
	switch f.kind {
	case "Message":
		f.message = t.add(valueType)
	case "SchemaOrArray", "SchemaOrBool", "SchemaOrStrings":
		schemaField, _ := valueType.FieldByName("Schema")
		f.message = t.add(schemaField.Type.Elem())
	}
}

// isItemsMessage tells slice types that protobuf wraps in a message of their own.
func isItemsMessage(goType reflect.Type) bool {
	_, ok := reflect.PointerTo(goType).MethodByName("Marshal")
	return ok
}

func kindOf(goType reflect.Type) string {
	if kind, ok := scalars[goType.PkgPath()+"."+goType.Name()]; ok {
		return kind
	}
	switch goType.Kind() {
	case reflect.String:
		return "String"
	case reflect.Bool:
		return "Bool"
	case reflect.Int32:
		return "Int32"
	case reflect.Int64, reflect.Int:
		return "Int64"
	case reflect.Float64:
		return "Double"
	case reflect.Slice:
		return "Bytes"
	case reflect.Struct:
		if goType.Implements(reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()) {
			panic("own text form: " + goType.String())
		}
		if method, ok := reflect.PointerTo(goType).MethodByName("UnmarshalJSON"); ok {
			panic("own JSON form: " + goType.String() + " " + method.Name)
		}
		return "Message"
	}
	panic("kind not understood: " + goType.String())
}
