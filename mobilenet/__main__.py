"""Run `python -m mobilenet` like `mobilenet`: modules in the current folder are not imported."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder; pip does the same

    from mobilenet.cli.main import app

    app()
