"""Robustness: does a study's comparison have the same result on other radios?"""
