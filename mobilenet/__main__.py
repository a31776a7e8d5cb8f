"""Run `python -m mobilenet` like the command `mobilenet`, without importing modules from the current folder."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # remove the current folder, as pip does

    from mobilenet.cli.main import app

    app()
