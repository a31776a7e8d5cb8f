"""Run `python -m mobilenet` as `mobilenet`, without the modules of the current folder on the path."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, as pip does it

    from mobilenet.cli.main import app

    app()
