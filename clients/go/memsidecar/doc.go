// Package memsidecar is the Go client of memsidecar, the memory that runs beside an AI
// agent.
//
//	client, err := memsidecar.New("", memsidecar.WithUser("ana"))
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	_, err = client.Remember(ctx, &memsidecarv1.RememberRequest{
//		Item: memsidecar.Said("I moved to Porto in May.", "Ana"),
//	})
//
// # Calls
//
// Client embeds the generated stubs of package memsidecarv1: each RPC is a method that
// takes its request message and gives its response, so that the comments of the protos
// are this package's documentation, too. Around every call the client puts what the
// caller leaves out: its scope, a request_id that makes a write harmless to repeat, a
// deadline, repetition on UNAVAILABLE, and errors of type *Error.
//
// Lists are also iterators: Client.AllMemories, Client.History and the others that give
// an iter.Seq2 make one call a page, when the loop gets there. Session is a handle on
// working memory that knows its name.
//
// # Streams
//
// Client.Recall gives hits as the tiers find them; leaving the loop stops the server's
// work. Client.RecallDuring follows a model while it writes and brings memories as they
// become relevant. Client.WatchMemories and Client.WatchJob follow changes.
// Client.StreamRemember takes a source of any length. Generations and watches outlive a
// restart of the sidecar: nothing is told twice, and nothing is lost that was stored.
//
// A generation has two goroutines, one that reads and one that writes; nothing else in
// this package has any. All end with Close, with the context, or with the client.
//
// # Offsets
//
// The contract counts text in Unicode code points; this package counts bytes, as Go does,
// and converts: Recalled.Start, Recalled.End, Generation.Len and Generation.RewindTo fit
// the strings that were fed.
//
// # Errors
//
//	switch {
//	case errors.Is(err, memsidecar.ErrNotFound):
//	case memsidecar.HasReason(err, memsidecarv1.ErrorReason_ERROR_REASON_ETAG_MISMATCH):
//	}
//
// Every failed call is an *Error with code, reason, metadata, violations, the time after
// which to retry and the id under which the server logged it. It unwraps to the gRPC
// status, and to the context's error when that ended the call.
package memsidecar
