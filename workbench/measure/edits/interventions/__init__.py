"""Label-free interventions: edits of a forward pass that use neither labels nor the position of the answer.

Each is one object with its name, its words, its family and its edit. A file a family; ``listed`` names all of them.
"""
