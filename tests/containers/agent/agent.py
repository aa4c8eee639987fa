"""An agent in the pod: it knows its memory by MEMSIDECAR_TARGET and nothing else.

agent.py run                what the container runs: waits for its memory, and for SIGTERM
agent.py remember TEXT      prints the name of what is remembered
agent.py recall QUESTION    prints what is recalled, a line each
agent.py dictate            remembers standard input line by line, in one stream; prints how many
"""

from __future__ import annotations

import os
import signal
import sys

from memsidecar_client import Memsidecar


def main(word: str, *rest: str) -> None:
    with Memsidecar(os.environ["MEMSIDECAR_TARGET"], user="ann") as memory:
        if word == "run":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            memory.ready()
            print("ready", flush=True)
            signal.sigwait({signal.SIGTERM})
        elif word == "remember":
            for each in memory.remember(rest[0]).memories:
                print(each.name)
        elif word == "recall":
            for hit in memory.recall(rest[0]).hits:
                print(hit.memory.text)
        else:
            with memory.remember_stream() as stream:
                for line in sys.stdin:
                    stream.send([line.strip()])
                    print("sent", flush=True)
                print(stream.finish().received)


if __name__ == "__main__":
    main(*sys.argv[1:])
