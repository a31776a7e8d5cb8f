"""The parts of claims on papers that go beyond metrics of studies: single messages and processes, and sentences on all
sizes.
"""
