"""The language server: what ``check``, ``explain`` and ``fmt`` know, while a spec is typed. ``server`` is the protocol's side."""
