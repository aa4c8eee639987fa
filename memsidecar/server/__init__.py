"""gRPC in and out. Knows protobuf; knows no store."""
