"""Following a model while it writes: which text to search for, which hits to send, and which to take back."""
