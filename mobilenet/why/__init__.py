"""Why was a delivery late? Its delay is divided into stretches, from the record of the run."""
