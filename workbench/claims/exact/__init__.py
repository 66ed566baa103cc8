"""The computations of exact claims: closed forms, enumerations and handmade models, and small models trained within a minute or two."""
