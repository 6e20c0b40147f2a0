package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fillDepthMax bounds recursive types; below it only scalars are filled.
const fillDepthMax = 7

// filler sets every member to a value that its position decides.
type filler struct {
	count  int
	sparse bool // zero values behind pointers, one of three members absent
}

func (f *filler) next() int { f.count++; return f.count }

func (f *filler) fill(value reflect.Value, depth int) {
	if f.special(value) {
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		f.fillPointer(value, depth)
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			field := value.Type().Field(i)
			if !field.IsExported() || field.Name == "TypeMeta" || (f.sparse && f.next()%3 == 0 && !field.Anonymous) {
				continue
			}
			f.fill(value.Field(i), depth+1)
		}
	case reflect.Slice:
		f.fillSlice(value, depth)
	case reflect.Map:
		f.fillMap(value, depth)
	case reflect.String:
		value.SetString(fmt.Sprintf("s%d", f.next()))
	case reflect.Bool:
		value.SetBool(!f.sparse || f.next()%2 == 0)
	case reflect.Int32, reflect.Int64:
		value.SetInt(int64(f.next()) * f.sign())
	case reflect.Float64:
		value.SetFloat(float64(f.next()) + 0.5)
	default:
		panic("no filling for " + value.Type().String())
	}
}

func (f *filler) sign() int64 {
	if f.sparse {
		return -1
	}
	return 1
}

func (f *filler) fillPointer(value reflect.Value, depth int) {
	if depth > fillDepthMax {
		return
	}
	value.Set(reflect.New(value.Type().Elem()))
	kind := value.Elem().Kind()
	if f.sparse && kind != reflect.Struct && f.next()%2 == 0 {
		return
	}
	f.fill(value.Elem(), depth)
}

func (f *filler) fillSlice(value reflect.Value, depth int) {
	if value.Type().Elem().Kind() == reflect.Uint8 {
		value.SetBytes([]byte(fmt.Sprintf("b%d", f.next())))
		return
	}
	if depth > fillDepthMax {
		return
	}
	length := 1
	if value.Type().Elem().Kind() == reflect.String {
		length = 2
	}
	value.Set(reflect.MakeSlice(value.Type(), length, length))
	for i := 0; i < length; i++ {
		f.fill(value.Index(i), depth)
	}
}

func (f *filler) fillMap(value reflect.Value, depth int) {
	if depth > fillDepthMax {
		return
	}
	value.Set(reflect.MakeMap(value.Type()))
	for i := 0; i < 2; i++ {
		element := reflect.New(value.Type().Elem()).Elem()
		f.fill(element, depth+1)
		key := reflect.ValueOf(fmt.Sprintf("k%d", 9-i)).Convert(value.Type().Key())
		value.SetMapIndex(key, element)
	}
}

// special fills the types with a JSON form of their own.
func (f *filler) special(value reflect.Value) bool {
	n := f.next()
	at := time.Unix(1700000000+int64(n), 0).UTC()
	switch target := value.Addr().Interface().(type) {
	case *metav1.Time:
		*target = metav1.NewTime(at)
	case *metav1.MicroTime:
		*target = metav1.NewMicroTime(at.Add(time.Duration(n) * time.Microsecond))
	case *metav1.Duration:
		target.Duration = time.Duration(n) * 1700 * time.Millisecond
	case *metav1.FieldsV1:
		target.Raw = []byte(fmt.Sprintf(`{"f:a":{"f:n%d":{}}}`, n))
	case *resource.Quantity:
		texts := []string{"0.5", "1000m", "1536Mi", "2e3", "7", "1.5Gi", "0", "-3", "250u"}
		*target = resource.MustParse(texts[n%len(texts)])
		target.String()
	case *intstr.IntOrString:
		*target = intstr.FromInt32(int32(n))
		if n%2 == 0 {
			*target = intstr.FromString("50%")
		}
	case *runtime.RawExtension:
		target.Raw = []byte(fmt.Sprintf(`{"raw":[%d,null,"x"]}`, n))
	case *apiextensionsv1.JSON:
		target.Raw = []byte(fmt.Sprintf(`{"any":%d}`, n))
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		target.Schema = &apiextensionsv1.JSONSchemaProps{Type: "integer"}
		if n%2 == 0 {
			target.JSONSchemas = []apiextensionsv1.JSONSchemaProps{{Type: "string"}}
			target.Schema = nil
		}
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		target.Allows = true
		if n%2 == 0 {
			target.Schema = &apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		target.Property = []string{"a", "b"}
		if n%2 == 0 {
			target.Schema, target.Property = &apiextensionsv1.JSONSchemaProps{Type: "null"}, nil
		}
	default:
		return false
	}
	return true
}

// renderSamples writes a line for each sample: apiVersion, kind, protobuf body in base64, JSON.
func renderSamples() []byte {
	scheme := newScheme()
	var kinds []schema.GroupVersionKind
	for kind, goType := range scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal && belongs(kind, goType) {
			kinds = append(kinds, kind)
		}
	}
	sort.Slice(kinds, func(a, b int) bool { return kinds[a].String() < kinds[b].String() })
	var out bytes.Buffer
	for _, kind := range kinds {
		if goType := scheme.AllKnownTypes()[kind]; len(kind.Kind) < 4 || kind.Kind[len(kind.Kind)-4:] != "List" {
			renderSample(&out, kind.GroupVersion(), kind.Kind, reflect.New(goType).Interface().(runtime.Object))
		}
	}
	for _, options := range []runtime.Object{&metav1.DeleteOptions{}} {
		renderSample(&out, schema.GroupVersion{Group: "apps", Version: "v1"}, "DeleteOptions", options)
	}
	return out.Bytes()
}

func renderSample(out *bytes.Buffer, version schema.GroupVersion, kind string, object runtime.Object) {
	for _, sparse := range []bool{false, true} {
		sample := object.DeepCopyObject()
		(&filler{sparse: sparse}).fill(reflect.ValueOf(sample).Elem(), 0)
		sample.GetObjectKind().SetGroupVersionKind(version.WithKind(kind))
		var body bytes.Buffer
		if err := protobuf.NewSerializer(nil, nil).Encode(sample, &body); err != nil {
			panic(kind + ": " + err.Error())
		}
		text, err := json.Marshal(sample)
		if err != nil {
			panic(kind + ": " + err.Error())
		}
		fmt.Fprintf(out, "%s %s %s %s\n", version, kind, base64.StdEncoding.EncodeToString(body.Bytes()), text)
	}
}
