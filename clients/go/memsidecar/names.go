package memsidecar

import (
	"context"
	"fmt"
	"strings"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

// What a segment of a resource name keeps beside letters and digits.
const literal = "@:.~-_+=,"

// segment is percent-encoded, byte by byte: there is one spelling of a name.
func segment(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		isAlphanumeric := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if isAlphanumeric || strings.IndexByte(literal, b) >= 0 {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// resourceName is the name of a collection's member; an empty user is the shared
// partition.
func resourceName(namespace, user, collection, id string) string {
	owner := ""
	if user != "" {
		owner = "users/" + segment(user) + "/"
	}
	return "namespaces/" + segment(namespace) + "/" + owner + collection + "/" + segment(id)
}

// namespace spells out what an empty namespace means on this server.
func (c *Client) namespace(ctx context.Context) (string, error) {
	if named := c.caller.scope.GetNamespace(); named != "" {
		return named, nil
	}
	info, err := c.GetServerInfo(ctx, &memsidecarv1.GetServerInfoRequest{})
	return info.GetDefaultNamespace(), err
}

// MemoryName is the resource name of a memory of the client's scope. It may have to ask
// the server what an empty namespace means.
func (c *Client) MemoryName(ctx context.Context, id string) (string, error) {
	namespace, err := c.namespace(ctx)
	if err != nil {
		return "", err
	}
	return resourceName(namespace, c.caller.scope.GetUser(), "memories", id), nil
}
