"""What the services need, as Protocols with their promises written on the methods."""
