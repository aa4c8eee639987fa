"""What a model should read: recalled memories and a session under one token budget. services/context.py feeds it."""
