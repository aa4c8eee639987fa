"""What contradicts what, what is made of it, and from when until when each thing is true. Pure, as decide.py."""
