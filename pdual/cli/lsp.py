"""``pdual lsp``: the language server, for editors. They start it, and speak with it over standard input and output."""

from __future__ import annotations


def lsp() -> int:
    """Serve an editor over standard input and output: diagnostics, hovers, completion, renaming, layout."""
    import gc
    import json
    import os
    import sys
    from contextlib import redirect_stdout
    from functools import partial
    from typing import BinaryIO, cast

    from pdual.cli import output
    from pdual.dsl.diagnostics import refuse

    try:
        from pdual.lsp.incoming import Incoming, Outgoing
        from pdual.lsp.server import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise refuse("PD714", package=error.name.partition(".")[0]) from error
    gc.enable()  # it stays for a day, not for a moment
    # pygls closes what it writes to, and whatever else prints must not come between its messages.
    channel = Outgoing(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    with redirect_stdout(sys.stderr):
        serving = server()
        incoming = Incoming(
            sys.stdin.buffer, channel, partial(json.loads, object_hook=serving.protocol.structure_message)
        )
        # Both are what pygls reads and writes, and no more than that.
        serving.start_io(cast(BinaryIO, incoming), cast(BinaryIO, channel))
    return output.FINE
