"""What a text says is so, read by rules in English and Chinese: precise rather than complete."""
