"""Label-free interventions: edits of a forward pass that use neither labels nor the position of the answer.

Each is one object with its name, its label, its family and its edit. Each family has a file; ``all_interventions``
lists them all.
"""
