package memsidecar

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// How gRPC begins what it says of a message that cannot be sent.
const notMarshalled = "grpc: error while marshaling"

// unsendable is the error of a message that could not be made, with the field that is
// wrong; nil when err is of something else. The message is looked through only then: a
// good one costs nothing.
func unsendable(message any, err error) *Error {
	said, ok := status.FromError(err)
	if !ok || said.Code() != codes.Internal || !strings.HasPrefix(said.Message(), notMarshalled) {
		return nil
	}
	if request, ok := message.(proto.Message); ok {
		if path := notUnicode(request.ProtoReflect()); path != "" {
			// Without a cause, whose status is Internal.
			return invalid(path, "is not UTF-8")
		}
	}
	return nil
}

// notUnicode is the path of a text that is no UTF-8; empty without one.
func notUnicode(message protoreflect.Message) string {
	found := ""
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		name := string(field.Name())
		switch {
		case field.IsList():
			for i := range value.List().Len() {
				if found == "" {
					found = notUnicodeAt(fmt.Sprintf("%s[%d]", name, i), field, value.List().Get(i))
				}
			}
		case field.IsMap():
			value.Map().Range(func(key protoreflect.MapKey, held protoreflect.Value) bool {
				at := fmt.Sprintf("%s[%q]", name, key.String())
				if found = notUnicodeAt(at, field.MapKey(), key.Value()); found == "" {
					found = notUnicodeAt(at, field.MapValue(), held)
				}
				return found == ""
			})
		default:
			found = notUnicodeAt(name, field, value)
		}
		return found == ""
	})
	return found
}

func notUnicodeAt(path string, field protoreflect.FieldDescriptor, value protoreflect.Value) string {
	if field.Message() != nil {
		if inner := notUnicode(value.Message()); inner != "" {
			return path + "." + inner
		}
		return ""
	}
	if field.Kind() == protoreflect.StringKind && !utf8.ValidString(value.String()) {
		return path
	}
	return ""
}
