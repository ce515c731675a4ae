#!/usr/bin/env python3
"""Prints a session's output until its program ends; types a line into it first, where one is given.

Where the daemon runs:

    transom certs export > transom.pem
    TOKEN=$(transom devices add tail --expires 1d)      # with --dangerous-operator, it may type

and where this runs, with the packages of requirements.txt:

    TOKEN=... SSL_CERT_FILE=transom.pem python3 tail.py localhost:7443 SESSION [LINE]
"""

import json
import os
import ssl
import struct
import sys

import urllib3
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

# The first byte of each message (protocol/src/attach.rs).
HELLO, OUTPUT, SNAPSHOT, EXIT = 0x00, 0x01, 0x02, 0x04
INPUT, ACK = 0x10, 0x12


def main(address, name, line=None):
    bearer = {"Authorization": "Bearer " + os.environ["TOKEN"]}
    tls = ssl.create_default_context()
    http = urllib3.PoolManager(ssl_context=tls, headers=bearer)
    answer = http.request("GET", f"https://{address}/v1/sessions", retries=False)
    if answer.status != 200:
        problem = answer.json()
        sys.exit(f"{problem['detail']} ({problem['hint']})")
    ids = [session["id"] for session in answer.json() if session["name"] == name]
    if not ids:
        sys.exit(f"there is no session {name}")

    # Who types is a viewer that is drawn for; lossless is for who wants every byte, and types nothing.
    mode = "lossless" if line is None else "write"
    url = f"wss://{address}/v1/sessions/{ids[0]}/attach?mode={mode}&from=0"
    with connect(url, ssl=tls, additional_headers=bearer, max_size=None) as attachment:
        try:
            return follow(attachment, line)
        except ConnectionClosed as closed:
            sys.exit(f"the daemon ended this attachment: {closed}")


def follow(attachment, line):
    for message in attachment:
        kind, body = message[0], message[1:]
        if kind == HELLO and line is not None:
            # Sequences count from 1: what is sent again with the same one is typed once.
            attachment.send(struct.pack(">BQ", INPUT, 1) + line.encode() + b"\r")
        elif kind in (OUTPUT, SNAPSHOT):
            (offset,) = struct.unpack_from(">Q", body)
            # A snapshot has the size between its offset and what draws it; output goes on from that offset.
            piece = body[8:] if kind == OUTPUT else body[12:]
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            drawn = offset + len(piece) if kind == OUTPUT else offset
            acknowledge(attachment, drawn)
        elif kind == EXIT:
            ended = json.loads(body)
            return 128 + ended["signal"] if ended["code"] is None else ended["code"]


def acknowledge(attachment, drawn):
    try:
        attachment.send(struct.pack(">BQ", ACK, drawn))
    except ConnectionClosed:
        pass  # Whoever has closed has said why, which is still to be read.


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit("usage: tail.py HOST:PORT SESSION [LINE]")
    sys.exit(main(*sys.argv[1:]))
