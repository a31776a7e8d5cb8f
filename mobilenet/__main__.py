"""`python -m mobilenet` is `mobilenet`."""

from mobilenet.cli import app

if __name__ == "__main__":
    app()
