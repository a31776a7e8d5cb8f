"""Explain why a delivery was late: its delay is divided into stretches, which are derived from the record of the
run.
"""
