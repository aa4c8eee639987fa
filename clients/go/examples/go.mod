module github.com/memsidecar/memsidecar/clients/go/examples

go 1.26.0

require (
	github.com/memsidecar/memsidecar/clients/go v0.0.0
	github.com/sashabaranov/go-openai v1.43.0
	golang.org/x/term v0.46.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261110000943-09e21b237f2c // indirect
	google.golang.org/grpc v1.85.0 // indirect
)

replace github.com/memsidecar/memsidecar/clients/go => ../
