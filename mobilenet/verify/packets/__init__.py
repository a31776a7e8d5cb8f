"""Judge the IP packets of real software: did the network carry them unchanged, and did TCP see what it should?"""
