"""`python -m mobilenet` is `mobilenet`."""

from mobilenet.cli.main import app

if __name__ == "__main__":
    app()
