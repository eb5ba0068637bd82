"""Checks once whether the model hub answers. A library would retry for half a minute."""

from __future__ import annotations

import os
from functools import cache

#: Seconds to wait for an answer, unless ``HF_HUB_ETAG_TIMEOUT`` says another number.
PATIENCE = 5.0


@cache
def unreachable(name: str) -> str | None:
    """Why the hub gives no answer about a model, None where it gives one: also that there is no such model. Asked once a process: a base is
    loaded again for what it said before it was trained.
    """
    from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    asked = os.environ.get("HF_HUB_ETAG_TIMEOUT")
    patience = float(constants.HF_HUB_ETAG_TIMEOUT) if asked else PATIENCE
    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json", endpoint=constants.ENDPOINT), timeout=patience)
    except (HfHubHTTPError, HFValidationError):
        return None
    except Exception as error:  # a network fails in ways of its own
        return f"{constants.ENDPOINT} does not answer ({type(error).__name__})"
    return None
