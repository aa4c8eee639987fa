package memsidecar

import (
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/reflect/protoreflect"

	memsidecarv1 "github.com/memsidecar/memsidecar/clients/go/memsidecar/v1"
)

const (
	// Four attempts with 0.1 s doubling cover a restart of the sidecar's process
	// without flooding it.
	maxAttempts       = 4
	initialBackoff    = "0.1s"
	maxBackoff        = "1s"
	backoffMultiplier = 2

	// What gRPC keeps of a call for its repetition. Its own 256 KiB would leave
	// the largest batches without a second attempt.
	retryBufferBytes = 4 << 20

	// gRPC's own first pause is one second, for servers across a network. This
	// one is on the same machine.
	firstReconnectPause = 100 * time.Millisecond
	lastReconnectPause  = 500 * time.Millisecond

	// Until a connection has shaken hands, which on a busy machine takes the
	// sidecar longer than the pauses between attempts.
	connectTimeout = 5 * time.Second

	// Over TCP a vanished peer is noticed by pings only. A Unix socket reports it
	// at once, so there are none on it.
	tcpKeepalive        = time.Minute
	tcpKeepaliveTimeout = 20 * time.Second
)

var services = []protoreflect.ServiceDescriptor{
	serviceOf(memsidecarv1.File_memsidecar_v1_info_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_job_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_knowledge_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_memory_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_recall_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_session_service_proto),
	serviceOf(memsidecarv1.File_memsidecar_v1_generation_service_proto),
}

func serviceOf(file protoreflect.FileDescriptor) protoreflect.ServiceDescriptor {
	return file.Services().Get(0)
}

func dialOptions(target string, settings *settings) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig()),
		grpc.WithDefaultCallOptions(
			grpc.WaitForReady(!settings.failFast), grpc.MaxRetryRPCBufferSize(retryBufferBytes),
		),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: firstReconnectPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastReconnectPause,
			},
			MinConnectTimeout: connectTimeout,
		}),
		// A sidecar is local: an http_proxy variable meant for the model provider
		// must not catch its calls.
		grpc.WithNoProxy(),
		// An idle channel would answer an agent's next question later.
		grpc.WithIdleTimeout(0),
	}
	if settings.keepalive == nil && !strings.HasPrefix(target, "unix") {
		settings.keepalive = &keepalive.ClientParameters{Time: tcpKeepalive, Timeout: tcpKeepaliveTimeout}
	}
	if settings.keepalive != nil {
		options = append(options, grpc.WithKeepaliveParams(*settings.keepalive))
	}
	if settings.token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(settings.token)))
	}
	return append(options, settings.dial...)
}

// serviceConfig retries UNAVAILABLE for every method that is harmless to repeat.
// That is every call whose request is one message: reads, and writes, which carry a
// request_id or come to the same when they are repeated. gRPC repeats a streamed
// answer only before its first message.
func serviceConfig() string {
	type name struct {
		Service string `json:"service"`
		Method  string `json:"method"`
	}
	var repeatable []name
	for _, service := range services {
		for i := range service.Methods().Len() {
			if method := service.Methods().Get(i); !method.IsStreamingClient() {
				repeatable = append(repeatable, name{string(service.FullName()), string(method.Name())})
			}
		}
	}
	config, err := json.Marshal(map[string]any{"methodConfig": []any{map[string]any{
		"name": repeatable,
		"retryPolicy": map[string]any{
			"maxAttempts":          maxAttempts,
			"initialBackoff":       initialBackoff,
			"maxBackoff":           maxBackoff,
			"backoffMultiplier":    backoffMultiplier,
			"retryableStatusCodes": []string{"UNAVAILABLE"},
		},
	}}})
	if err != nil {
		panic(err) // of constants
	}
	return string(config)
}
