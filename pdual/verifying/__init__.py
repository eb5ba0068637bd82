"""``pdual verify``: what the compiler claims of a spec, attacked with rows and numbers that are made up to break it."""
