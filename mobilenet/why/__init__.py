"""Why a delivery was late: its delay taken apart into stretches, from what the run recorded."""
