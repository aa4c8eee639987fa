"""What a request may ask for. Every limit is reported by GetServerInfo or documented in the proto."""

MAX_MESSAGE_BYTES = 4 * 1024 * 1024  # gRPC's default on both sides; nothing in this API needs more
MAX_TEXT_BYTES = 512 * 1024  # the longest chat turn seen in public data is 349 KB
MAX_QUERY_BYTES = 64 * 1024
MAX_BATCH_ITEMS = 256
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 50
MAX_PAGE_BYTES = 2 * 1024 * 1024  # a page ends early here, to stay well below MAX_MESSAGE_BYTES
MAX_HITS = 200
DEFAULT_HITS = 10
CONTEXT_HITS = 30  # of BuildContext, where the budget decides how many of them are shown
MAX_CONTEXT_TOKENS = 256 * 1024  # about 1 MB of text, which an answer holds twice: whole and by section
MAX_LABELS = 64
MAX_LABEL_KEY = 128
MAX_LABEL_VALUE = 1024
MAX_ID_CHARS = 256  # namespace, user, agent, session, speaker
MAX_MEMORY_ID_CHARS = 128
MAX_KEY_CHARS = 512  # scratch keys
MAX_FIELD_BYTES = 64 * 1024  # reasons, titles, attributes and other fields that are not the text
MAX_REPEATED = 256  # aliases, steps, participants, mentions, messages of a provenance
MAX_MEMORY_BYTES = 1024 * 1024  # a whole memory as it comes in, so that every answer that holds one fits a message
MAX_PROVENANCE_BYTES = 16 * 1024  # one source; a memory keeps up to 64
MAX_DIMENSIONS = 16_384  # of a caller's vector, before anybody looks at it
MAX_DEPTH = 24  # of attributes and other JSON; a level takes three of the 100 that protobuf parses
MAX_TTL = 1000 * 366 * 24 * 3600 * 1_000_000  # microseconds: every end is a Timestamp that can be told
MAX_DEPTH_OF_PAGES = 1000  # hits that the pages of one recall hold together
